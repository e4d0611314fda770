"""What the canvas takes before Qt hands an event to its own methods: tips, Tab and pinches.

A filter and not an override of ``event``: PySide kills the process when an error of C code, such
as numpy's, comes out of a method that was called through an ``event`` written in Python.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QToolTip

from app.canvas.scene.hits import block_at, port_at, wire_at

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QHelpEvent, QKeyEvent, QNativeGestureEvent

    from app.canvas.input.keys import Keys
    from app.canvas.stage import Stage


class Sensing(QObject):
    """Watches one canvas."""

    def __init__(self, canvas: Stage, keys: Keys) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._keys = keys
        canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.ToolTip:
                at = cast("QHelpEvent", event)
                QToolTip.showText(at.globalPos(), _wrapped(self._tip(at.pos())), self._canvas)
                return True
            case QEvent.Type.KeyPress:
                key = cast("QKeyEvent", event)
                return key.key() == Qt.Key.Key_Tab and self._keys.press(key)
            case QEvent.Type.NativeGesture:
                gesture = cast("QNativeGestureEvent", event)
                if gesture.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                    self._canvas.zoom_at(1.0 + gesture.value(), gesture.position())
                    return True
        return False

    def _tip(self, at: QPoint) -> str:
        view = self._canvas.view
        port = port_at(view.scene, view.camera, at.x(), at.y())
        if port is not None:
            return view.facts.port_tip(port)
        block = block_at(view.scene, view.camera, at.x(), at.y())
        if block is not None:
            return view.facts.tip(block)
        wire = wire_at(view.scene, view.camera, at.x(), at.y(), view.strands)
        return "" if wire is None else view.facts.wire_tip(wire)


def _wrapped(text: str) -> str:
    """``text`` as it is, lines broken where they are long: Qt wraps rich text only."""
    return f'<div style="white-space: pre-wrap">{escape(text)}</div>' if text else ""
