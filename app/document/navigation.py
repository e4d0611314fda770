"""The page that a window shows, and the page blocks that were entered to get there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gradwire.app.document.diff import renamed_pages
from gradwire.blocks.library.pages import Scan
from gradwire.runtime.diagram import (
    MAIN,
    ROOT,
    Diagram,
    InstancePath,
    first_use,
    page_at,
    resolve,
    used_by,
    uses_of,
)

if TYPE_CHECKING:
    from gradwire.blocks.errors import Location


class Navigation(QObject):
    """The current page, given by the page blocks that lead to it from ``main``."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._diagram = Diagram()
        self._root = MAIN
        self._path = ROOT

    @property
    def root(self) -> str:
        """The page that the trail starts from: ``main``, or an unused page that was opened."""
        return self._root

    @property
    def trail(self) -> tuple[str, ...]:
        """Names of the entered page blocks, outermost first; after that of a Scan, its step."""
        return self._path.names

    @property
    def steps(self) -> dict[int, int]:
        """The places of the trail that are steps of a Scan, with the number of its steps."""
        found: dict[int, int] = {}
        for place in range(1, len(self.trail)):
            page = page_at(self._diagram, InstancePath.of(*self.trail[: place - 1]), self._root)
            block = used_by(self._diagram, page or "", self.trail[place - 1])
            if isinstance(block, Scan):
                found[place] = block.steps
        return found

    @property
    def page(self) -> str:
        """Name of the current page."""
        return page_at(self._diagram, self._path, self._root) or MAIN

    @property
    def use(self) -> InstancePath:
        """The path of the current use of the page: ``enc``, or ROOT for ``main``.

        An unused page has a path without results, since nothing on it runs.
        """
        if self._root == MAIN:
            return self._path
        return self._path.within(InstancePath.unused(self._root))

    def set_diagram(self, diagram: Diagram) -> None:
        """Stay on the current page if it still exists, even renamed, or else on its parent."""
        root = renamed_pages(self._diagram, diagram).get(self._root, self._root)
        root, path = (root, self._path) if root in diagram.pages else (MAIN, ROOT)
        self._diagram = diagram
        while page_at(diagram, path, root) is None:
            path = path.use
        self.go(path.names, root)

    def go(self, trail: Sequence[str], root: str = MAIN) -> None:
        """Show the page at the end of ``trail``; nothing happens if there is none."""
        new = (root, InstancePath.of(*trail))
        if new != (self._root, self._path) and page_at(self._diagram, new[1], root) is not None:
            self._root, self._path = new
            self.changed.emit()

    def open(self, page: str) -> None:
        """Go to the least nested use of a page, or to the page itself if nothing uses it."""
        use = next(uses_of(self._diagram, page), None)
        if use is None:
            self.go((), page)
        else:
            self.go(use.names)

    def enter(self, block: str) -> None:
        """Enter a page block of the current page; a Scan at the step that runs first."""
        inner = used_by(self._diagram, self.page, block)
        use = None if inner is None else first_use(self._path / block, inner)
        if use is not None:
            self.go(use.names, self._root)

    def leave(self) -> None:
        """Go back to the page that uses this one, or from an unused page to ``main``."""
        if self._path:
            self.go(self._outside().names, self._root)
        else:
            self.go(())

    def step(self, by: int) -> None:
        """Go ``by`` steps of the innermost Scan on, staying on this page; at the ends, nowhere."""
        steps = self.steps
        if not steps:
            return
        place = max(steps)
        number = min(max(0, int(self.trail[place]) + by), steps[place] - 1)
        self.go((*self.trail[:place], str(number), *self.trail[place + 1 :]), self._root)

    def _outside(self) -> InstancePath:
        """The use of the page that uses the current page."""
        path = self._path.use
        while page_at(self._diagram, path, self._root) is None:
            path = path.use
        return path

    def reveal(self, location: Location) -> str | None:
        """Go to the page of ``location``; return the name of its block there, None without one.

        That of an own variable is its owner, that of a block inside a Formula the Formula, and
        that of what joins the steps of a Scan the Scan.
        """
        path = InstancePath(location.block or "")
        found = resolve(self._diagram, path)
        inner = InstancePath() if found is None else InstancePath(found.owned or found.part)
        path = InstancePath.of(*path.names[: len(path.names) - len(inner.names)])
        known = page_at(self._diagram, path.use) == location.page  # the use, and not just its page
        if location.page not in (None, self.page, MAIN) and not known:
            self.open(location.page or MAIN)
        elif location.page != self.page or path.use:
            self.go(path.use.names)
        return path.name if path.name in self._diagram.pages[self.page].blocks else None
