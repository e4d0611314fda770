"""Where in the diagram the window is: the trail of page blocks that were entered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.document.diff import renamed_pages
from runtime.diagram import MAIN, Diagram
from runtime.diagram.pages import page_at, uses_of
from runtime.diagram.paths import ROOT, InstancePath

if TYPE_CHECKING:
    from blocks.errors import Location


class Navigation(QObject):
    """The page that is shown, as the names of the page blocks that lead there from ``main``."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._diagram = Diagram()
        self._root = MAIN
        self._path = ROOT

    @property
    def root(self) -> str:
        """The page that the trail begins on: ``main``, or one that was opened by itself."""
        return self._root

    @property
    def trail(self) -> tuple[str, ...]:
        """Names of the blocks that were entered, outermost first."""
        return self._path.names

    @property
    def page(self) -> str:
        """Name of the page that is shown."""
        return page_at(self._diagram, self._path, self._root) or MAIN

    @property
    def use(self) -> InstancePath:
        """The use of the page that is shown: ``enc``, ROOT for ``main``.

        Of a page by itself a path that nothing is inside: nothing of it was run.
        """
        if self._root == MAIN:
            return self._path
        return self._path.within(InstancePath.unused(self._root))

    def set_diagram(self, diagram: Diagram) -> None:
        """Stay where it was as far as that place still exists, perhaps by another name."""
        root = renamed_pages(self._diagram, diagram).get(self._root, self._root)
        root, path = (root, self._path) if root in diagram.pages else (MAIN, ROOT)
        self._diagram = diagram
        while page_at(diagram, path, root) is None:
            path = path.use
        self.go(path.names, root)

    def go(self, trail: Sequence[str], root: str = MAIN) -> None:
        """Show the page at the end of ``trail``; nothing happens where none is."""
        new = (root, InstancePath.of(*trail))
        if new != (self._root, self._path) and page_at(self._diagram, new[1], root) is not None:
            self._root, self._path = new
            self.changed.emit()

    def open(self, page: str) -> None:
        """Go to a page by the shortest way from ``main``; by itself where nothing uses it."""
        use = next(uses_of(self._diagram, page), None)
        if use is None:
            self.go((), page)
        else:
            self.go(use.names)

    def enter(self, block: str) -> None:
        """Go into a page block of this page."""
        self.go((*self.trail, block), self._root)

    def leave(self) -> None:
        """Go back to the page that uses this one, or from a page by itself to ``main``."""
        if self._path:
            self.go(self._path.use.names, self._root)
        else:
            self.go(())

    def reveal(self, location: Location) -> str | None:
        """Go to the page of ``location``; the name of its block there, None if there is none."""
        path = InstancePath(location.block or "")
        if location.page not in (None, self.page, MAIN):
            self.open(location.page or MAIN)
        elif location.page != self.page or path.use:
            self.go(path.use.names)
        return path.name if path.name in self._diagram.pages[self.page].blocks else None
