"""Finds what an undo or a redo changed, page by page, so that the window can show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram, Page, Point

K = TypeVar("K")
V = TypeVar("V")


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
    moved, styled = _different(was.layout, now.layout), _different(was.styles, now.styles)
    blocks = (_different(was.blocks, now.blocks) | moved | styled) & now.blocks.keys()
    notes = _different(was.notes, now.notes) & now.notes.keys()
    gone = (block for block in changed_keys(was.blocks, now.blocks) if block not in now.blocks)
    removed = [was.layout[block] for block in gone if block in was.layout]
    removed += [was.notes[note].at for note in was.notes.keys() - now.notes.keys()]
    found = PageDiff(name, frozenset(blocks), frozenset(notes), (), frozenset(), tuple(removed))
    return _with_wires(found, was, now) if found.wires_only else found


def _with_wires(found: PageDiff, was: Page, now: Page) -> PageDiff:
    changed = _different(was.wires, now.wires)
    wires = (changed | _different(was.bends, now.bends)) & now.wires.keys()
    cut = {target.block for target in changed if target not in now.wires} & now.blocks.keys()
    return found._replace(wires=tuple(map(str, wires)), cut=frozenset(cut))


def _different(was: Mapping[K, V], now: Mapping[K, V]) -> set[K]:
    """Keys whose values differ, or that only one of the two has."""
    return {key for key in changed_keys(was, now) if was.get(key) != now.get(key)}


def changed_keys(before: Mapping[K, V], after: Mapping[K, V]) -> list[K]:
    """The keys of entries that are other objects, or that only one of the two has."""
    if before is after:
        return []
    if len(before) == len(after) and [*before] == [*after]:  # in the same order
        return list(compress(before, map(is_not, before.values(), after.values())))
    changed = list(compress(before, map(is_not, map(after.get, before), before.values())))
    gone = sum(key not in after for key in changed)
    if len(after) > len(before) - gone:
        changed += [key for key in after if key not in before]
    return changed


def renamed_pages(before: Diagram, after: Diagram) -> dict[str, str]:
    """Old and new names of the pages that were renamed, recognised by identity."""
    gone = {id(page): name for name, page in before.pages.items() if name not in after.pages}
    new = {name: page for name, page in after.pages.items() if name not in before.pages}
    return {gone[id(page)]: name for name, page in new.items() if id(page) in gone}
