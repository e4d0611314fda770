"""Commands on pages: create, use, open, rename, copy, remove, group and ungroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.canvas.input.entry.candidates import page_candidate, page_refusal, type_candidate
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import (
    AddBlock,
    RemovePage,
    RenamePage,
    SetNote,
    copied_page,
    group,
    own_page,
    unfold,
    ungroup,
)
from gradwire.runtime.formulas import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.panels.palette.palette import Palette
    from gradwire.app.panels.workspace import Workspace
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Batch


class PageCommands(WindowPart):
    """The page commands of one window, from the menus and the palette."""

    def __init__(self, workspace: Workspace, palette: Palette) -> None:
        super().__init__(workspace)
        palette.pageChosen.connect(self.use)
        palette.pageOpened.connect(self.open)
        palette.pageRenamed.connect(self.rename)
        palette.pageCopied.connect(self.copy)
        palette.pageRemoved.connect(self.remove)

    def new_page(self) -> None:
        """Create a page, and add a block that uses it where there is room."""
        self._canvas.put(type_candidate(PageBlock.type_name()))
        self._canvas.setFocus()

    def group(self) -> None:
        """Move the selected blocks and notes to a new page."""
        self._change(self._made(group, *self._canvas.view.selection[:2]))

    def ungroup(self) -> None:
        """Replace the selected page block by the blocks of its page."""
        for name in self._selected(PageBlock):
            self._change(self._made(ungroup, name))
            return

    def fold(self) -> None:
        """Replace the selected blocks by one Formula block."""
        self._change(self._made(fold, self._canvas.selection()))

    def unfold(self) -> None:
        """Replace the selected Formula blocks by the blocks of their expressions."""
        names = self._selected(Formula)
        for name in names:
            self._change(self._made(unfold, name), room=True)
        if not names:
            self._canvas.hint(self.tr("Select a Formula block."))

    def unique_page(self) -> None:
        """Give the selected page blocks copies of their page, so that edits affect no other use."""
        uses = self._selected(PageBlock)
        for name in uses:
            if (change := self._made(own_page, name)) is not None:
                self._document.apply(change)
        if not uses:
            self._canvas.hint(self.tr("Select a block that uses a page."))

    def use(self, name: str) -> None:
        """Add a block that uses a page, where there is room in view."""
        diagram = self._document.diagram
        if reason := page_refusal(diagram, self._navigation.page, name):
            self._canvas.hint(reason)
            return
        self._canvas.put(page_candidate(diagram, name))
        self._canvas.setFocus()

    def open(self, name: str) -> None:
        """Show a page, whether it is used or not."""
        self._navigation.open(name)
        self._canvas.setFocus()

    def rename(self, old: str, new: str) -> None:
        """Rename a page; the window stays on its page."""
        self._document.apply(RenamePage(old, new))

    def copy(self, name: str) -> None:
        """Copy a page; nothing uses the copy yet."""
        self._document.apply(copied_page(self._document.diagram, name))

    def remove(self, name: str) -> None:
        """Remove an unused page."""
        self._document.apply(RemovePage(name))

    def _selected(self, kind: type[Block]) -> list[str]:
        """The selected blocks of a kind."""
        blocks = self._page.blocks
        return [n for n in sorted(self._canvas.selection()) if isinstance(blocks[n], kind)]

    def _made(self, make: Callable[..., Batch], *what: object) -> Batch | None:
        """The change that ``make`` returns for the page; emits a problem and is None on failure."""
        try:
            return make(self._document.diagram, self._navigation.page, *what)
        except ChangeError as error:
            self._document.problem.emit(str(error))
            return None

    def _change(self, change: Batch | None, *, room: bool = False) -> None:
        """Apply a change, if there is one, and select what it adds to this page.

        With ``room``, neighbours move aside for what is added.
        """
        if change is None:
            return
        blocks = [part.name for part in change.changes if isinstance(part, AddBlock)]
        notes = [part.id for part in change.changes if isinstance(part, SetNote)]
        scene = self._canvas.view.scene
        if self._document.apply(make_space(scene, change, blocks) if room else change):
            self._canvas.select(blocks, notes)
