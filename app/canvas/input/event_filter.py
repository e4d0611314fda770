"""Events that the canvas handles before Qt passes them to its methods: tooltips, Tab and pinches.

This is a filter and not an override of ``event``, because PySide kills the process if an exception
from C code, such as numpy's, propagates through an ``event`` method written in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtWidgets import QToolTip, QWidget

from gradwire.app.canvas.state.tooltips import block_tip, port_tip, wire_tip
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from PySide6.QtCore import QChildEvent, QPoint
    from PySide6.QtGui import QHelpEvent, QKeyEvent, QNativeGestureEvent

    from gradwire.app.canvas.context import CanvasContext


class EventFilter(QObject):
    """Filters the events of one canvas."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        context.widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.ToolTip:
                at, widget = cast("QHelpEvent", event), self._context.widget
                tip = "" if self._is_covered(at.globalPos()) else self._tip(QPointF(at.pos()))
                QToolTip.showText(at.globalPos(), tooltip(tip), widget)
                return True
            case QEvent.Type.KeyPress:
                key = cast("QKeyEvent", event)
                return key.key() == Qt.Key.Key_Tab and self._context.keys.press(key)
            case QEvent.Type.ChildPolished:
                child = cast("QChildEvent", event).child()
                if isinstance(child, QWidget):  # what hits it ends there
                    child.setAttribute(Qt.WidgetAttribute.WA_NoMousePropagation)
            case QEvent.Type.NativeGesture:
                gesture = cast("QNativeGestureEvent", event)
                if self._is_covered(gesture.globalPosition().toPoint()):
                    return True
                if gesture.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                    self._context.camera.zoom_at(1.0 + gesture.value(), gesture.position())
                    return True
        return False

    def _is_covered(self, at: QPoint) -> bool:
        """Whether something lies on the canvas at a point of the screen, which did not take an
        event that reaches the canvas nevertheless.
        """
        widget = self._context.widget
        return widget.childAt(widget.mapFromGlobal(at)) is not None

    def _tip(self, at: QPointF) -> str:
        view = self._context.view
        scene, annotations, places = view.scene, view.annotations, self._context.places
        if (port := places.port_at(at)) is not None:
            return port_tip(annotations.page, port)
        if (block := places.block_at(at)) is not None:
            known = scene.names[block] == self._context.explained
            return (
                "" if known else block_tip(annotations.page, block, view.status(scene.names[block]))
            )
        wire = places.wire_at(at)
        known = wire is None or scene.wire_keys[wire] == self._context.explained
        return "" if wire is None or known else wire_tip(annotations, wire)
