"""What can be done with pages: made, used once more, entered, named, copied, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.canvas.input.entry.candidates import page_candidate, page_refusal, type_candidate
from blocks.errors import ChangeError
from blocks.library.pages import Page as PageBlock
from runtime.diagram import (
    AddBlock,
    RemovePage,
    RenamePage,
    SetNote,
    copied_page,
    group,
    own_page,
    ungroup,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from app.panels.palette.palette import Palette
    from runtime.diagram import Batch


class PageCommands(QObject):
    """The pages of one window's diagram, as the menus and the palette lead to them."""

    def __init__(
        self,
        document: Document,
        navigation: Navigation,
        canvas: CanvasView,
        palette: Palette,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._navigation = navigation
        self._canvas = canvas
        palette.pageChosen.connect(self.use)
        palette.pageOpened.connect(self.open)
        palette.pageRenamed.connect(self.rename)
        palette.pageCopied.connect(self.copy)
        palette.pageRemoved.connect(self.remove)

    def new_page(self) -> None:
        """Make a page, with a block that stands for it where there is room."""
        self._canvas.put(type_candidate(PageBlock.type_name()))
        self._canvas.setFocus()

    def group(self) -> None:
        """Move the selected blocks to a page of their own, with the notes among them."""
        self._change(self._made(group, *self._canvas.view.selection[:2]))

    def ungroup(self) -> None:
        """Put the blocks of the selected page in its place."""
        for name in self._selected_uses():
            self._change(self._made(ungroup, name))
            return

    def unique_page(self) -> None:
        """Give the selected use a page of its own, so that other uses don't change with it."""
        uses = self._selected_uses()
        for name in uses:
            if (change := self._made(own_page, name)) is not None:
                self._document.apply(change)
        if not uses:
            self._canvas.hint(self.tr("Select a block that stands for a page."))

    def use(self, name: str) -> None:
        """Put one more block that stands for a page where the canvas is looking."""
        diagram = self._document.diagram
        if reason := page_refusal(diagram, self._navigation.page, name):
            self._canvas.hint(reason)
            return
        self._canvas.put(page_candidate(diagram, name))
        self._canvas.setFocus()

    def open(self, name: str) -> None:
        """Show a page, whether it is in use or not."""
        self._navigation.open(name)
        self._canvas.setFocus()

    def rename(self, old: str, new: str) -> None:
        """Give a page another name; the place stays."""
        self._document.apply(RenamePage(old, new))

    def copy(self, name: str) -> None:
        """Make a copy of a page, which nothing uses yet."""
        self._document.apply(copied_page(self._document.diagram, name))

    def remove(self, name: str) -> None:
        """Take a page away that nothing uses."""
        self._document.apply(RemovePage(name))

    def _selected_uses(self) -> list[str]:
        blocks = self._document.diagram.pages[self._navigation.page].blocks
        return [n for n in sorted(self._canvas.selection()) if isinstance(blocks[n], PageBlock)]

    def _made(self, make: Callable[..., Batch], *what: object) -> Batch | None:
        """The change that ``make`` makes of the page; None, and told, where it can't be."""
        try:
            return make(self._document.diagram, self._navigation.page, *what)
        except ChangeError as error:
            self._document.problem.emit(str(error))
            return None

    def _change(self, change: Batch | None) -> None:
        """Make a change, if there is one, and select what it adds to this page."""
        if change is not None and self._document.apply(change):
            blocks = [part.name for part in change.changes if isinstance(part, AddBlock)]
            notes = [part.id for part in change.changes if isinstance(part, SetNote)]
            self._canvas.select(blocks, notes)
