"""A page as a graph: its blocks as numbers with heights, its wires as lines from port to port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from runtime.diagram.layout.measures import VALUE_LINES, block_height, port_offset
from runtime.diagram.model import ports
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runtime.diagram.model import DiagramView


class Line(NamedTuple):
    """A line from ``tail`` to ``head``; ``leaves`` and ``enters`` are the distances in px, below
    the tops of these nodes, at which it does so.
    """

    tail: int
    head: int
    leaves: float = 0.0
    enters: float = 0.0


class Part(NamedTuple):
    """A connected component of a graph: numbers of its nodes and of its lines."""

    nodes: list[int]
    lines: list[int]


@dataclass(frozen=True)
class Graph:
    """Blocks by name with their heights in px, and lines with the targets of their wires."""

    names: list[str]
    heights: list[float]
    lines: list[Line]
    targets: list[PortName]

    @classmethod
    def of(
        cls,
        diagram: DiagramView,
        page: str,
        names: Collection[str] = (),
        face_lines: Mapping[str, int] | None = None,
    ) -> Graph:
        """The graph of the blocks called ``names``, or all if it is empty, and of wires between
        them.

        Ports are where the canvas shows them. ``face_lines`` are numbers of text lines of faces,
        where more are known than :data:`VALUE_LINES`.
        """
        content = diagram.pages[page]
        chosen = [name for name in content.blocks if not names or name in names]
        number = {name: i for i, name in enumerate(chosen)}
        heights: list[float] = []
        entry: dict[PortName, float] = {}
        leave: dict[PortName, float] = {}
        for name in chosen:
            inputs, outputs = port_sides(diagram, page, name)
            heights.append(height_of(inputs, outputs, (face_lines or {}).get(name, VALUE_LINES)))
            entry |= {PortName(name, port): port_offset(i) for i, port in enumerate(inputs)}
            leave |= {PortName(name, port): port_offset(i) for i, port in enumerate(outputs)}
        inner = {
            target: source
            for target, source in content.wires.items()
            if source.block in number and target.block in number and source.block != target.block
        }
        lines = [
            Line(number[s.block], number[t.block], leave[s], entry[t]) for t, s in inner.items()
        ]
        return cls(chosen, heights, lines, list(inner))

    def parts(self) -> list[Part]:
        """The connected components, in the order of their first nodes."""
        leader = list(range(len(self.heights)))

        def find(node: int) -> int:
            while leader[node] != node:
                leader[node] = node = leader[leader[node]]
            return node

        for line in self.lines:
            first, second = sorted((find(line.tail), find(line.head)))
            leader[second] = first
        grouped: dict[int, Part] = {}
        for node in range(len(leader)):
            grouped.setdefault(find(node), Part([], [])).nodes.append(node)
        for i, line in enumerate(self.lines):
            grouped[find(line.tail)].lines.append(i)
        return list(grouped.values())


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


def height_of(inputs: Collection[str], outputs: Collection[str], lines: int = VALUE_LINES) -> float:
    """The height in px of a block with these ports, whose face shows so many lines of text."""
    return block_height(max(len(inputs), len(outputs), lines, VALUE_LINES))
