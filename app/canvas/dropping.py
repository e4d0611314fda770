"""Blocks dragged onto the canvas from the palette: shown where they would go, added when let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from app.canvas import edits
from app.canvas.gestures import Host

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
    from PySide6.QtWidgets import QWidget

    from runtime.diagram.model import Point

BLOCK_MIME = "application/x-gradwire-block"
"""What the palette drags: the type name of a block in UTF-8."""


class Floor(Host, Protocol):
    """The canvas as dropping sees it."""

    def scene_position(self, position: QPoint) -> Point:
        """The scene point under a widget position."""

    def add_block(self, type_name: str, at: Point) -> None:
        """Ask for a block of that type."""

    def widget(self) -> QWidget:
        """What gets the keyboard after a drop."""


class Dropping:
    """Takes blocks that are dragged onto one canvas; marks the wire they would be put into."""

    def __init__(self, canvas: Floor) -> None:
        self._canvas = canvas

    def enter(self, event: QDragEnterEvent) -> None:
        """Something comes over the canvas: only blocks are taken."""
        if event.mimeData().hasFormat(BLOCK_MIME):
            event.acceptProposedAction()

    def move(self, event: QDragMoveEvent) -> None:
        """It moves on."""
        canvas = self._canvas
        self._mark(edits.marks_under(canvas.view, _type_name(event), self._at(event)))

    def leave(self) -> None:
        """It goes elsewhere."""
        self._mark({})

    def drop(self, event: QDropEvent) -> None:
        """It is let go."""
        self._mark({})
        self._canvas.add_block(_type_name(event), self._at(event))
        event.acceptProposedAction()
        self._canvas.widget().setFocus()

    def _at(self, event: QDropEvent) -> Point:
        return self._canvas.scene_position(event.position().toPoint())

    def _mark(self, wires: dict[str, str]) -> None:
        self._canvas.view.marks = wires
        self._canvas.redraw()


def _type_name(event: QDropEvent) -> str:
    return bytes(event.mimeData().data(BLOCK_MIME).data()).decode()
