"""Finds what an undo or a redo changed, page by page, so that the window can show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from runtime.diagram import Diagram, Page, Point


class PageDiff(NamedTuple):
    """The changed items of one page that still exist after the change."""

    page: str
    blocks: frozenset[str]
    notes: frozenset[str]
    wires: tuple[str, ...]
    """Keys (targets) of wires that are new, have another source, or other bends.

    Empty if a block or a note differs.
    """
    cut: frozenset[str]
    """Blocks that have lost an incoming wire; empty in the same cases."""
    removed_at: tuple[Point, ...]
    """Positions of the blocks and notes that were removed."""

    @property
    def wires_only(self) -> bool:
        """Whether no block and no note differs."""
        return not (self.blocks or self.notes or self.removed_at)


def page_diff(before: Diagram, after: Diagram, page: str) -> PageDiff | None:
    """The difference between two diagrams; None if no page that both have differs.

    Prefers a page whose blocks or notes differ, then ``page``, then the first.
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
    styled = _changed_keys(was.styles, now.styles) | (was.styles.keys() - now.styles.keys())
    blocks = (_changed_keys(was.blocks, now.blocks) | moved | styled) & now.blocks.keys()
    notes = _changed_keys(was.notes, now.notes)
    removed = [was.layout[b] for b in was.blocks.keys() - now.blocks.keys() if b in was.layout]
    removed += [was.notes[note].at for note in was.notes.keys() - now.notes.keys()]
    found = PageDiff(name, frozenset(blocks), frozenset(notes), (), frozenset(), tuple(removed))
    return _with_wires(found, was, now) if found.wires_only else found


def _with_wires(found: PageDiff, was: Page, now: Page) -> PageDiff:
    bent = _changed_keys(was.bends, now.bends) | (was.bends.keys() - now.bends.keys())
    wires = _changed_keys(was.wires, now.wires) | (bent & now.wires.keys())
    cut = {target.block for target in was.wires.keys() - now.wires.keys()} & now.blocks.keys()
    return found._replace(wires=tuple(map(str, wires)), cut=frozenset(cut))


def _changed_keys(was: Mapping[Any, object], now: Mapping[Any, object]) -> set[Any]:
    """Keys of ``now`` whose value is new or has changed."""
    if was is now or not was:
        return set() if was is now else set(now)
    return {
        key
        for key, value in now.items()
        if (old := was.get(key)) is not value and old != value  # identity decides most cases fast
    }


def renamed_pages(before: Diagram, after: Diagram) -> dict[str, str]:
    """Old and new names of the pages that were renamed, recognised by identity."""
    gone = {id(page): name for name, page in before.pages.items() if name not in after.pages}
    new = {name: page for name, page in after.pages.items() if name not in before.pages}
    return {gone[id(page)]: name for name, page in new.items() if id(page) in gone}
