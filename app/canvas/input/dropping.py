"""What is dragged from the palette onto the canvas: blocks, and pages to be used once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from app.canvas.input import changes
from app.canvas.input.entry.candidates import page_choice, page_refusal, type_choice
from app.canvas.input.gestures import Host
from blocks.errors import BlockError

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData, QPoint
    from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
    from PySide6.QtWidgets import QWidget

    from app.canvas.input.entry.candidates import Choice
    from runtime.diagram.model import Point

BLOCK_MIME = "application/x-gradwire-block"
"""What the palette drags: the type name of a block in UTF-8."""
PAGE_MIME = "application/x-gradwire-page"
"""The name of a page of the diagram in UTF-8."""


class Floor(Host, Protocol):
    """The canvas as dropping sees it."""

    def scene_position(self, position: QPoint) -> Point:
        """The scene point under a widget position."""

    def add(self, choice: Choice, at: Point) -> None:
        """Ask for a block."""

    def widget(self) -> QWidget:
        """What gets the keyboard after a drop."""


class Dropping:
    """Takes blocks that are dragged onto one canvas; marks the wire they would be put into."""

    def __init__(self, canvas: Floor) -> None:
        self._canvas = canvas

    def enter(self, event: QDragEnterEvent) -> None:
        """Something comes over the canvas: only blocks and pages are taken."""
        mime = event.mimeData()
        if mime.hasFormat(BLOCK_MIME) or mime.hasFormat(PAGE_MIME):
            event.acceptProposedAction()

    def move(self, event: QDragMoveEvent) -> None:
        """It moves on: the wire it would be put into is marked, or it is said why it can't be."""
        choice = self._choice(event)
        if choice is None:
            event.ignore()
            return
        event.acceptProposedAction()
        wire = changes.dropping(self._canvas.view, choice, self._at(event))[2]
        self._mark({wire: "accent"} if wire else {})

    def leave(self) -> None:
        """It goes elsewhere."""
        self._mark({})
        self._canvas.hint("")

    def drop(self, event: QDropEvent) -> None:
        """It is let go."""
        self._mark({})
        choice = self._choice(event)
        if choice is None:
            event.ignore()
            return
        self._canvas.add(choice, self._at(event))
        event.acceptProposedAction()
        self._canvas.widget().setFocus()

    def _choice(self, event: QDropEvent) -> Choice | None:
        """What is dragged; None, and a hint why, where it can't be added."""
        scene, mime = self._canvas.view.scene, event.mimeData()
        try:
            if not mime.hasFormat(PAGE_MIME):
                return type_choice(_text(mime, BLOCK_MIME))
        except BlockError as error:
            self._canvas.hint(str(error))
            return None
        page = _text(mime, PAGE_MIME)
        reason = page_refusal(scene.diagram, scene.page_name, page)
        self._canvas.hint(reason or "")
        return None if reason else page_choice(scene.diagram, page)

    def _at(self, event: QDropEvent) -> Point:
        return self._canvas.scene_position(event.position().toPoint())

    def _mark(self, wires: dict[str, str]) -> None:
        self._canvas.view.marks = wires
        self._canvas.redraw()


def _text(mime: QMimeData, kind: str) -> str:
    return bytes(mime.data(kind).data()).decode()
