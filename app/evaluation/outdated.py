"""Which blocks show numbers that an edit may have changed since they were computed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gradwire.app.document.diff import changed_keys
from gradwire.blocks.block import Source
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.library.views import Field
from gradwire.runtime.diagram import MAIN, page_at, same_meaning, used_by, uses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram, InstancePath, Page


class _Outdated(NamedTuple):
    """The blocks of a page whose values may differ, and those into which other gradient comes."""

    values: set[str]
    gradients: set[str]


def outdated_blocks(was: Diagram, now: Diagram, page: str, use: InstancePath) -> frozenset[str]:
    """The blocks of a page, used at ``use``, whose values or gradients may differ from those of
    ``was``, by name.

    A value depends on everything upstream, a gradient on everything downstream and the values
    there; one that several uses share, on all of them. All others are the same for certain.
    Without a Loss, an edit may change what gradients are taken of.
    """
    if same_meaning(was, now):
        return frozenset()
    here = now.pages[page]
    if page != page_at(was, use) or page != page_at(now, use):
        return frozenset(here.blocks)
    found, outer = _outdated(was, now, MAIN), MAIN
    for name in use.names:
        if isinstance(used_by(now, outer, name), Scan):
            return frozenset(here.blocks)  # by what is carried, all steps depend on one another
        ends = _outdated_ends(was.pages[outer], now.pages[outer], name, found)
        if ends is None:
            return frozenset(here.blocks)
        outer = page_at(now, use.of(name), outer) or page
        found = _outdated(was, now, outer, *ends)
    names: Iterable[str] = here.blocks
    if all(_has_loss(each) and _is_used_once(each, page) for each in (was, now)):
        names = found.gradients
    learn = {
        name
        for name in names
        if (isinstance(block := here.blocks[name], Source) and block.wants_gradient) or block.owned
    }
    return frozenset(found.values | learn)


def _is_used_once(diagram: Diagram, page: str) -> bool:
    if page == MAIN and not any(MAIN in _used_by(each) for each in diagram.pages.values()):
        return True
    return len([*islice(uses_of(diagram, page), 2)]) == 1


def _has_loss(diagram: Diagram) -> bool:
    return any(kind.head for page in diagram.pages.values() for kind in _kinds(page))


def _kinds(page: Page) -> set[type[Block]]:
    return set(map(type, page.blocks.values()))


def _outdated(
    was: Diagram,
    now: Diagram,
    page: str,
    inputs: Collection[str] = (),
    outputs: Collection[str] = (),
) -> _Outdated:
    """What is outdated on a page, into whose ``inputs`` other values come, and other gradients
    into its ``outputs``.
    """
    here = now.pages[page]
    changed, cut = _edited(was, now, page)
    changed |= here.blocks.keys() & {*inputs}
    cut |= here.blocks.keys() & {*outputs}
    inward, outward, wires = here.ends.inward, here.ends.outward, here.wires
    values = _closure(
        changed, lambda names: {t.block for name in names for t in outward.get(name, ())}
    )
    gradients = _closure(
        values | cut, lambda names: {wires[t].block for name in names for t in inward.get(name, ())}
    )
    return _Outdated(values, gradients)


def _outdated_ends(
    before: Page, after: Page, name: str, found: _Outdated
) -> tuple[set[str], set[str]] | None:
    """The inputs of a page's use that may have other values, and the outputs into which other
    gradients may come; None if the use itself has changed.
    """
    if before.blocks.get(name) is not after.blocks[name]:
        return None
    rewired = {
        target
        for target in before.wires.keys() | after.wires.keys()
        if before.wires.get(target) != after.wires.get(target)
    }
    wires = [*before.wires.items(), *after.wires.items()]
    inputs = {
        target.port
        for target, source in wires
        if target.block == name and (target in rewired or source.block in found.values)
    }
    outputs = {
        source.port
        for target, source in wires
        if source.block == name and (target in rewired or target.block in found.gradients)
    }
    return inputs, outputs


def _edited(was: Diagram, now: Diagram, page: str) -> tuple[set[str], set[str]]:
    """Blocks of a page that differ or have other inputs, and those that lost a reader."""
    before, after = was.pages[page], now.pages[page]
    changed = set(changed_keys(before.blocks, after.blocks))
    if any(issubclass(kind, PageBlock | Field) for kind in _kinds(after)):
        changed |= {
            name
            for name, block in after.blocks.items()
            if isinstance(block, PageBlock | Field) and _differs_inside(was, now, block.page)
        }
    rewired = [
        target
        for target in changed_keys(before.wires, after.wires)
        if before.wires.get(target) != after.wires.get(target)
    ]
    changed |= {target.block for target in rewired}
    cut = {before.wires[target].block for target in rewired if target in before.wires}
    return changed & after.blocks.keys(), cut & after.blocks.keys()


def _differs_inside(was: Diagram, now: Diagram, page: str) -> bool:
    """Whether a page, or one that it uses, has other blocks or wires."""
    pages = now.pages
    used = _closure(
        {page}, lambda names: {use for name in names for use in _used_by(pages.get(name))}
    )
    return any(_differs(was.pages.get(name), now.pages.get(name)) for name in used)


def _differs(one: Page | None, other: Page | None) -> bool:
    if one is None or other is None:
        return one is not other
    return one.blocks is not other.blocks or one.wires is not other.wires


def _used_by(page: Page | None) -> Iterator[str]:
    if page is None or not any(issubclass(kind, PageBlock) for kind in _kinds(page)):
        return iter(())
    return (block.page for block in page.blocks.values() if isinstance(block, PageBlock))


def _closure(start: set[str], following: Callable[[set[str]], set[str]]) -> set[str]:
    """All that is reached from ``start``, step by step to what follows those of the last."""
    found, last = set(start), set(start)
    while last:
        last = following(last) - found
        found |= last
    return found
