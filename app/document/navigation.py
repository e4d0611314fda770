"""Where in the diagram the window is: the trail of page blocks that were entered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.document.diff import renamed_pages
from blocks.library.pages import Page as PageBlock
from runtime.diagram import MAIN, Diagram

if TYPE_CHECKING:
    from blocks.errors import Location

MOST_USES = 10_000
"""Uses of pages that are looked through for a place; pages can nest without end."""


class Navigation(QObject):
    """The page that is shown, as the names of the page blocks that lead there from ``main``."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._diagram = Diagram()
        self._root = MAIN
        self._trail: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The page that the trail begins on: ``main``, or one that was opened by itself."""
        return self._root

    @property
    def trail(self) -> tuple[str, ...]:
        """Names of the blocks that were entered, outermost first."""
        return self._trail

    @property
    def page(self) -> str:
        """Name of the page that is shown."""
        return page_at(self._diagram, self._trail, self._root) or MAIN

    @property
    def prefix(self) -> str:
        """What instance paths of this page begin with: ``enc/``, nothing on ``main``.

        Of a page by itself, ``page:``, which no path begins with: nothing of it was run.
        """
        inner = "".join(f"{name}/" for name in self._trail)
        return inner if self._root == MAIN else f"{self._root}:{inner}"

    def set_diagram(self, diagram: Diagram) -> None:
        """Stay where it was as far as that place still exists, perhaps by another name."""
        root = renamed_pages(self._diagram, diagram).get(self._root, self._root)
        root, trail = (root, self._trail) if root in diagram.pages else (MAIN, ())
        self._diagram = diagram
        while page_at(diagram, trail, root) is None:
            trail = trail[:-1]
        self.go(trail, root)

    def go(self, trail: Sequence[str], root: str = MAIN) -> None:
        """Show the page at the end of ``trail``; nothing happens where none is."""
        new = (root, tuple(trail))
        if new != (self._root, self._trail) and page_at(self._diagram, trail, root) is not None:
            self._root, self._trail = new
            self.changed.emit()

    def open(self, page: str) -> None:
        """Go to a page by the shortest way from ``main``; by itself where nothing uses it."""
        trail = next(_uses(self._diagram, page), None)
        if trail is None:
            self.go((), page)
        else:
            self.go(trail)

    def enter(self, block: str) -> None:
        """Go into a page block of this page."""
        self.go((*self._trail, block), self._root)

    def leave(self) -> None:
        """Go back to the page that uses this one, or from a page by itself to ``main``."""
        if self._trail:
            self.go(self._trail[:-1], self._root)
        else:
            self.go(())

    def reveal(self, location: Location) -> str | None:
        """Go to the page of ``location``; the name of its block there, None if there is none."""
        *trail, block = (location.block or "").split("/")
        if location.page not in (None, self.page, MAIN):
            self.open(location.page or MAIN)
        elif location.page != self.page or trail:
            self.go(trail)
        return block if block in self._diagram.pages[self.page].blocks else None


def page_at(diagram: Diagram, trail: Sequence[str], root: str = MAIN) -> str | None:
    """Name of the page that ``trail`` leads to from ``root``; None when a step is no page block."""
    if root not in diagram.pages:
        return None
    page = root
    for name in trail:
        block = diagram.pages[page].blocks.get(name)
        if not isinstance(block, PageBlock) or block.page not in diagram.pages:
            return None
        page = block.page
    return page


def _uses(diagram: Diagram, wanted: str | None) -> Iterator[tuple[str, ...]]:
    """Trails that lead to the page ``wanted``, the shortest first."""
    waiting: list[tuple[str, ...]] = [()]
    for trail in waiting:
        page = page_at(diagram, trail)
        if page == wanted:
            yield trail
        if page is not None and len(waiting) < MOST_USES and len(trail) < len(diagram.pages):
            blocks = diagram.pages[page].blocks.items()
            waiting += [(*trail, name) for name, block in blocks if isinstance(block, PageBlock)]
