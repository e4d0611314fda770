"""The difference between two diagrams, page by page: where to look after an undo or a redo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from runtime.diagram import Diagram, Page, Point


class PageDiff(NamedTuple):
    """What differs on one page, as far as it is there afterwards."""

    page: str
    blocks: frozenset[str]
    notes: frozenset[str]
    wires: tuple[str, ...]
    """Keys (targets) of wires that are new, come from elsewhere, or run through other bends.

    They are told where no block and no note differs.
    """
    cut: frozenset[str]
    """Blocks that a wire does not enter any more; likewise."""
    removed_at: tuple[Point, ...]
    """Where blocks and notes were that are there no more."""

    @property
    def wires_only(self) -> bool:
        """No block and no note is another."""
        return not (self.blocks or self.notes or self.removed_at)


def page_diff(before: Diagram, after: Diagram, page: str) -> PageDiff | None:
    """What differs between two diagrams; None where no page does that is in both.

    Of several pages the one with other blocks or notes, of those ``page``, else the first.
    """
    found = sorted(_pages(before, after), key=lambda one: (one.wires_only, one.page != page))
    return found[0] if found else None


def _pages(before: Diagram, after: Diagram) -> Iterator[PageDiff]:
    for name, now in after.pages.items():
        was = before.pages.get(name, now)
        if was is not now:
            yield _diff_of_page(name, was, now)


def _diff_of_page(name: str, was: Page, now: Page) -> PageDiff:
    moved = _changed_keys(was.layout, now.layout) | (was.layout.keys() - now.layout.keys())
    blocks = (_changed_keys(was.blocks, now.blocks) | moved) & now.blocks.keys()
    notes = _changed_keys(was.notes, now.notes)
    gone = [was.layout[b] for b in was.blocks.keys() - now.blocks.keys() if b in was.layout]
    gone += [was.notes[note].at for note in was.notes.keys() - now.notes.keys()]
    found = PageDiff(name, frozenset(blocks), frozenset(notes), (), frozenset(), tuple(gone))
    return _with_wires(found, was, now) if found.wires_only else found


def _with_wires(found: PageDiff, was: Page, now: Page) -> PageDiff:
    bent = _changed_keys(was.bends, now.bends) | (was.bends.keys() - now.bends.keys())
    wires = _changed_keys(was.wires, now.wires) | (bent & now.wires.keys())
    cut = {target.block for target in was.wires.keys() - now.wires.keys()} & now.blocks.keys()
    return found._replace(wires=tuple(map(str, wires)), cut=frozenset(cut))


def _changed_keys(was: Mapping[Any, object], now: Mapping[Any, object]) -> set[Any]:
    """Keys of ``now`` whose value is new or another."""
    if was is now or not was:
        return set() if was is now else set(now)
    return {
        key
        for key, value in now.items()
        if (old := was.get(key)) is not value and old != value  # mostly the same, at once
    }


def renamed_pages(before: Diagram, after: Diagram) -> dict[str, str]:
    """Pages of ``before`` whose name is gone, with the new name of the very same page."""
    gone = {id(page): name for name, page in before.pages.items() if name not in after.pages}
    new = {name: page for name, page in after.pages.items() if name not in before.pages}
    return {gone[id(page)]: name for name, page in new.items() if id(page) in gone}
