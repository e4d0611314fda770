"""Bookmarks: named views of the diagram's pages, stored in its file."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QInputDialog

from gradwire.app.panels.workspace import WindowPart
from gradwire.runtime.diagram import Batch, SetViews, View

if TYPE_CHECKING:
    from collections.abc import Container

    from gradwire.app.panels.dialogs.bookmarks import BookmarksDialog
    from gradwire.app.panels.workspace import Workspace


class BookmarkCommands(WindowPart):
    """Adds bookmarks, goes to them, and edits their list; each change is one undo."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.dialog: BookmarksDialog | None = None

    def add(self) -> None:
        """Ask for a name and give it to what is in view; a known name gets the new view."""
        views = self._document.diagram.views
        text, accepted = QInputDialog.getText(
            self._frame,
            self.tr("Bookmark view"),
            self.tr("Name of what is in view:"),
            text=_unused(self._subject(), {view.name for view in views}),
        )
        if name := text.strip() if accepted else "":
            here = self._here(name)
            known = any(view.name == name for view in views)
            others = tuple(here if view.name == name else view for view in views)
            self._set(others if known else (*views, here), self.tr("Bookmark {0}").format(name))

    def go(self, view: View) -> None:
        """Show the view of a bookmark."""
        if view.page != self._navigation.page:
            self._navigation.open(view.page)
        self._canvas.show_at(view.at, view.zoom * self._canvas.actual_zoom())
        self._canvas.setFocus()

    def go_to_number(self, number: int) -> None:
        """Show the bookmark with this number, from 1 on."""
        views = self._document.diagram.views
        if number <= len(views):
            self.go(views[number - 1])
        else:
            self._canvas.hint(self.tr("There is no bookmark {0}.").format(number))

    def edit(self) -> None:
        """Show the list of bookmarks beside the diagram."""
        if self.dialog is None:
            from gradwire.app.panels.dialogs.bookmarks import BookmarksDialog

            self.dialog = BookmarksDialog(self._frame)
            self.dialog.chosen.connect(self.go)
            self.dialog.edited.connect(self._set)
            self._document.diagramChanged.connect(self._refresh)
        self._refresh()
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _refresh(self) -> None:
        if self.dialog is not None:
            self.dialog.show_views(self._document.diagram.views)

    def _set(self, views: tuple[View, ...], label: str) -> None:
        self._document.apply(Batch(label, (SetViews(views),)))
        self._refresh()  # a refused name is shown as it was

    def _here(self, name: str) -> View:
        """A bookmark of the page, the middle and the zoom of the canvas."""
        zoom = self._canvas.zoom() / self._canvas.actual_zoom()
        return View(name, self._navigation.page, self._canvas.middle(), zoom)

    def _subject(self) -> str:
        """What the view shows: the one selected block, or else the page."""
        blocks = self._canvas.selection()
        return next(iter(blocks)) if len(blocks) == 1 else self._navigation.page


def _unused(name: str, taken: Container[str]) -> str:
    """``name``, or ``name 2``, ``name 3``, … if it is taken."""
    if name not in taken:
        return name
    return next(new for number in count(2) if (new := f"{name} {number}") not in taken)
