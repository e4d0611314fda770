"""Which blocks show numbers that an edit may have changed since they were computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.library.pages import Page as PageBlock
from runtime.diagram.model import MAIN, same_meaning
from runtime.diagram.pages import page_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runtime.diagram.model import Diagram, Page
    from runtime.diagram.paths import InstancePath


def outdated_blocks(was: Diagram, now: Diagram, page: str, use: InstancePath) -> frozenset[str]:
    """The blocks of a page, used at ``use``, whose values or gradients may differ from those of
    ``was``, by name.

    A value depends on everything upstream, a gradient on everything downstream and the values
    there. All others are the same for certain: on a page inside another, where much depends on
    what is outside, that is known of no block.
    """
    if same_meaning(was, now):
        return frozenset()
    here = now.pages[page]
    if page != MAIN or page_at(was, use) != MAIN:
        return frozenset(here.blocks)
    changed, cut = _edited(was, now)
    values = _closure(changed, lambda name: (t.block for t in here.ends.outward.get(name, ())))
    gradients = _closure(
        values | cut, lambda name: (here.wires[t].block for t in here.ends.inward.get(name, ()))
    )
    sources = {n for n in gradients if getattr(here.blocks[n], "wants_gradient", False)}
    owners = {name for name in gradients if here.blocks[name].owned}
    return frozenset(values | sources | owners)


def _edited(was: Diagram, now: Diagram) -> tuple[set[str], set[str]]:
    """Blocks of the main page that differ or have other inputs, and those that lost a reader."""
    before, after = was.main, now.main
    changed = {
        name
        for name, block in after.blocks.items()
        if before.blocks.get(name) is not block
        or (isinstance(block, PageBlock) and _differs_inside(was, now, block.page))
    }
    changed |= {t.block for t, source in after.wires.items() if before.wires.get(t) != source}
    lost = [t for t, source in before.wires.items() if after.wires.get(t) != source]
    changed |= {target.block for target in lost}
    cut = {before.wires[target].block for target in lost}
    return changed & after.blocks.keys(), cut & after.blocks.keys()


def _differs_inside(was: Diagram, now: Diagram, page: str) -> bool:
    """Whether a page, or one that it uses, has other blocks or wires."""
    used = _closure({page}, lambda name: _used_by(now.pages.get(name)))
    return any(_differs(was.pages.get(name), now.pages.get(name)) for name in used)


def _differs(one: Page | None, other: Page | None) -> bool:
    if one is None or other is None:
        return one is not other
    return one.blocks is not other.blocks or one.wires is not other.wires


def _used_by(page: Page | None) -> Iterator[str]:
    blocks = () if page is None else page.blocks.values()
    return (block.page for block in blocks if isinstance(block, PageBlock))


def _closure(start: set[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    found = set(start)
    waiting = list(start)
    while waiting:
        for name in following(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found
