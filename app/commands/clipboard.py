"""Cut, copy, paste and duplicate. A selection is copied as text, so it can be pasted anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QCursor, QGuiApplication

from gradwire.app.canvas.input.entry.candidates import page_refusal
from gradwire.app.canvas.input.frames import with_frame_contents
from gradwire.app.canvas.input.spacing import in_vacancy, make_space
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.formulas.reading import looks_like_formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import STEP, AddBlock, InsertPage, Paste, Point, copied, pasted
from gradwire.runtime.formulas import add_formula, formula_of, python_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram

LONG = 200_000
"""Length of a pasted text, in characters, from which it is parsed in the background."""


class ClipboardCommands(WindowPart):
    """The clipboard commands of the Edit menu, and Duplicate."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._last: tuple[str, str, Point | None] | None = None
        self._times = 0

    def copy(self) -> None:
        """Put the selected blocks and notes on the clipboard as text."""
        if text := self._text():
            QGuiApplication.clipboard().setText(text)
            self._last = None
            self._say(self.tr("Copied."))

    def cut(self) -> None:
        """Copy the selection and remove it; frames go with their contents, as in copy."""
        if self._text():
            self.copy()
            self._canvas.set_selection(self._whole_selection())
            self._canvas.delete_selection()

    def paste(self) -> None:
        """Paste the clipboard onto the page, at the pointer if it is over the canvas."""
        self._put(QGuiApplication.clipboard().text(), self._pointer(), self.tr("Paste"))

    def copy_formula(self) -> None:
        """Put the selected blocks, or all of the page, on the clipboard as a formula."""
        self._copy_text(formula_of, self.tr("Copied as a formula."))

    def copy_python(self) -> None:
        """Put the selected blocks, or all of the page, on the clipboard as a Python program."""
        self._copy_text(python_of, self.tr("Copied as a Python program."))

    def _copy_text(
        self, written: Callable[[Diagram, str, Collection[str]], str], said: str
    ) -> None:
        diagram, page = self._document.diagram, self._navigation.page
        names = self._whole_selection().blocks or diagram.pages[page].blocks
        if text := written(diagram, page, names):
            QGuiApplication.clipboard().setText(text)
            self._say(said)
        else:
            self._canvas.hint(self.tr("Nothing of that can be copied as text."))

    def duplicate(self) -> None:
        """Duplicate the selected blocks, the wires between them, and the notes, a step away."""
        if text := self._text():
            self._last = None
            self._put(text, None, self.tr("Duplicate"))

    def _whole_selection(self) -> Selection:
        """The selection, including the contents of its frames."""
        view = self._canvas.view
        return with_frame_contents(view.scene, view.selection)

    def _text(self) -> str:
        """The selection as text; empty without one."""
        chosen = self._whole_selection()
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
                label, lambda: _read(diagram, page, text, at, label, again), large=large
            )
        except Cancelled:
            return
        except GradwireError as error:
            self._refuse(str(error))
            return
        if reason := use_refusal(diagram, page, paste):
            self._refuse(reason)
            return
        scene = self._canvas.view.scene
        if at is None:
            change = in_vacancy(scene, paste.change, paste.blocks, paste.notes)
        else:
            change = make_space(scene, paste.change, paste.blocks)
        if self._document.apply(change):
            self._show_added(paste.blocks, paste.notes)

    def _refuse(self, reason: str) -> None:
        self._document.problem.emit(self.tr("Nothing was pasted. {0}").format(reason))

    def _pointer(self) -> Point | None:
        if not self._canvas.underMouse():
            return None
        return self._canvas.scene_position(self._canvas.mapFromGlobal(QCursor.pos()))


def _read(
    diagram: Diagram, page: str, text: str, at: Point | None, label: str, aside: Point
) -> Paste:
    """The change that pastes a diagram or a formula; raises GradwireError with the place."""
    if not looks_like_formula(text):
        return pasted(diagram, page, text, at, label=label, aside=aside)
    added = add_formula(diagram, text, Point(0.0, 0.0) if at is None else at, page)
    return Paste(replace(added.change, label=label), frozenset(added.blocks), frozenset())


def use_refusal(diagram: Diagram, page: str, paste: Paste) -> str | None:
    """Why a pasted use of a page is not allowed on ``page``, as a sentence; None if all are."""
    for change in paste.change.changes:
        if isinstance(change, InsertPage):
            diagram = diagram.with_page(change.name, change.page)
    for change in paste.change.changes:
        block = change.block if isinstance(change, AddBlock) else None
        if isinstance(block, PageBlock) and block.page in diagram.pages:
            if reason := page_refusal(diagram, page, block.page):
                return reason
    return None
