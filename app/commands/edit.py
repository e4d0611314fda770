"""Edits of the page, requested by the Edit menu and the panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.canvas.input.entry.candidates import type_candidate
from app.canvas.input.room import with_room
from blocks.errors import GradwireError
from runtime.diagram import AddBlock, Arrange, Batch, Change, RenameBlock, SetParameters
from runtime.diagram.edits.owning import move_out, own_variables, ownable_inputs, owned_inputs
from runtime.formulas.adding import add_formula

if TYPE_CHECKING:
    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from runtime.diagram import Page


class EditCommands(QObject):
    """Turns requests into changes of the document."""

    def __init__(
        self, document: Document, navigation: Navigation, canvas: CanvasView, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._navigation = navigation
        self._canvas = canvas

    def change(self, change: Change) -> bool:
        """Apply a change and return whether it was accepted; a renamed block stays selected."""
        selected = self._canvas.selection()
        if not self._document.apply(change):
            return False
        if isinstance(change, RenameBlock) and change.old in selected:
            self._canvas.select(selected - {change.old} | {change.new})
        return True

    def add_block(self, type_name: str) -> None:
        """Add a new block of that type where there is room in view."""
        self._canvas.put(type_candidate(type_name))
        self._canvas.setFocus()

    def own_parameters(self) -> None:
        """Move variables into the selected blocks, or the selected Variables into their blocks."""
        page = self._page
        wanted = dict.fromkeys(
            target for name in self._chosen for target in ownable_inputs(page, name)
        )
        for name in self._chosen:
            for target in page.ends.outward.get(name, ()):
                if target in ownable_inputs(page, target.block):
                    wanted[target] = None
        if not wanted:
            self._canvas.hint(self.tr("No selected block has an input that could own a variable."))
            return
        change = own_variables(self._document.diagram, self._navigation.page, list(wanted))
        if self._document.apply(change):
            self._canvas.select({target.block for target in wanted})

    def bypass(self) -> None:
        """Bypass the selected blocks; if all are bypassed, let them work again."""
        blocks = {name: self._page.blocks[name] for name in self._chosen}
        able = [name for name, block in blocks.items() if type(block).can_be_bypassed()]
        if not able:
            self._canvas.hint(self.tr("No selected block has an input that could go through."))
            return
        wanted = not all(blocks[name].bypassed for name in able)
        changes = tuple(
            SetParameters(name, {"bypassed": wanted}, self._navigation.page)
            for name in able
            if blocks[name].bypassed is not wanted
        )
        label = self.tr("Bypass {0}") if wanted else self.tr("Stop bypassing {0}")
        self._document.apply(Batch(label.format(", ".join(able[:3])), changes))

    def move_out_parameters(self) -> None:
        """Move the own variables of the selected blocks out to Variables."""
        owned = [target for name in self._chosen for target in owned_inputs(self._page, name)]
        if not owned:
            self._canvas.hint(self.tr("No selected block owns a variable."))
            return
        change = move_out(self._document.diagram, self._navigation.page, owned)
        added = [part.name for part in change.changes if isinstance(part, AddBlock)]
        scene = self._canvas.view.scene
        if self._document.apply(with_room(scene, change, added)):
            self._canvas.select(added)

    @property
    def _page(self) -> Page:
        return self._document.diagram.pages[self._navigation.page]

    @property
    def _chosen(self) -> list[str]:
        return sorted(self._canvas.selection())

    def add_formula(self, text: str) -> str:
        """Add the blocks of a formula to the page; return why not, empty if they were added."""
        try:
            added = add_formula(self._document.diagram, text, page=self._navigation.page)
        except GradwireError as error:
            return str(error)
        self._document.apply(added.change)
        return ""

    def arrange(self) -> None:
        """Arrange the page, or only the selected blocks if there are several."""
        chosen = self._canvas.selection()
        names = tuple(sorted(chosen)) if len(chosen) > 1 else ()
        lines = self._canvas.view.scene.face_lines()
        self._document.apply(Arrange(self._navigation.page, names, lines))
