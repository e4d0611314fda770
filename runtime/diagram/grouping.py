"""Blocks gathered into a page used as a block, and a use put back as blocks.

Both are batches of plain changes: one undo each. Values and gradients stay what they were; what
``W1`` was before is ``group1/W1`` after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from blocks.errors import ChangeError, Location
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from blocks.library.sources import Constant
from runtime.diagram.changes import (
    AddBlock,
    Batch,
    Change,
    Connect,
    InsertPage,
    RemoveBlocks,
    RemovePage,
)
from runtime.diagram.model import Diagram, Page, Point, PortName
from runtime.diagram.names import fresh_names

if TYPE_CHECKING:
    from blocks.block import Block

ASIDE = 240.0
"""From the blocks of a new page to its ports, px at 100 %."""


def group(diagram: Diagram, page: str, names: Collection[str]) -> Batch:
    """Move blocks of a page to a new page, and put a block that stands for it in their place.

    The first change of the batch inserts the page, the second adds the block, both of the same
    name. Raises ChangeError for no blocks, or for ports of the page itself.
    """
    here = diagram.pages[page]
    chosen = [name for name in here.blocks if name in names]
    if not chosen:
        raise ChangeError("There is nothing to group.", location=Location(page))
    for name in chosen:
        if isinstance(here.blocks[name], PageInput | PageOutput):
            raise ChangeError(
                f"{name!r} is a port of this page; a port can't be grouped.",
                location=Location(page, name),
                next_step="Leave it out of the selection.",
            )
    title = next(fresh_names("Group", {*diagram.pages, *here.blocks}))
    inner, inputs, outputs = _gathered(here, chosen)
    places = [here.layout[name] for name in chosen if name in here.layout]
    changes: list[Change] = [
        InsertPage(title, inner),
        AddBlock(title, PageBlock(page=title), _middle(places), page=page),
    ]
    # Readers are wired anew before the blocks go, so that repeating ports keep their terms.
    for target, source in here.wires.items():
        if source in outputs and target.block not in names:
            changes.append(Connect(PortName(title, outputs[source]), target, page=page))
    changes += [Connect(s, PortName(title, port), page=page) for s, port in inputs.items()]
    changes.append(RemoveBlocks(tuple(chosen), page=page))
    return Batch(f"Group into {title}", tuple(changes))


def _gathered(
    here: Page, chosen: list[str]
) -> tuple[Page, dict[PortName, str], dict[PortName, str]]:
    """The new page; its inputs by the port outside that drives them, its outputs by that inside."""
    blocks: dict[str, Block] = {name: here.blocks[name] for name in chosen}
    layout = {name: here.layout[name] for name in chosen if name in here.layout}
    left = min((at.x for at in layout.values()), default=0.0) - ASIDE
    right = max((at.x for at in layout.values()), default=0.0) + ASIDE
    within = frozenset(chosen)
    wires: dict[PortName, PortName] = {}
    inputs: dict[PortName, str] = {}
    outputs: dict[PortName, str] = {}
    for target, source in here.wires.items():
        if target.block in within and source.block in within:
            wires[target] = source
        elif target.block in within:
            if source not in inputs:
                inputs[source] = _port_name(source.block, blocks)
                blocks[inputs[source]] = PageInput()
                layout[inputs[source]] = Point(left, _level(layout, target.block))
            wires[target] = PortName(inputs[source], "out")
        elif source.block in within and source not in outputs:
            outputs[source] = _port_name("out", blocks)
            blocks[outputs[source]] = PageOutput()
            layout[outputs[source]] = Point(right, _level(layout, source.block))
            wires[PortName(outputs[source], "x")] = source
    return Page(blocks, wires, _apart(layout, blocks)), inputs, outputs


def _port_name(wish: str, taken: Mapping[str, Block]) -> str:
    return wish if wish not in taken else next(fresh_names(wish, taken))


def _level(layout: Mapping[str, Point], block: str) -> float:
    return layout[block].y if block in layout else 0.0


def _apart(layout: Mapping[str, Point], blocks: Mapping[str, Block]) -> dict[str, Point]:
    """Ports of a page that would lie on each other, one below the other."""
    placed: dict[str, Point] = {}
    for name, at in layout.items():
        if isinstance(blocks[name], PageInput | PageOutput):
            while any(abs(at.y - o.y) < 80.0 and at.x == o.x for o in placed.values()):
                at = Point(at.x, at.y + 80.0)
        placed[name] = at
    return placed


def _middle(places: Collection[Point]) -> Point:
    count = max(len(places), 1)
    x, y = sum(at.x for at in places) / count, sum(at.y for at in places) / count
    return Point(float(round(x)), float(round(y)))


def ungroup(diagram: Diagram, page: str, name: str) -> Batch:
    """Put copies of the blocks of a used page in the place of the use; wires follow.

    The page goes, too, where nothing else stands for it. Raises ChangeError where ``name`` is no
    use of a page of the diagram.
    """
    here = diagram.pages[page]
    use = here.blocks.get(name)
    if not isinstance(use, PageBlock) or use.page not in diagram.pages:
        raise ChangeError(f"{name!r} stands for no page.", location=Location(page, name))
    unpacked = _Unpacked(here, name, use, diagram.pages[use.page])
    changes: list[Change] = [
        AddBlock(new, block, at, page=page) for new, block, at in unpacked.blocks()
    ]
    changes += [
        Connect(source, target, page=page) for target, source in _in_order(unpacked.wires())
    ]
    changes.append(RemoveBlocks((name,), page=page))
    uses = [b for p in diagram.pages.values() for b in p.blocks.values() if b is not use]
    if not any(isinstance(block, PageBlock) and block.page == use.page for block in uses):
        changes.append(RemovePage(use.page))
    return Batch(f"Ungroup {name}", tuple(changes))


class _Unpacked:
    """The blocks of ``inner`` under the names that they get on ``here``."""

    def __init__(self, here: Page, name: str, use: PageBlock, inner: Page) -> None:
        self._here, self._name, self._use, self._inner = here, name, use, inner
        self._names: dict[str, str] = {}
        taken = set(here.blocks)
        for block_name, block in inner.blocks.items():
            constant = self._constant(block_name)
            if isinstance(block, PageInput | PageOutput) and constant is None:
                continue
            kind = type(constant or block).type_name()
            free = block_name not in taken
            self._names[block_name] = block_name if free else next(fresh_names(kind, taken))
            taken.add(self._names[block_name])

    def blocks(self) -> Iterator[tuple[str, Block, Point]]:
        """New name, block and place of each; an input that took a literal becomes a Constant."""
        layout = self._inner.layout
        middle = _middle(list(layout.values()))
        at = self._here.layout.get(self._name, Point(0.0, 0.0))
        for name, new in self._names.items():
            place = layout.get(name, middle)
            block = self._constant(name) or self._inner.blocks[name]
            yield new, block, Point(at.x + place.x - middle.x, at.y + place.y - middle.y)

    def wires(self) -> Iterator[tuple[PortName, PortName]]:
        """Target and source of each wire inside, and of those that read the use."""
        for target, source in self._inner.wires.items():
            outer = self._source(source)
            if outer is not None and target.block in self._names:
                yield PortName(self._names[target.block], target.port), outer
        for target, source in self._here.wires.items():
            if source.block == self._name and target.block != self._name:
                driver = self._driver(source.port)
                if driver is not None:
                    yield target, driver

    def _constant(self, name: str) -> Block | None:
        """What stands for an unwired port of the page that takes a literal."""
        block = self._inner.blocks[name]
        if isinstance(block, PageInput):
            if PortName(self._name, name) in self._here.wires:
                return None
            literal = self._use.literals.get(name) or block.literals.get("x")
        elif isinstance(block, PageOutput) and PortName(name, "x") not in self._inner.wires:
            literal = block.literals.get("x")
        else:
            return None
        return None if literal is None else Constant.model_validate({"value": literal.tensor})

    def _driver(self, output: str) -> PortName | None:
        """What gives the value of an output of the use, on the outer page."""
        if output in self._names:
            return PortName(self._names[output], "out")
        source = self._inner.wires.get(PortName(output, "x"))
        return None if source is None else self._source(source)

    def _source(self, source: PortName) -> PortName | None:
        if source.block in self._names:
            return PortName(self._names[source.block], source.port)
        if isinstance(self._inner.blocks.get(source.block), PageOutput):
            return self._driver(source.block)
        return self._here.wires.get(PortName(self._name, source.block))


def _in_order(wires: Iterable[tuple[PortName, PortName]]) -> list[tuple[PortName, PortName]]:
    """Terms of repeating ports one after the other, as they can be wired."""

    def place(wire: tuple[PortName, PortName]) -> tuple[str, str, int]:
        port, _, term = wire[0].port.partition(".")
        return wire[0].block, port, int(term) if term.isdigit() else 0

    return sorted(wires, key=place)
