"""A page as a graph: its blocks as numbers with heights, its wires as lines from port to port."""

from __future__ import annotations

from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram.layout.measures import (
    HEADER,
    LANE_PITCH,
    VALUE_LINES,
    WIDTH,
    block_height,
    collapsed_offset,
    port_offset,
    view_size,
)
from gradwire.runtime.diagram.model import PLAIN, ports

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gradwire.runtime.diagram.model import DiagramView, Size
    from gradwire.runtime.diagram.paths import PortName


@dataclass(frozen=True, slots=True)
class ShownSizes:
    """What the canvas shows on a page: numbers of text lines on faces by block, where known, and of
    lanes beside wires by target, where there are several.
    """

    face_lines: Mapping[str, int] = field(default_factory=dict)
    lanes: Mapping[PortName, int] = field(default_factory=dict)


NOTHING_SHOWN = ShownSizes()


class LayoutLine(NamedTuple):
    """A line from ``tail`` to ``head``; ``leaves`` and ``enters`` are the distances in px, below
    the tops of these nodes, at which it does so.
    """

    tail: int
    head: int
    leaves: float = 0.0
    enters: float = 0.0


class LayoutNode(NamedTuple):
    """What a layout places: a block, a frame with what is in it, or a note; sizes in px.

    A frame's wires to and from outside pass its border in nodes without a size: they are ``first``
    or ``last`` of the nodes inside it. ``lanes`` are how many run beside the wires of an output, by
    its distance from the top, if there are several.
    """

    width: float
    height: float
    first: bool = False
    last: bool = False
    lanes: Mapping[float, int] = MappingProxyType({})

    def lanes_room(self, leaves: float) -> float:
        """How much more room than others the wires of an output need beside them, px."""
        return LANE_PITCH * (self.lanes.get(leaves, 1) - 1)


class GraphPart(NamedTuple):
    """A connected component of a graph: numbers of its nodes and of its lines."""

    nodes: list[int]
    lines: list[int]


@dataclass(frozen=True)
class LayoutGraph:
    """Blocks by name as nodes, and lines with the targets of their wires."""

    names: list[str]
    nodes: list[LayoutNode]
    lines: list[LayoutLine]
    targets: list[PortName]

    @classmethod
    def of(
        cls,
        diagram: DiagramView,
        page: str,
        names: Collection[str] = (),
        shown: ShownSizes = NOTHING_SHOWN,
    ) -> LayoutGraph:
        """The graph of the blocks called ``names``, or all if it is empty, and of wires between
        them.

        Ports are where the canvas shows them.
        """
        content = diagram.pages[page]
        chosen = [name for name in content.blocks if not names or name in names]
        number = {name: i for i, name in enumerate(chosen)}
        faces = _Faces(diagram, page, shown)
        rows = [faces.rows(name) for name in chosen]
        lines: list[LayoutLine] = []
        targets: list[PortName] = []
        lanes: list[dict[float, int]] = [{} for _ in chosen]
        for target, source in content.wires.items():
            head, tail = number.get(target.block), number.get(source.block)
            if head is None or tail is None or head == tail:
                continue
            if source.port not in rows[tail].leaves:
                rows[tail] = faces.own_rows(source.block)
            if target.port not in rows[head].enters:
                rows[head] = faces.own_rows(target.block)
            leaves, enters = rows[tail].leaves[source.port], rows[head].enters[target.port]
            line = LayoutLine(tail, head, leaves, enters)
            lines.append(line)
            targets.append(target)
            known = lanes[tail].get(line.leaves, 1)
            lanes[tail][line.leaves] = max(known, shown.lanes.get(target, 1))
        nodes = [
            LayoutNode(row.width, row.height, lanes=several)
            for row, several in zip(rows, lanes, strict=True)
        ]
        return cls(chosen, nodes, lines, targets)


def parts_of(count: int, lines: Sequence[LayoutLine]) -> list[GraphPart]:
    """The connected components of the nodes 0 … ``count`` - 1, in the order of their first."""
    leader = list(range(count))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    for line in lines:
        first, second = sorted((find(line.tail), find(line.head)))
        leader[second] = first
    grouped: dict[int, GraphPart] = {}
    for node in range(count):
        grouped.setdefault(find(node), GraphPart([], [])).nodes.append(node)
    for i, line in enumerate(lines):
        grouped[find(line.tail)].lines.append(i)
    return list(grouped.values())


@dataclass(frozen=True, slots=True)
class BlockFace:
    """A block as the canvas shows it; heights and distances in px."""

    inputs: list[str]
    outputs: list[str]
    is_collapsed: bool
    lines: int = VALUE_LINES
    size: Size | None = None
    """The size of a view."""

    @classmethod
    def of(cls, diagram: DiagramView, page: str, name: str, lines: int = VALUE_LINES) -> BlockFace:
        """The face of a block that shows so many lines of text unless it is collapsed."""
        content, (inputs, outputs) = diagram.pages[page], port_sides(diagram, page, name)
        if isinstance(content.blocks[name], Formula):  # its expression is below its ports
            lines = max(lines, len(inputs) + 1, len(outputs) + 1)
        style = content.styles.get(name, PLAIN)
        size = view_size(content.blocks[name], style, len(inputs))
        return cls(inputs, outputs, style.collapsed, lines, size)

    @property
    def width(self) -> float:
        """The width of the block."""
        return WIDTH if self.size is None else self.size.width

    @property
    def height(self) -> float:
        """The height of the block."""
        if self.is_collapsed:
            return HEADER
        if self.size is not None:
            return self.size.height
        return block_height(max(len(self.inputs), len(self.outputs), self.lines, VALUE_LINES))

    def enters(self, port: str) -> float:
        """From the top of the block down to an input."""
        return self.offsets(self.inputs)[port]

    def leaves(self, port: str) -> float:
        """From the top of the block down to an output."""
        return self.offsets(self.outputs)[port]

    def offsets(self, side: Sequence[str]) -> dict[str, float]:
        """From the top of the block down to each port of a side."""
        if self.is_collapsed:
            return {port: collapsed_offset(row, len(side)) for row, port in enumerate(side)}
        return {port: port_offset(row) for row, port in enumerate(side)}


class _Rows(NamedTuple):
    """The size of a block, and where its ports are below its top."""

    width: float
    height: float
    enters: Mapping[str, float]
    leaves: Mapping[str, float]


class _Faces:
    """The rows of the blocks of a page. Most blocks of a type have the same."""

    def __init__(self, diagram: DiagramView, page: str, shown: ShownSizes) -> None:
        self._diagram, self._page, self._shown = diagram, page, shown
        self._content = diagram.pages[page]
        self._known: dict[tuple[type[Block], bool, int], _Rows] = {}

    def rows(self, name: str) -> _Rows:
        """Those of a block, without ports that only a wire names."""
        block = self._content.blocks[name]
        kind = type(block)
        if (
            kind.input_ports is not Block.input_ports
            or kind.output_names is not Block.output_names
            or isinstance(block, PageBlock | Opaque | ViewBlock)
            or any(port.variadic for port in kind.inputs)
        ):
            return self.own_rows(name)
        style = self._content.styles.get(name, PLAIN)
        key = kind, style.collapsed, self._lines(name)
        found = self._known.get(key)
        if found is None:
            inputs = [port.name for port in block.input_ports()]
            face = BlockFace(inputs, list(block.output_names()), style.collapsed, key[2])
            found = self._known[key] = _rows(face)
        return found

    def own_rows(self, name: str) -> _Rows:
        """Those of one block, with all ports that the canvas shows."""
        return _rows(BlockFace.of(self._diagram, self._page, name, self._lines(name)))

    def _lines(self, name: str) -> int:
        return self._shown.face_lines.get(name, VALUE_LINES)


def _rows(face: BlockFace) -> _Rows:
    return _Rows(face.width, face.height, face.offsets(face.inputs), face.offsets(face.outputs))


def port_sides(diagram: DiagramView, page: str, name: str) -> tuple[list[str], list[str]]:
    """The inputs and the outputs of a block, in the order in which the canvas shows them.

    Ports that a wire names but the block lacks come last.
    """
    content = diagram.pages[page]
    found = ports(diagram, page, name)
    inputs = dict.fromkeys([*found.inputs, *found.free])
    inputs |= dict.fromkeys(target.port for target in content.ends.inward.get(name, ()))
    outputs = dict.fromkeys(found.outputs)
    leaving = content.ends.outward.get(name, ())
    outputs |= dict.fromkeys(content.wires[target].port for target in leaving)
    return list(inputs), list(outputs)
