"""Groups blocks into a page used as a block, and ungroups a use into blocks.

Both are batches of plain changes: one undo each. Values and gradients stay what they were, but for
variables that an ungrouped use shared; what ``W1`` was before is ``group1/W1`` after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from blocks.errors import ChangeError, Location
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from blocks.library.sources import Constant
from blocks.terms import split_term
from runtime.diagram.edits.boxes import box_around, notes_within
from runtime.diagram.edits.changes import (
    AddBlock,
    Batch,
    BendWire,
    Change,
    Connect,
    InsertPage,
    RemoveBlocks,
    RemovePage,
    SetNote,
    SetParameters,
)
from runtime.diagram.model import Diagram, Note, Page, Point
from runtime.diagram.names import fresh_names
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from blocks.block import Block

FIRST_PORTS = ("x", "y")
"""Input and output of a new page."""
ASIDE = 240.0
"""From the blocks of a new page to its ports, px at 100 %."""


def group(
    diagram: Diagram, page: str, names: Collection[str], notes: Collection[str] = ()
) -> Batch:
    """Move blocks of a page to a new page, and replace them by a block that stands for it.

    The notes go along, and those that lie within the blocks. The first change of the batch
    inserts the page, the second adds the block, both of the same name. Raises ChangeError for no
    blocks, or for ports of the page itself.
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
    taken = notes_within(here, chosen) | {note for note in notes if note in here.notes}
    texts = {name: note for name, note in here.notes.items() if name in taken}
    places = [here.layout[name] for name in chosen if name in here.layout]
    bent = _bends_outside(here, chosen)
    changes: list[Change] = [
        InsertPage(title, replace(inner, notes=texts)),
        AddBlock(title, PageBlock(page=title), _middle(places), page=page),
    ]
    # Readers are wired anew before the blocks go, so that repeating ports keep their terms.
    for target, source in here.wires.items():
        if source in outputs and target.block not in names:
            changes += _wired(PortName(title, outputs[source]), target, bent(target), page)
    for source, (port, target) in inputs.items():
        changes += _wired(source, PortName(title, port), bent(target), page)
    changes.append(RemoveBlocks(tuple(chosen), page=page))
    changes += [SetNote(name, None, page=page) for name in texts]
    return Batch(f"Group into {title}", tuple(changes))


def new_page(diagram: Diagram, page: str, at: Point = Point(0.0, 0.0)) -> Batch:
    """Make a page that passes its input on, and put a block that stands for it on ``page``.

    Both get the same name, :func:`page_of` the batch.
    """
    title = next(fresh_names("Page", {*diagram.pages, *diagram.pages[page].blocks}))
    x, y = FIRST_PORTS
    inner = Page(
        {x: PageInput(), y: PageOutput()},
        {PortName(y, "x"): PortName(x, "out")},
        {x: Point(0.0, 0.0), y: Point(2 * ASIDE, 0.0)},
    )
    use = AddBlock(title, PageBlock(page=title), at, page=page)
    return Batch(f"Add page {title}", (InsertPage(title, inner), use))


def page_of(batch: Batch) -> str:
    """Name of the page that a batch begins with."""
    first = batch.changes[0]
    assert isinstance(first, InsertPage)
    return first.name


def copied_page(diagram: Diagram, page: str) -> InsertPage:
    """Make a copy of a page, which nothing uses yet."""
    title = next(fresh_names(page.rstrip("0123456789_ ") or page, diagram.pages))
    return InsertPage(title, diagram.pages[page])


def own_page(diagram: Diagram, page: str, name: str) -> Batch:
    """Give the use ``name`` its own copy of the page, so that other uses don't change with it.

    Raises ChangeError where ``name`` is no use of a page of the diagram.
    """
    copy = copied_page(diagram, _use(diagram, page, name).page)
    change = SetParameters(name, {"page": copy.name}, page=page)
    return Batch(f"Give {name} a page of its own", (copy, change))


def uses(diagram: Diagram, page: str) -> tuple[tuple[str, str], ...]:
    """Page and name of each block that stands for ``page``."""
    return tuple(
        (where, name)
        for where, content in diagram.pages.items()
        for name, block in content.blocks.items()
        if isinstance(block, PageBlock) and block.page == page
    )


def _use(diagram: Diagram, page: str, name: str) -> PageBlock:
    use = diagram.pages[page].blocks.get(name)
    if not isinstance(use, PageBlock) or use.page not in diagram.pages:
        raise ChangeError(f"{name!r} stands for no page.", location=Location(page, name))
    return use


def _wired(
    source: PortName, target: PortName, bends: tuple[Point, ...], page: str
) -> Iterator[Change]:
    """The changes that add a wire with its bends."""
    yield Connect(source, target, page=page)
    if bends:
        yield BendWire(target, bends, page=page)


def _bends_outside(here: Page, chosen: Collection[str]) -> Callable[[PortName], tuple[Point, ...]]:
    """What gives the bends of a wire that lie outside the box around the chosen blocks."""
    box = box_around(here, chosen)

    def outside(target: PortName) -> tuple[Point, ...]:
        return tuple(bend for bend in here.bends.get(target, ()) if not box.holds(bend))

    return outside


def _gathered(
    here: Page, chosen: list[str]
) -> tuple[Page, dict[PortName, tuple[str, PortName]], dict[PortName, str]]:
    """The new page; its inputs, each with a first reader, by the port outside that drives them;
    its outputs by that inside.
    """
    blocks: dict[str, Block] = {name: here.blocks[name] for name in chosen}
    layout = {name: here.layout[name] for name in chosen if name in here.layout}
    left = min((at.x for at in layout.values()), default=0.0) - ASIDE
    right = max((at.x for at in layout.values()), default=0.0) + ASIDE
    within = frozenset(chosen)
    wires: dict[PortName, PortName] = {}
    inputs: dict[PortName, tuple[str, PortName]] = {}
    outputs: dict[PortName, str] = {}
    for target, source in here.wires.items():
        if target.block in within and source.block in within:
            wires[target] = source
        elif target.block in within:
            if source not in inputs:
                name = _port_name(source.block, blocks)
                inputs[source] = name, target
                blocks[name] = PageInput()
                layout[name] = Point(left, _level(layout, target.block))
            wires[target] = PortName(inputs[source][0], "out")
        elif source.block in within and source not in outputs:
            outputs[source] = _port_name("out", blocks)
            blocks[outputs[source]] = PageOutput()
            layout[outputs[source]] = Point(right, _level(layout, source.block))
            wires[PortName(outputs[source], "x")] = source
    inner = {t for t, s in wires.items() if t.block in within and s.block in within}
    kept = {target: bends for target, bends in here.bends.items() if target in inner}
    return Page(blocks, wires, _apart(layout, blocks), {}, kept), inputs, outputs


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
    """Replace a use of a page by copies of the page's blocks and notes; wires follow.

    The page goes, too, where nothing else stands for it. Variables that the use shared with other
    uses come apart from theirs; uses inside an independent use stay independent. Raises ChangeError
    where ``name`` is no use of a page of the diagram.
    """
    here, use = diagram.pages[page], _use(diagram, page, name)
    unpacked = _Unpacked(here, name, use, diagram.pages[use.page])
    changes: list[Change] = [
        AddBlock(new, block, at, page=page) for new, block, at in unpacked.blocks()
    ]
    for target, source, bends in _in_order(unpacked.wires()):
        changes += _wired(source, target, bends, page)
    changes += [SetNote(new, note, page=page) for new, note in unpacked.notes()]
    changes.append(RemoveBlocks((name,), page=page))
    if uses(diagram, use.page) == ((page, name),):
        changes.append(RemovePage(use.page))
    return Batch(f"Ungroup {name}", tuple(changes))


class _Unpacked:
    """The blocks of ``inner`` under the names that they get on ``here``."""

    def __init__(self, here: Page, name: str, use: PageBlock, inner: Page) -> None:
        self._here, self._name, self._use, self._inner = here, name, use, inner
        ports = (PageInput, PageOutput)
        own = [at for n, at in inner.layout.items() if not isinstance(inner.blocks.get(n), ports)]
        self._centre = _middle(own or list(inner.layout.values()))
        at = here.layout.get(name, Point(0.0, 0.0))
        self._shift = Point(at.x - self._centre.x, at.y - self._centre.y)
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
        dx, dy = self._shift
        for name, new in self._names.items():
            place = self._inner.layout.get(name, self._centre)
            block = self._constant(name) or self._inner.blocks[name]
            if self._use.independent and isinstance(block, PageBlock):
                block = block.with_parameters(independent=True)
            yield new, block, Point(place.x + dx, place.y + dy)

    def notes(self) -> Iterator[tuple[str, Note]]:
        """New id of each note, and the note at its place."""
        dx, dy = self._shift
        taken = set(self._here.notes)
        for name, note in self._inner.notes.items():
            kind = "frame" if note.frame else "note"
            new = name if name not in taken else next(fresh_names(kind, taken))
            taken.add(new)
            yield new, replace(note, at=Point(note.at.x + dx, note.at.y + dy))

    def wires(self) -> Iterator[tuple[PortName, PortName, tuple[Point, ...]]]:
        """Target, source and bends of each wire inside, and of those that read the use."""
        for target, source in self._inner.wires.items():
            outer = self._source(source)
            if outer is not None and target.block in self._names:
                end = PortName(self._names[target.block], target.port)
                yield end, outer, self._bends_to(source) + self._bends_inside(target)
        for target, source in self._here.wires.items():
            if source.block == self._name and target.block != self._name:
                driver = self._driver(source.port)
                if driver is not None:
                    bends = self._here.bends.get(target, ())
                    yield target, driver, self._bends_to_output(source.port) + bends

    def _bends_inside(self, target: PortName) -> tuple[Point, ...]:
        """Bends of a wire of the used page, where they come to lie."""
        dx, dy = self._shift
        return tuple(Point(x + dx, y + dy) for x, y in self._inner.bends.get(target, ()))

    def _bends_to(self, source: PortName) -> tuple[Point, ...]:
        """Bends of the wires that were followed from ``source`` on to what drives it."""
        if source.block in self._names:
            return ()
        if isinstance(self._inner.blocks.get(source.block), PageOutput):
            return self._bends_to_output(source.block)
        return self._here.bends.get(PortName(self._name, source.block), ())

    def _bends_to_output(self, output: str) -> tuple[Point, ...]:
        target = PortName(output, "x")
        if output in self._names or target not in self._inner.wires:
            return ()
        return self._bends_to(self._inner.wires[target]) + self._bends_inside(target)

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


def _in_order(
    wires: Iterable[tuple[PortName, PortName, tuple[Point, ...]]],
) -> list[tuple[PortName, PortName, tuple[Point, ...]]]:
    """Terms of repeating ports one after the other, as they can be wired."""

    def place(wire: tuple[PortName, PortName, tuple[Point, ...]]) -> tuple[str, str, int]:
        port, term = split_term(wire[0].port)
        return wire[0].block, port, int(term) if term.isdigit() else 0

    return sorted(wires, key=place)
