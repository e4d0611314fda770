"""Cut, copy, paste and duplicate: a selection travels as text, so it can go anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QCursor, QGuiApplication

from app.waiting import Cancelled
from blocks.errors import GradwireError
from runtime.diagram import Point
from runtime.diagram.clipboard import STEP, copied, pasted

if TYPE_CHECKING:
    from app.canvas import CanvasView
    from app.commands import Commands
    from app.document import Document
    from app.place import Place

LONG = 200_000
"""Characters of a text that is read while the window lives on."""


class ClipboardCommands(QObject):
    """The rows of the Edit menu that need the clipboard, or do as if."""

    def __init__(
        self, commands: Commands, document: Document, canvas: CanvasView, place: Place
    ) -> None:
        super().__init__(commands)
        self._commands = commands
        self._document = document
        self._canvas = canvas
        self._place = place
        self._last: tuple[str, str, Point | None] | None = None
        self._times = 0

    def copy(self) -> None:
        """Put the selected blocks and notes on the clipboard as text."""
        if text := self._text():
            QGuiApplication.clipboard().setText(text)
            self._last = None

    def cut(self) -> None:
        """Copy, and remove."""
        if self._text():
            self.copy()
            self._canvas.delete_selection()

    def paste(self) -> None:
        """Put the clipboard's text on the page, under the pointer where that is on the canvas."""
        self._put(QGuiApplication.clipboard().text(), self._pointer(), self.tr("Paste"))

    def duplicate(self) -> None:
        """Copy the selected blocks, the wires among them and the notes, a step away."""
        if text := self._text():
            self._last = None
            self._put(text, None, self.tr("Duplicate"))

    def _text(self) -> str:
        blocks, notes, _ = self._canvas.view.picked
        if not (blocks or notes):
            return ""
        return copied(self._document.diagram, self._place.page, blocks, notes)

    def _put(self, text: str, at: Point | None, label: str) -> None:
        page = self._place.page
        here = (text, page, at)
        self._times = self._times + 1 if here == self._last else 0
        self._last = here
        again = Point(STEP.x * self._times, STEP.y * self._times)
        diagram, large = self._document.diagram, len(text) > LONG
        try:
            paste = self._document.work_out(
                label,
                lambda: pasted(diagram, page, text, at, label=label, aside=again),
                large=large,
            )
        except Cancelled:
            return
        except GradwireError as error:
            self._document.problem.emit(self.tr("Nothing was pasted. {0}").format(error))
            return
        if self._commands.change(paste.change):
            self._canvas.select(paste.blocks, paste.notes)

    def _pointer(self) -> Point | None:
        if not self._canvas.underMouse():
            return None
        return self._canvas.scene_position(self._canvas.mapFromGlobal(QCursor.pos()))
