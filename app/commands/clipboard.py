"""Cut, copy, paste and duplicate: a selection travels as text, so it can go anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QCursor, QGuiApplication

from app.canvas.input.entry.candidates import page_refusal
from app.canvas.input.frames import with_frame_contents
from app.services.background import Cancelled
from blocks.errors import GradwireError
from blocks.library.pages import Page as PageBlock
from runtime.diagram import AddBlock, InsertPage, Point
from runtime.diagram.edits.clipboard import STEP, copied, pasted

if TYPE_CHECKING:
    from app.canvas.state.view_state import Selection
    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from runtime.diagram import Diagram
    from runtime.diagram.edits.clipboard import Paste

LONG = 200_000
"""Characters of a text that is read while the window lives on."""


class ClipboardCommands(QObject):
    """The rows of the Edit menu that need the clipboard, or do as if."""

    def __init__(
        self, document: Document, navigation: Navigation, canvas: CanvasView, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._canvas = canvas
        self._navigation = navigation
        self._last: tuple[str, str, Point | None] | None = None
        self._times = 0

    def copy(self) -> None:
        """Put the selected blocks and notes on the clipboard as text."""
        if text := self._text():
            QGuiApplication.clipboard().setText(text)
            self._last = None

    def cut(self) -> None:
        """Copy, and remove: frames together with their contents, as they are copied."""
        if self._text():
            self.copy()
            self._canvas.set_selection(self._chosen())
            self._canvas.delete_selection()

    def paste(self) -> None:
        """Put the clipboard's text on the page, under the pointer where that is on the canvas."""
        self._put(QGuiApplication.clipboard().text(), self._pointer(), self.tr("Paste"))

    def duplicate(self) -> None:
        """Copy the selected blocks, the wires among them and the notes, a step away."""
        if text := self._text():
            self._last = None
            self._put(text, None, self.tr("Duplicate"))

    def _chosen(self) -> Selection:
        """The selection with the contents of its frames."""
        view = self._canvas.view
        return with_frame_contents(view.scene, view.selection)

    def _text(self) -> str:
        """The selection as text; empty if nothing is selected."""
        chosen = self._chosen()
        if not (chosen.blocks or chosen.notes):
            return ""
        return copied(self._document.diagram, self._navigation.page, chosen.blocks, chosen.notes)

    def _put(self, text: str, at: Point | None, label: str) -> None:
        page = self._navigation.page
        here = (text, page, at)
        self._times = self._times + 1 if here == self._last else 0
        self._last = here
        again = Point(STEP.x * self._times, STEP.y * self._times)
        diagram, large = self._document.diagram, len(text) > LONG
        try:
            paste = self._document.compute(
                label,
                lambda: pasted(diagram, page, text, at, label=label, aside=again),
                large=large,
            )
        except Cancelled:
            return
        except GradwireError as error:
            self._refuse(str(error))
            return
        if reason := _endless(diagram, page, paste):
            self._refuse(reason)
            return
        if self._document.apply(paste.change):
            self._canvas.select(paste.blocks, paste.notes)

    def _refuse(self, reason: str) -> None:
        self._document.problem.emit(self.tr("Nothing was pasted. {0}").format(reason))

    def _pointer(self) -> Point | None:
        if not self._canvas.underMouse():
            return None
        return self._canvas.scene_position(self._canvas.mapFromGlobal(QCursor.pos()))


def _endless(diagram: Diagram, page: str, paste: Paste) -> str | None:
    """Why a use among what is pasted can't stand on ``page``, as a sentence; None if all can."""
    for change in paste.change.changes:
        if isinstance(change, InsertPage):
            diagram = diagram.with_page(change.name, change.page)
    for change in paste.change.changes:
        block = change.block if isinstance(change, AddBlock) else None
        if isinstance(block, PageBlock) and block.page in diagram.pages:
            if reason := page_refusal(diagram, page, block.page):
                return reason
    return None
