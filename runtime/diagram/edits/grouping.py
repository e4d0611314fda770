"""Groups blocks into a page used as a block, and ungroups a use into blocks.

Each is one batch of plain changes, undone in one step. Values and gradients stay the same, except
that ungrouping a use separates variables which it shared with other uses. Grouping renames ``W1``
to ``group1/W1``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

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
    StyleBlocks,
)
from runtime.diagram.edits.routes import moved_route
from runtime.diagram.model import Diagram, Note, Page, Point, Route, Style
from runtime.diagram.names import fresh_names
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from blocks.block import Block

FIRST_PORTS = ("x", "y")
"""Names of the input and the output of a new page."""
PORT_GAP = 240.0
"""Distance between the blocks of a new page and its ports, px at 100 %."""


def group(
    diagram: Diagram, page: str, names: Collection[str], notes: Collection[str] = ()
) -> Batch:
    """Move blocks of a page to a new page, and replace them by a use of it.

    The given notes move too, as do those that lie among the blocks. The first change of the batch
    inserts the page, the second adds its use under the same name. Raises ChangeError if there are
    no blocks or one of them is a port of the page.
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
    inner, inputs, outputs = _extract(here, chosen)
    inside = notes_within(here, chosen) | {note for note in notes if note in here.notes}
    moved = {name: note for name, note in here.notes.items() if name in inside}
    places = [here.layout[name] for name in chosen if name in here.layout]
    bends = _bends_outside(here, chosen)
    changes: list[Change] = [
        InsertPage(title, replace(inner, notes=moved)),
        AddBlock(title, PageBlock(page=title), _centroid(places), page=page),
    ]
    # Rewire the readers before removing the blocks, so that repeating ports keep their terms.
    for target, source in here.wires.items():
        if source in outputs and target.block not in names:
            changes += _Wire(target, PortName(title, outputs[source]), bends(target)).changes(page)
    for source, (port, target) in inputs.items():
        changes += _Wire(PortName(title, port), source, bends(target)).changes(page)
    changes.append(RemoveBlocks(tuple(chosen), page=page))
    changes += [SetNote(name, None, page=page) for name in moved]
    return Batch(f"Group into {title}", tuple(changes))


def new_page(diagram: Diagram, page: str, at: Point = Point(0.0, 0.0)) -> Batch:
    """Insert a page that passes its input through, and add a use of it to ``page``.

    Both have the same name, which ``page_of`` returns for the batch.
    """
    title = next(fresh_names("Page", {*diagram.pages, *diagram.pages[page].blocks}))
    x, y = FIRST_PORTS
    inner = Page(
        {x: PageInput(), y: PageOutput()},
        {PortName(y, "x"): PortName(x, "out")},
        {x: Point(0.0, 0.0), y: Point(2 * PORT_GAP, 0.0)},
    )
    use = AddBlock(title, PageBlock(page=title), at, page=page)
    return Batch(f"Add page {title}", (InsertPage(title, inner), use))


def page_of(batch: Batch) -> str:
    """Name of the page that the first change of a batch inserts."""
    first = batch.changes[0]
    assert isinstance(first, InsertPage)
    return first.name


def copied_page(diagram: Diagram, page: str) -> InsertPage:
    """Insert a copy of a page, under a fresh name; nothing uses it yet."""
    title = next(fresh_names(page.rstrip("0123456789_ ") or page, diagram.pages))
    return InsertPage(title, diagram.pages[page])


def own_page(diagram: Diagram, page: str, name: str) -> Batch:
    """Give the use ``name`` its own copy of the page, so that edits don't affect other uses.

    Raises ChangeError unless ``name`` is a use of an existing page.
    """
    copy = copied_page(diagram, _use(diagram, page, name).page)
    change = SetParameters(name, {"page": copy.name}, page=page)
    return Batch(f"Give {name} a page of its own", (copy, change))


def uses(diagram: Diagram, page: str) -> tuple[tuple[str, str], ...]:
    """Page and name of each use of ``page``."""
    return tuple(
        (where, name)
        for where, content in diagram.pages.items()
        for name, block in content.blocks.items()
        if isinstance(block, PageBlock) and block.page == page
    )


def _use(diagram: Diagram, page: str, name: str) -> PageBlock:
    use = diagram.pages[page].blocks.get(name)
    if not isinstance(use, PageBlock) or use.page not in diagram.pages:
        raise ChangeError(f"{name!r} is not a use of a page.", location=Location(page, name))
    return use


class _Wire(NamedTuple):
    """A new wire with its bends, or its route."""

    target: PortName
    source: PortName
    bends: tuple[Point, ...]
    route: Route = ()

    def changes(self, page: str) -> Iterator[Change]:
        """The changes that add it."""
        yield Connect(self.source, self.target, page=page)
        if self.bends or self.route:
            yield BendWire(self.target, self.bends, page, self.route)


def _bends_outside(here: Page, chosen: Collection[str]) -> Callable[[PortName], tuple[Point, ...]]:
    """A function that returns those bends of a wire that lie outside the chosen blocks' box."""
    box = box_around(here, chosen)

    def outside(target: PortName) -> tuple[Point, ...]:
        return tuple(bend for bend in here.bends.get(target, ()) if not box.contains(bend))

    return outside


def _extract(
    here: Page, chosen: list[str]
) -> tuple[Page, dict[PortName, tuple[str, PortName]], dict[PortName, str]]:
    """The new page; its inputs, each with its first reader, by the outer port that drives them;
    its outputs by the inner port that drives them.
    """
    blocks: dict[str, Block] = {name: here.blocks[name] for name in chosen}
    layout = {name: here.layout[name] for name in chosen if name in here.layout}
    left = min((at.x for at in layout.values()), default=0.0) - PORT_GAP
    right = max((at.x for at in layout.values()), default=0.0) + PORT_GAP
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
    routes = {target: route for target, route in here.routes.items() if target in inner}
    styles = {name: here.styles[name] for name in chosen if name in here.styles}
    page = Page(blocks, wires, _spread_ports(layout, blocks), {}, kept, routes, styles)
    return page, inputs, outputs


def _port_name(preferred: str, taken: Mapping[str, Block]) -> str:
    return preferred if preferred not in taken else next(fresh_names(preferred, taken))


def _level(layout: Mapping[str, Point], block: str) -> float:
    return layout[block].y if block in layout else 0.0


def _spread_ports(layout: Mapping[str, Point], blocks: Mapping[str, Block]) -> dict[str, Point]:
    """The layout with overlapping ports of the page moved below one another."""
    placed: dict[str, Point] = {}
    for name, at in layout.items():
        if isinstance(blocks[name], PageInput | PageOutput):
            while any(abs(at.y - o.y) < 80.0 and at.x == o.x for o in placed.values()):
                at = Point(at.x, at.y + 80.0)
        placed[name] = at
    return placed


def _centroid(places: Collection[Point]) -> Point:
    count = max(len(places), 1)
    x, y = sum(at.x for at in places) / count, sum(at.y for at in places) / count
    return Point(float(round(x)), float(round(y)))


def ungroup(diagram: Diagram, page: str, name: str) -> Batch:
    """Replace a use of a page by copies of the page's blocks and notes, and rewire them.

    If this was the only use, the page is removed as well. Variables that the use shared with other
    uses become separate; uses inside an independent use become independent. Raises ChangeError
    unless ``name`` is a use of an existing page.
    """
    here, use = diagram.pages[page], _use(diagram, page, name)
    unpacked = _Unpacked(here, name, use, diagram.pages[use.page])
    changes: list[Change] = [
        AddBlock(new, block, at, page=page) for new, block, at in unpacked.blocks()
    ]
    changes.append(StyleBlocks(unpacked.styles(), page))
    for wire in _in_order(unpacked.wires()):
        changes += wire.changes(page)
    changes += [SetNote(new, note, page=page) for new, note in unpacked.notes()]
    changes.append(RemoveBlocks((name,), page=page))
    if uses(diagram, use.page) == ((page, name),):
        changes.append(RemovePage(use.page))
    return Batch(f"Ungroup {name}", tuple(changes))


class _Unpacked:
    """The content of the page ``inner`` as it will appear on ``here`` in place of the use."""

    def __init__(self, here: Page, name: str, use: PageBlock, inner: Page) -> None:
        self._here, self._name, self._use, self._inner = here, name, use, inner
        ports = (PageInput, PageOutput)
        own = [at for n, at in inner.layout.items() if not isinstance(inner.blocks.get(n), ports)]
        self._centre = _centroid(own or list(inner.layout.values()))
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
        """New name, block and position of each; a page port with a literal becomes a Constant."""
        dx, dy = self._shift
        for name, new in self._names.items():
            place = self._inner.layout.get(name, self._centre)
            block = self._constant(name) or self._inner.blocks[name]
            if self._use.independent and isinstance(block, PageBlock):
                block = block.with_parameters(independent=True)
            yield new, block, Point(place.x + dx, place.y + dy)

    def styles(self) -> dict[str, Style]:
        """The styles of blocks, by new name."""
        return {
            self._names[name]: style
            for name, style in self._inner.styles.items()
            if name in self._names
        }

    def notes(self) -> Iterator[tuple[str, Note]]:
        """New id of each note, and the note at its new position."""
        dx, dy = self._shift
        taken = set(self._here.notes)
        for name, note in self._inner.notes.items():
            kind = "frame" if note.frame else "note"
            new = name if name not in taken else next(fresh_names(kind, taken))
            taken.add(new)
            yield new, replace(note, at=Point(note.at.x + dx, note.at.y + dy))

    def wires(self) -> Iterator[_Wire]:
        """The inner wires, and the outer wires that read the use."""
        for target, source in self._inner.wires.items():
            outer = self._source(source)
            if outer is not None and target.block in self._names:
                end = PortName(self._names[target.block], target.port)
                bends = self._bends_to(source) + self._bends_inside(target)
                yield _Wire(end, outer, bends, self._route_inside(target))
        for target, source in self._here.wires.items():
            if source.block == self._name and target.block != self._name:
                driver = self._driver(source.port)
                if driver is not None:
                    bends = self._here.bends.get(target, ())
                    yield _Wire(target, driver, self._bends_to_output(source.port) + bends)

    def _route_inside(self, target: PortName) -> Route:
        """The route of an inner wire at its new position; empty if an end of it has none."""
        ends = {target.block, self._inner.wires[target].block}
        placed = ends <= self._inner.layout.keys() & self._names.keys()
        return moved_route(self._inner.routes.get(target, ()), self._shift) if placed else ()

    def _bends_inside(self, target: PortName) -> tuple[Point, ...]:
        """Bends of an inner wire at their new positions."""
        dx, dy = self._shift
        return tuple(Point(x + dx, y + dy) for x, y in self._inner.bends.get(target, ()))

    def _bends_to(self, source: PortName) -> tuple[Point, ...]:
        """Bends of the wires between ``source``, a port of the page, and the output behind it."""
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
        """The Constant that replaces an unwired page port with a literal; else None."""
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
        """The outer port that will provide the value of an output of the use."""
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


def _in_order(wires: Iterable[_Wire]) -> list[_Wire]:
    """Wires sorted so that the terms of each repeating port are connected in order."""

    def place(wire: _Wire) -> tuple[str, str, int]:
        port, term = split_term(wire.target.port)
        return wire.target.block, port, int(term) if term.isdigit() else 0

    return sorted(wires, key=place)
