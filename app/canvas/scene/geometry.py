"""Where everything of a page lies: numpy arrays built from the diagram, culling, moving.

Scene units are px at 100 %, y downwards. A block's place in the layout is its top left corner.
Blocks, ports and wires are numbered from 0 in the order of the page; the arrays say the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.canvas.scene.bezier import controls
from blocks.block import Block, Opaque, Source
from blocks.library.pages import Page as PageBlock
from runtime.diagram.layout.measures import HEADER, ROW, WIDTH, block_height
from runtime.diagram.model import Diagram, Note, Page, Point
from runtime.diagram.model import ports as ports_of
from runtime.diagram.paths import PortName

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Indices: TypeAlias = NDArray[np.intp]

PORT_RADIUS = 4.0
REACH = 12.0
"""How far a block's ports and badges stick out of its bounds."""
LANES = 42.0
"""How far a wire's lanes, four at most, and what stands beside them are from its curve."""

NONE: Indices = np.zeros(0, np.intp)
NOWHERE: Floats = np.zeros((0, 2))
_EMPTY_PAGE = Page()


class Bend(NamedTuple):
    """A point that a wire is led through: the wire's key, and the bend's number from its source."""

    wire: str
    number: int


class Slots:
    """Names of a block's ports, and the number of each on its block, inputs first."""

    def __init__(
        self, inputs: tuple[str, ...], outputs: tuple[str, ...], free: tuple[str, ...] = ()
    ) -> None:
        self.inputs = inputs
        """Those in use, then the free one of a repeating port."""
        self.outputs = outputs
        self.free = frozenset(free)
        self.input_at = {name: i for i, name in enumerate(inputs)}
        self.output_at = {name: i + len(inputs) for i, name in enumerate(outputs)}


class Scene:
    """One page of a diagram as arrays. ``update`` follows the diagram, ``place`` a drag."""

    def __init__(self, diagram: Diagram, page: str) -> None:
        self.diagram = diagram
        self.page_name = page
        self.page = diagram.pages.get(page, _EMPTY_PAGE)
        self._read_blocks()
        self.rows: Ints = self.least_rows
        """Lines of numbers on each face (n,)."""
        self._read_layout()

    def update(self, diagram: Diagram) -> bool:
        """Follow an edit of the same page; True when only places and notes changed."""
        page = diagram.pages.get(self.page_name, _EMPTY_PAGE)
        rebuilt = not (page.blocks is self.page.blocks and page.wires is self.page.wires)
        if not rebuilt and diagram.pages is not self.diagram.pages:
            rebuilt = any(isinstance(block, PageBlock) for block in self.blocks)
        placed = page.layout is self.page.layout and page.bends is self.page.bends
        moved = rebuilt or not placed
        known = dict(zip(self.names, self.rows.tolist(), strict=True)) if rebuilt else {}
        self.diagram, self.page = diagram, page
        if rebuilt:
            self._read_blocks()
            rows = map(known.get, self.names, self.least_rows.tolist())
            self.rows = np.fromiter(rows, np.int32, len(self.names))
        if moved:
            self._read_layout()
        return not rebuilt

    def set_rows(self, rows: Ints) -> bool:
        """Make room for ``rows`` (n,) lines of numbers; True when a height changed."""
        if np.array_equal(rows, self.rows):
            return False
        self.rows = rows
        self._measure()
        return True

    def place(
        self, blocks: Indices, corners: Floats, bends: Indices = NONE, points: Floats = NOWHERE
    ) -> None:
        """Put ``blocks`` (k,) at ``corners`` (k, 2) and ``bends`` (b,) at ``points`` (b, 2), and
        their wires after them.
        """
        self.rects[blocks, :2] = corners
        self.bends[bends] = points
        moved = np.zeros(len(self.names), bool)
        moved[blocks] = True
        ports = np.flatnonzero(moved[self.port_block])
        self._ports[ports] = self.rects[self.port_block[ports], :2] + self._port_offset[ports]
        touched = np.flatnonzero(moved[self.wire_blocks].any(axis=1))
        self._follow(np.union1d(touched, self.bend_wire[bends]))

    def blocks_in(self, area: Floats) -> Indices:
        """Blocks that touch ``area`` (left, top, right, bottom), ports included."""
        x, y, w, h = self.rects.T
        left, top, right, bottom = area
        return np.flatnonzero(
            (x < right + REACH) & (x + w > left - REACH)
            & (y < bottom + REACH) & (y + h > top - REACH)
        )  # fmt: skip

    def wires_in(self, area: Floats) -> Indices:
        """Wires whose curve may touch ``area`` (left, top, right, bottom); none is missed."""
        left, top, right, bottom = area
        x0, y0, x1, y1 = self.wire_bounds.T
        return np.flatnonzero((x0 < right) & (x1 > left) & (y0 < bottom) & (y1 > top))

    def wires_of(self, blocks: Indices) -> Indices:
        """Wires that begin or end at one of ``blocks``."""
        chosen = np.zeros(len(self.names), bool)
        chosen[blocks] = True
        return np.flatnonzero(chosen[self.wire_blocks].any(axis=1))

    def courses(self, wires: Indices) -> Iterator[tuple[Indices, Floats]]:
        """``wires`` in groups of as many bends, each with the courses (m, 2 p) of its wires."""
        if not len(self.bends):
            yield wires, self.wire_ends[wires]
            return
        counts = self.bend_counts[wires]
        for bends in np.unique(counts).tolist():
            alike = wires[counts == bends]
            between = self.bends[self._first_bend[alike, None] + np.arange(bends)]
            ends = self.wire_ends[alike]
            middle = between.reshape(len(alike), -1)
            yield alike, np.concatenate([ends[:, :2], middle, ends[:, 2:]], axis=1)

    def course(self, key: str) -> Floats:
        """The course (1, 2 p) of one wire."""
        return next(self.courses(np.array([self.wire_index[key]])))[1]

    def bend(self, bend: Bend) -> int | None:
        """Number of a bend among all of the page; None where there is none."""
        wire = self.wire_index.get(bend.wire)
        if wire is None or not 0 <= bend.number < self.bend_counts[wire]:
            return None
        return int(self._first_bend[wire]) + bend.number

    def bend_name(self, bend: int) -> Bend:
        """Wire and place on it of the bend of that number."""
        wire = int(self.bend_wire[bend])
        return Bend(self.wire_keys[wire], bend - int(self._first_bend[wire]))

    def bounds(self, blocks: Indices | None = None) -> Floats | None:
        """Left, top, right, bottom of ``blocks``, or of all that lies there; None of nothing."""
        rects = self.rects if blocks is None else self.rects[blocks]
        if blocks is None:
            bends = np.concatenate([self.bends, np.zeros_like(self.bends)], axis=1)
            rects = np.concatenate([rects, self.note_rects(), bends])
        return _around(rects)

    def bounds_of(self, blocks: Collection[str], notes: Collection[str] = ()) -> Floats | None:
        """Left, top, right, bottom of blocks and notes by name; None of nothing."""
        chosen = np.array([self.index[name] for name in blocks if name in self.index], np.intp)
        texts = [_note_rect(note) for name, note in self.page.notes.items() if name in notes]
        return _around(np.concatenate([self.rects[chosen], np.array(texts).reshape(-1, 4)]))

    def note_rects(self) -> Floats:
        """Left, top, width, height of each note (k, 4)."""
        return np.array([_note_rect(note) for note in self.page.notes.values()]).reshape(-1, 4)

    def note_is_frame(self) -> NDArray[np.bool_]:
        """Which of the notes are frames (k,)."""
        return np.array([note.frame for note in self.page.notes.values()], bool)

    def port(self, block: str, port: str, *, is_input: bool | None = None) -> int | None:
        """Number of the port of that name; an input before an output of the same name."""
        number = self.index.get(block)
        if number is None:
            return None
        slots = self.slots[number]
        local = None if is_input is False else slots.input_at.get(port)
        if local is None and is_input is not True:
            local = slots.output_at.get(port)
        return None if local is None else int(self.first_port[number]) + local

    def port_name(self, port: int) -> PortName:
        """``block.port`` of the port of that number."""
        number = int(self.port_block[port])
        slots = self.slots[number]
        local = port - int(self.first_port[number])
        names = (*slots.inputs, *slots.outputs)
        return PortName(self.names[number], names[local])

    def port_points(self, ports: Indices | None = None) -> Floats:
        """Centres of ``ports`` (or of all) (k, 2)."""
        return self._ports if ports is None else self._ports[ports]

    def _read_blocks(self) -> None:
        page = self.page
        self.names: list[str] = list(page.blocks)
        self.blocks: list[Block] = list(page.blocks.values())
        self.index: dict[str, int] = {name: i for i, name in enumerate(self.names)}
        self.slots = _slots(self.diagram, self.page_name, page)
        self.least_rows: Ints = _least_rows(self.blocks)
        """Lines of numbers before anything is known: a variable has a gradient, too (n,)."""
        try:
            keys, ends = self._resolve()
        except KeyError:
            _add_named_ports(page, self.index, self.slots)
            keys, ends = self._resolve()
        self._number_ports()
        self.wire_keys: list[str] = keys
        self.wire_index: dict[str, int] = {key: i for i, key in enumerate(keys)}
        self.wire_blocks: Ints = ends[:, :2]
        """Source and target block of each wire (m, 2)."""
        self.wire_ports: Ints = self.first_port[self.wire_blocks] + ends[:, 2:]
        """Source and target port of each wire (m, 2)."""

    def _resolve(self) -> tuple[list[str], Ints]:
        """Keys of the wires (m,), and source block, target block and their ports' numbers (m, 4).

        Ports are numbered on their block. A wire at a block that is not on the page is left out.
        Raises KeyError for an unknown port.
        """
        index, slots = self.index, self.slots
        keys: list[str] = []
        ends: list[int] = []
        for (block, port), (origin, out) in self.page.wires.items():
            a, b = index.get(origin), index.get(block)
            if a is not None and b is not None:
                keys.append(f"{block}.{port}")
                ends += (a, b, slots[a].output_at[out], slots[b].input_at[port])
        return keys, np.fromiter(ends, np.int32, len(ends)).reshape(-1, 4)

    def _number_ports(self) -> None:
        inputs = np.array([len(slots.inputs) for slots in self.slots], np.int32)
        outputs = np.array([len(slots.outputs) for slots in self.slots], np.int32)
        ports = inputs + outputs
        self.port_rows: Ints = np.maximum(inputs, outputs)
        self.first_port: Ints = (np.cumsum(ports) - ports).astype(np.int32)
        self.port_block: Ints = np.repeat(np.arange(len(ports), dtype=np.int32), ports)
        local = np.arange(len(self.port_block)) - self.first_port[self.port_block]
        self.port_is_input: NDArray[np.bool_] = local < inputs[self.port_block]
        row = np.where(self.port_is_input, local, local - inputs[self.port_block])
        self._port_offset: Floats = np.column_stack(
            [np.where(self.port_is_input, 0.0, WIDTH), HEADER + ROW * (row + 0.5)]
        )

    def _read_layout(self) -> None:
        layout = self.page.layout
        corners = _corners([layout.get(name) for name in self.names])
        self.rects: Floats = np.empty((len(corners), 4))
        """Left, top, width, height of each block (n, 4)."""
        flat = np.fromiter(chain.from_iterable(corners), float, 2 * len(corners))
        self.rects[:, :2] = flat.reshape(-1, 2)
        self.rects[:, 2] = WIDTH
        self.wire_ends: Floats = np.empty((len(self.wire_keys), 4))
        """Where each wire begins and ends: x0, y0, x1, y1 (m, 4)."""
        self.wire_bounds: Floats = np.empty((len(self.wire_keys), 4))
        """Left, top, right, bottom of each wire with its lane (m, 4)."""
        self._read_bends()
        self._measure()

    def _read_bends(self) -> None:
        given = [(self.wire_index.get(str(target)), b) for target, b in self.page.bends.items()]
        known = sorted((wire, bends) for wire, bends in given if wire is not None)
        self.bend_counts: Ints = np.zeros(len(self.wire_keys), np.int32)
        """How many bends each wire has (m,)."""
        self.bend_counts[[wire for wire, _ in known]] = [len(bends) for _, bends in known]
        self._first_bend: Ints = np.cumsum(self.bend_counts, dtype=np.int32) - self.bend_counts
        self.bend_wire: Indices = np.repeat(np.arange(len(self.wire_keys)), self.bend_counts)
        """The wire of each bend (b,)."""
        points = [bend for _, bends in known for bend in bends]
        self.bends: Floats = np.array(points, np.float64).reshape(-1, 2)
        """Where each bend lies, wire by wire (b, 2)."""

    def _measure(self) -> None:
        lines = np.maximum(self.port_rows, self.rows)
        self.rects[:, 3] = block_height(0) + ROW * lines
        self._ports: Floats = self.rects[self.port_block, :2] + self._port_offset
        self._follow(np.arange(len(self.wire_keys)))

    def _follow(self, wires: Indices) -> None:
        ends = self._ports[self.wire_ports[wires]].reshape(-1, 4)
        self.wire_ends[wires] = ends
        for alike, courses in self.courses(wires):
            hull = controls(courses)
            self.wire_bounds[alike, :2] = hull.min(axis=1) - LANES
            self.wire_bounds[alike, 2:] = hull.max(axis=1) + LANES


def _least_rows(blocks: list[Block]) -> Ints:
    return np.fromiter(
        (2 if isinstance(block, Source) and block.wants_gradient else 1 for block in blocks),
        np.int32,
        len(blocks),
    )


def _slots(diagram: Diagram, name: str, page: Page) -> list[Slots]:
    """Slots of every block of the page."""
    by_type: dict[type[Block], Slots | None] = {}
    found: list[Slots] = []
    for block_name, block in page.blocks.items():
        kind = type(block)
        if kind not in by_type:
            by_type[kind] = _fixed_slots(kind)
        slots = by_type[kind]
        if slots is None:
            ports = ports_of(diagram, name, block_name)
            slots = Slots((*ports.inputs, *ports.free), ports.outputs, ports.free)
        found.append(slots)
    return found


def _fixed_slots(kind: type[Block]) -> Slots | None:
    """The slots of a type whose blocks all have the same; None where they differ."""
    if issubclass(kind, PageBlock | Opaque) or any(port.variadic for port in kind.inputs):
        return None
    return Slots(tuple(port.name for port in kind.inputs), kind.outputs)


def _add_named_ports(page: Page, index: Mapping[str, int], slots: list[Slots]) -> None:
    """Give each block the ports that wires name and it lacks, so that every wire has its ends."""
    for target, source in page.wires.items():
        i = index.get(target.block)
        if i is not None and target.port not in slots[i].input_at:
            old = slots[i]
            slots[i] = Slots((*old.inputs, target.port), old.outputs, tuple(old.free))
        i = index.get(source.block)
        if i is not None and source.port not in slots[i].output_at:
            old = slots[i]
            slots[i] = Slots(old.inputs, (*old.outputs, source.port), tuple(old.free))


def _corners(known: list[Point | None]) -> list[Point]:
    """Places for all: those without one in rows of eight under the rest."""
    placed = [corner for corner in known if corner is not None]
    if len(placed) == len(known):
        return placed
    top = max((corner.y for corner in placed), default=-200.0) + 200.0
    left = min((corner.x for corner in placed), default=0.0)
    rows = (Point(left + 240.0 * (i % 8), top + 120.0 * (i // 8)) for i in count())
    return [next(rows) if corner is None else corner for corner in known]


def _around(rects: Floats) -> Floats | None:
    if not len(rects):
        return None
    return np.concatenate([rects[:, :2].min(0), (rects[:, :2] + rects[:, 2:]).max(0)])


def _note_rect(note: Note) -> tuple[float, float, float, float]:
    return (note.at.x, note.at.y, note.width, note.height)


def overlapping(rects: Floats, area: Floats) -> Indices:
    """Which of ``rects`` (n, 4: left, top, width, height) touch ``area`` (its four sides)."""
    x, y, w, h = rects.T
    left, top, right, bottom = area
    return np.flatnonzero((x < right) & (x + w > left) & (y < bottom) & (y + h > top))
