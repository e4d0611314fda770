"""The user's library of pages: save one, insert one, and update the uses of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtWidgets import QFileDialog, QMessageBox

from gradwire.app.canvas.input.spacing import in_vacancy
from gradwire.app.commands.clipboard import use_refusal
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import (
    MAIN,
    differs,
    inserted,
    page_offered,
    save,
    shared_page,
    updated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.panels.palette.palette import Palette
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.library import FileLibrary
    from gradwire.runtime.diagram import Diagram, Page


class LibraryCommands(WindowPart):
    """Copies pages between one document and the library, and lists the library in the palette.

    A page in the document is a copy. The list says where it differs from the library's page of
    the same name; nothing is updated by itself.
    """

    def __init__(self, workspace: Workspace, palette: Palette, library: FileLibrary) -> None:
        super().__init__(workspace)
        self._palette = palette
        self._library = library
        self._compared: dict[str, _Comparison] = {}
        palette.libraryChosen.connect(self.insert)
        self._document.diagramChanged.connect(self._list)
        library.changed.connect(self._compare_again)
        self._list()

    def save(self) -> None:
        """Save the page of the selected block, or else the current page, to the library."""
        page = self._chosen_page()
        if page is None:
            return
        path, diagram = self._library.path(page), self._document.diagram
        if path.exists() and not self._may_replace(page):
            return
        text = self.tr("Saving {0}").format(path.name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._document.compute(text, lambda: save(shared_page(diagram, page), path), large=True)
        except Cancelled:
            return
        except (GradwireError, OSError) as error:
            self._document.problem.emit(self.tr("{0} was not saved. {1}").format(page, error))
            return
        self._say(self.tr("Page {0} is in the library.").format(page))
        self._library.refresh()

    def insert(self, name: str) -> None:
        """Add a use of a page of the library, with a copy of the page and of those it uses."""
        shared = self._read(name)
        if shared is None:
            return
        diagram, here = self._document.diagram, self._navigation.page
        label = self.tr("Insert {0}").format(name)
        paste = inserted(diagram, here, shared, self._canvas.middle(), label=label)
        if reason := use_refusal(diagram, here, paste):
            self._document.problem.emit(self.tr("{0} was not inserted. {1}").format(name, reason))
            return
        change = in_vacancy(self._canvas.view.scene, paste.change, paste.blocks, paste.notes)
        if self._document.apply(change):
            self._show_added(paste.blocks, paste.notes)
            self._canvas.setFocus()

    def update(self) -> None:
        """Replace the page of the selected block, in all its uses, by that of the library."""
        page = self._chosen_page()
        if page is None:
            return
        if page not in self._library.names():
            self._canvas.hint(self.tr("The library has no page {0}.").format(page))
            return
        shared = self._read(page)
        if shared is None:
            return
        if page_offered(shared) != page:
            self._canvas.hint(self.tr("The library has no page {0}.").format(page))
        elif differs(self._document.diagram, shared):
            self._document.apply(updated(self._document.diagram, shared))
        else:
            self._canvas.hint(self.tr("Page {0} is as in the library.").format(page))

    def choose_folder(self) -> None:
        """Choose the folder of the library."""
        chosen = QFileDialog.getExistingDirectory(
            self._frame, self.tr("Library folder"), str(self._library.folder)
        )
        if chosen:
            self._library.choose(Path(chosen))
            self._say(self.tr("The library is in {0}.").format(chosen))

    def _chosen_page(self) -> str | None:
        """The page of the one selected page block, or the current page unless it is ``main``."""
        here = self._navigation.page
        blocks = self._document.diagram.pages[here].blocks
        found = {
            block.page
            for name in self._canvas.selection()
            if isinstance(block := blocks[name], PageBlock)
        }
        if not found and here != MAIN and not self._canvas.selection():
            found = {here}
        if len(found) != 1:
            self._canvas.hint(self.tr("Select a block that uses a page, or go to the page."))
            return None
        return found.pop()

    def _read(self, name: str) -> Diagram | None:
        """The library's diagram of that name, which shares a page; None with a message if not."""
        text = self.tr("Opening {0}").format(name)
        try:
            shared = self._document.compute(text, lambda: self._library.read(name), large=True)
            page_offered(shared)
        except Cancelled:
            return None
        except (GradwireError, OSError) as error:
            self._document.problem.emit(self.tr("{0} was not read. {1}").format(name, error))
            return None
        return shared

    def _may_replace(self, page: str) -> bool:
        question = QMessageBox.question(
            self._frame,
            self.tr("Library"),
            self.tr("The library has a page {0}. Replace it?").format(page),
        )
        return question == QMessageBox.StandardButton.Yes

    def _list(self) -> None:
        """Show the library in the palette, and which of its pages differ from the document's."""
        pages = self._document.diagram.pages
        self._palette.set_library(
            [(name, name in pages and self._differs(name)) for name in self._library.names()]
        )

    def _differs(self, name: str) -> bool:
        pages = self._document.diagram.pages
        known = self._compared.get(name)
        if known is None or not known.holds_for(pages):
            try:
                shared = self._library.read(name)
                known = _Comparison(
                    {title: pages.get(title) for title in shared.pages if title != MAIN},
                    differs(self._document.diagram, shared),
                )
            except (GradwireError, OSError):
                known = _Comparison({}, False)  # why is said when it is inserted
            self._compared[name] = known
        return known.differs

    def _compare_again(self) -> None:
        """Compare with the files as they are now."""
        self._compared.clear()
        self._list()


class _Comparison(NamedTuple):
    """Whether the diagram's pages differ from a file of the library."""

    pages: Mapping[str, Page | None]
    """The pages of the diagram that were compared, by name; None where it has none."""
    differs: bool

    def holds_for(self, pages: Mapping[str, Page]) -> bool:
        """Whether these are the same objects: comparing them again could take long."""
        return all(pages.get(name) is page for name, page in self.pages.items())
