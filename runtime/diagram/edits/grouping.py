"""Groups blocks into a page used as a block.

That is one batch of plain changes, undone in one step. Values and gradients stay the same;
grouping renames ``W1`` to ``group1/W1``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.names import FreshNames, fresh_names
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Batch,
    BendWire,
    Change,
    Connect,
    InsertPage,
    RemoveBlocks,
    SetNote,
    SetParameters,
)
from gradwire.runtime.diagram.layout.measures import HEADER, WIDTH, block_height, view_size
from gradwire.runtime.diagram.model import PLAIN, Diagram, Note, Page, Point, Route
from gradwire.runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block


# The bounding box of blocks, and the notes inside it.


class Box(NamedTuple):
    """A rectangle on a page, in scene units."""

    left: float
    top: float
    right: float
    bottom: float

    def contains(self, point: Point) -> bool:
        """Whether a point is inside or on the border."""
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom

    def encloses(self, other: Box) -> bool:
        """Whether another box is entirely inside."""
        return self.contains(Point(*other[:2])) and self.contains(Point(*other[2:]))


def box_around(page: Page, blocks: Collection[str]) -> Box:
    """The smallest box around those of the blocks that have a position."""
    boxes = [_block_box(page, name) for name in blocks if name in page.layout]
    low = [min((box[side] for box in boxes), default=0.0) for side in (0, 1)]
    high = [max((box[side] for box in boxes), default=0.0) for side in (2, 3)]
    return Box(*low, *high)


def notes_within(page: Page, blocks: Collection[str]) -> frozenset[str]:
    """Names of the notes and frames that belong to these blocks.

    These are the frames that contain some of the blocks and no other block, and everything that
    lies entirely in the box around the blocks or in one of those frames.
    """
    frames = {
        name: _note_box(note)
        for name, note in page.notes.items()
        if note.frame and (framed := _blocks_in(page, note)) and framed <= frozenset(blocks)
    }
    areas = [box_around(page, blocks), *frames.values()]
    inside = {
        name
        for name, note in page.notes.items()
        if any(area.encloses(_note_box(note)) for area in areas)
    }
    return frozenset(inside | frames.keys())


def _blocks_in(page: Page, frame: Note) -> frozenset[str]:
    """The blocks that lie entirely inside a frame."""
    area = _note_box(frame)
    return frozenset(name for name in page.layout if area.encloses(_block_box(page, name)))


def _block_box(page: Page, name: str) -> Box:
    left, top = page.layout[name]
    block, style = page.blocks.get(name), page.styles.get(name, PLAIN)
    lines = 1 if block is None else max(1, len(block.input_ports()))
    size = None if block is None else view_size(block, style, lines)
    width, height = size or (WIDTH, HEADER if style.collapsed else block_height(lines))
    return Box(left, top, left + width, top + height)


def _note_box(note: Note) -> Box:
    return Box(*note.at, note.at.x + note.width, note.at.y + note.height)


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
        AddBlock(title, PageBlock(page=title), centroid(places), page=page),
    ]
    # Rewire the readers before removing the blocks, so that repeating ports keep their terms.
    for target, source in here.wires.items():
        if source in outputs and target.block not in names:
            output = PortName(title, outputs[source])
            changes += NewWire(target, output, bends(target)).changes(page)
    for source, (port, target) in inputs.items():
        changes += NewWire(PortName(title, port), source, bends(target)).changes(page)
    changes.append(RemoveBlocks(tuple(chosen), page=page))
    changes += [SetNote(name, None, page=page) for name in moved]
    return Batch(f"Group into {title}", tuple(changes))


def new_page(
    diagram: Diagram, page: str, at: Point = Point(0.0, 0.0), kind: type[PageBlock] = PageBlock
) -> Batch:
    """Insert a page that passes its input through, and add a use of it to ``page``.

    Both have the same name, which ``page_of`` returns for the batch. The page of a Scan adds the
    elements up, with the sum carried from step to step.
    """
    title = next(fresh_names(kind.type_name(), {*diagram.pages, *diagram.pages[page].blocks}))
    x, y = FIRST_PORTS
    inner = Page(
        {x: PageInput(), y: PageOutput()},
        {PortName(y, "x"): PortName(x, "out")},
        {x: Point(0.0, 0.0), y: Point(2 * PORT_GAP, 0.0)},
    )
    made = PageBlock(page=title)
    if issubclass(kind, Scan):
        inner = _running_sum()
        made = kind(page=title, steps=3, over=(x,), carry={"h": "h_n"}, literals={"h": 0.0})
    use = AddBlock(title, made, at, page=page)
    return Batch(f"Add page {title}", (InsertPage(title, inner), use))


def _running_sum() -> Page:
    """The page of a new Scan: ``y = h_n = h + x``."""
    x, y = FIRST_PORTS
    return Page(
        {x: PageInput(), "h": PageInput(), "sum": Add(), y: PageOutput(), "h_n": PageOutput()},
        {
            PortName("sum", "a"): PortName("h", "out"),
            PortName("sum", "b"): PortName(x, "out"),
            PortName(y, "x"): PortName("sum", "out"),
            PortName("h_n", "x"): PortName("sum", "out"),
        },
        {
            x: Point(0.0, 0.0),
            "h": Point(0.0, PORT_GAP),
            "sum": Point(1.5 * PORT_GAP, 0.0),
            y: Point(3 * PORT_GAP, 0.0),
            "h_n": Point(3 * PORT_GAP, PORT_GAP),
        },
    )


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
    copy = copied_page(diagram, use_of(diagram, page, name).page)
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


def use_of(diagram: Diagram, page: str, name: str) -> PageBlock:
    """The block ``name`` of a page, a use of an existing page; raises ChangeError for another."""
    use = diagram.pages[page].blocks.get(name)
    if not isinstance(use, PageBlock) or use.page not in diagram.pages:
        raise ChangeError(f"{name!r} is not a use of a page.", location=Location(page, name))
    return use


class NewWire(NamedTuple):
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
    fresh = FreshNames(blocks)
    for target, source in here.wires.items():
        if target.block in within and source.block in within:
            wires[target] = source
        elif target.block in within:
            if source not in inputs:
                name = fresh.like(source.block, source.block)
                inputs[source] = name, target
                blocks[name] = PageInput()
                layout[name] = Point(left, _level(layout, target.block))
            wires[target] = PortName(inputs[source][0], "out")
        elif source.block in within and source not in outputs:
            outputs[source] = fresh.like("out", "out")
            blocks[outputs[source]] = PageOutput()
            layout[outputs[source]] = Point(right, _level(layout, source.block))
            wires[PortName(outputs[source], "x")] = source
    inner = {t for t, s in wires.items() if t.block in within and s.block in within}
    kept = {target: bends for target, bends in here.bends.items() if target in inner}
    routes = {target: route for target, route in here.routes.items() if target in inner}
    styles = {name: here.styles[name] for name in chosen if name in here.styles}
    page = Page(blocks, wires, _spread_ports(layout, blocks), {}, kept, routes, styles)
    return page, inputs, outputs


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


def centroid(places: Collection[Point]) -> Point:
    """The middle of some places, in whole px; the origin without any."""
    count = max(len(places), 1)
    x, y = sum(at.x for at in places) / count, sum(at.y for at in places) / count
    return Point(float(round(x)), float(round(y)))
