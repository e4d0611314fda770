"""Automatic layout: data flows left to right in columns, with few crossings and straight wires."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from blocks.arguments import explained
from runtime.diagram.layout.layering import Layering, Line, layered
from runtime.diagram.layout.measures import HEADER, ROW, WIDTH, block_height
from runtime.diagram.model import PageView, Point, own_ports
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VALUE_LINES = 2
"""Lines of a block for its value and gradient, next to its ports."""
COLUMN_GAP = 80.0
"""Distance between columns in px."""
ROW_GAP = 36.0
"""Minimum distance between blocks of one column in px."""

_ONE_SIDED_PASSES = 4
"""Passes that align a column only with the previous one; the others use both neighbours."""
_STAY_WEIGHT = 0.2
"""Weight of the current position of a node that has no wires on the side considered."""
_LINE_WEIGHTS = (1.0, 6.0, 12.0)
"""Weights of straight lines between two blocks, a block and a dummy, and two dummies. A wire is
drawn from end to end, so it crosses blocks unless its lines at dummies are straight."""
_WIRE_WEIGHT = 50.0
"""Weight of a wire against the blocks that it passes, in the final clearing passes."""
_CLEARING_PASSES = 3
"""Several are needed because moving a block aside moves the ends of other wires."""
SNAP = 24.0
"""Bends smaller than this, in px, are straightened if there is room."""


@explained
def arrange(page: PageView) -> dict[str, Point]:
    """A position for each block of the page; deterministic.

    Unconnected parts are stacked vertically, with blocks that have no wires in rows below them.
    """
    graph = Graph.of(page)
    places: dict[int, Point] = {}
    top = 0.0
    alone: list[int] = []
    for part in graph.parts():
        if len(part.nodes) == 1:
            alone += part.nodes
            continue
        below = top
        for node, at in _arrange_part(graph.heights, part):
            places[node] = Point(at.x, at.y + top)
            below = max(below, at.y + top + graph.heights[node])
        top = below + 2 * ROW_GAP
    places |= _rows(graph.heights, alone, top)
    return {name: places[i] for i, name in enumerate(page.blocks)}


@dataclass
class Graph:
    """The blocks of a page as indices with heights, and its wires as lines from port to port."""

    heights: list[float]
    lines: list[Line]

    @classmethod
    def of(cls, page: PageView) -> Graph:
        """Make the graph of a page, ignoring wires to blocks that don't exist."""
        number = {name: i for i, name in enumerate(page.blocks)}
        heights = []
        offset: dict[PortName, float] = {}
        for name in page.blocks:
            ports = own_ports(page, name)
            inputs = (*ports.inputs, *ports.free)
            heights.append(block_height(max(len(inputs), len(ports.outputs), VALUE_LINES)))
            for side in (inputs, ports.outputs):
                for i, port in enumerate(side):
                    offset[PortName(name, port)] = HEADER + ROW * (i + 0.5)
        lines = [
            Line(number[s.block], number[t.block], offset.get(s, 0.0), offset.get(t, 0.0))
            for t, s in page.wires.items()
            if s.block in number and t.block in number and s.block != t.block
        ]
        return cls(heights, lines)

    def parts(self) -> list[_Part]:
        """The connected components, in the order of their first nodes."""
        leader = list(range(len(self.heights)))

        def find(node: int) -> int:
            while leader[node] != node:
                leader[node] = node = leader[leader[node]]
            return node

        for line in self.lines:
            first, second = sorted((find(line.tail), find(line.head)))
            leader[second] = first
        grouped: dict[int, _Part] = {}
        for node in range(len(leader)):
            grouped.setdefault(find(node), _Part([], [])).nodes.append(node)
        for line in self.lines:
            grouped[find(line.tail)].lines.append(line)
        return list(grouped.values())


class _Part(NamedTuple):
    nodes: list[int]
    lines: list[Line]


def _arrange_part(heights: Sequence[float], part: _Part) -> Iterator[tuple[int, Point]]:
    number = {node: i for i, node in enumerate(part.nodes)}
    own = [heights[node] for node in part.nodes]
    lines = [line._replace(tail=number[line.tail], head=number[line.head]) for line in part.lines]
    graph = layered(len(own), lines, own)
    tops = _tops(graph, own)
    for column, layer in enumerate(graph.layers):
        x = column * (WIDTH + COLUMN_GAP)
        for node in layer:
            if node < len(own):
                yield part.nodes[node], Point(x, float(round(tops[node])))


def _rows(heights: Sequence[float], nodes: Sequence[int], top: float) -> dict[int, Point]:
    """Positions in a grid with about as many rows as columns."""
    columns = math.ceil(math.sqrt(len(nodes)))
    places = {}
    for start in range(0, len(nodes), columns or 1):
        row = nodes[start : start + columns]
        for column, node in enumerate(row):
            places[node] = Point(column * (WIDTH + COLUMN_GAP), top)
        top += max(heights[node] for node in row) + ROW_GAP
    return places


def _tops(graph: Layering, heights: Sequence[float]) -> list[float]:
    """The y of each node, 0 or more: keeps the order of the layers and straightens wires."""
    columns = _Columns(graph, heights)
    sweeps = _sweeps(len(columns.tops))
    for sweep in range(sweeps):
        both = sweep >= _ONE_SIDED_PASSES
        forward = sweep % 2 == 0
        for layer in graph.layers if forward else reversed(graph.layers):
            columns.settle(
                layer, [columns.mean(n, forward or both, both or not forward) for n in layer]
            )
    for layer in graph.layers:
        columns.settle(layer, [columns.nearest(node, True) for node in layer])
    for layer in reversed(graph.layers):
        columns.settle(layer, [columns.nearest(node, False) for node in layer])
    for _ in range(_CLEARING_PASSES):
        columns.clear_wires()
    highest = min(columns.tops[: len(heights)], default=0.0)
    return [top - highest for top in columns.tops]


def _sweeps(nodes: int) -> int:
    """Number of passes that straighten wires, in alternating directions; more for small graphs."""
    return max(_ONE_SIDED_PASSES + 2, min(30, 6_000 // nodes))


class _Columns:
    """The tops of all nodes, improved step by step; ``graph`` fixes their order in each column."""

    def __init__(self, graph: Layering, heights: Sequence[float]) -> None:
        dummies = len(graph.before) - len(heights)
        self._graph = graph
        self._sizes = [*heights, *[0.0] * dummies]
        self._gaps = [*[ROW_GAP] * len(heights), *[ROW_GAP / 2] * dummies]
        self.tops = [0.0] * len(self._sizes)
        for layer in graph.layers:
            for node, top in zip(layer, accumulate(self._steps(layer), initial=0.0), strict=True):
                self.tops[node] = top

    def settle(self, layer: Sequence[int], desired: Sequence[tuple[float, float]]) -> None:
        """Place the nodes of a column as near to their desired (top, weight) as they fit."""
        for node, top in zip(layer, spread(desired, self._steps(layer)), strict=True):
            self.tops[node] = top

    def mean(self, node: int, backward: bool, forward: bool) -> tuple[float, float]:
        """The weighted mean top for straight lines to the previous column, the next, or both."""
        total = weights = 0.0
        for line in (
            *(self._graph.before[node] if backward else ()),
            *(self._graph.after[node] if forward else ()),
        ):
            weight = _LINE_WEIGHTS[self._dummies(line)]
            weights += weight
            total += weight * self._straight(node, line)
        return (total / weights, weights) if weights else (self.tops[node], _STAY_WEIGHT)

    def nearest(self, node: int, backward: bool) -> tuple[float, float]:
        """The current top, or one that straightens the line to a neighbour with the smallest bend.

        Only nodes without inputs consider their readers; the others align with their inputs.
        """
        top = self.tops[node]
        before = self._graph.before[node]
        lines = before if backward else [] if before else self._graph.after[node]
        long = [line for line in lines if self._dummies(line)]
        bends = [self._straight(node, line) for line in long or lines]
        best = min(bends, key=lambda straight: abs(straight - top), default=top)
        return (best, 2.0) if abs(best - top) < SNAP else (top, 1.0)

    def clear_wires(self) -> None:
        """Move long wires to where they are drawn, and push blocks out of their way."""
        drawn = self._drawn()
        for layer in self._graph.layers:
            self.settle(
                layer,
                [
                    (drawn[node], _WIRE_WEIGHT) if node in drawn else self.nearest(node, True)
                    for node in layer
                ],
            )

    def _drawn(self) -> dict[int, float]:
        """The y of each dummy on the curve of its wire, or of the longest wire that shares it."""
        ends: dict[int, tuple[float, int]] = {}
        drawn = {}
        for layer in reversed(self._graph.layers):
            for node in layer:
                if node >= self._graph.real:
                    line = self._graph.after[node][-1]
                    y, steps = ends.get(line.head, (self.tops[line.head] + line.enters, 0))
                    ends[node] = (y, steps + 1)
        starts: dict[int, tuple[float, int]] = {}
        for layer in self._graph.layers:
            for node in layer:
                if node >= self._graph.real:
                    (line,) = self._graph.before[node]
                    y, steps = starts.get(line.tail, (self.tops[line.tail] + line.leaves, 0))
                    starts[node] = (y, steps + 1)
                    end, left = ends[node]
                    along = (steps + 1) / (steps + 1 + left)
                    drawn[node] = y + (end - y) * along * along * (3 - 2 * along)
        return drawn

    def _dummies(self, line: Line) -> int:
        """How many of the line's ends are dummies."""
        return (line.tail >= self._graph.real) + (line.head >= self._graph.real)

    def _straight(self, node: int, line: Line) -> float:
        """The top of ``node``, an end of the line, that would make the line straight."""
        if node == line.head:
            return self.tops[line.tail] + line.leaves - line.enters
        return self.tops[line.head] + line.enters - line.leaves

    def _steps(self, layer: Sequence[int]) -> list[float]:
        """The minimum distances between consecutive tops of a column."""
        return [
            self._sizes[above] + (self._gaps[above] + self._gaps[node]) / 2
            for above, node in pairwise(layer)
        ]


def spread(desired: Sequence[tuple[float, float]], steps: Sequence[float]) -> list[float]:
    """Positions at least ``steps`` apart, nearest to the desired (position, weight) in the sense
    of weighted least squares.

    Source: pool adjacent violators, Ayer et al. 1955.
    """
    offsets = list(accumulate(steps, initial=0.0))
    pools: list[tuple[float, float, int]] = []
    for (position, weight), offset in zip(desired, offsets, strict=True):
        mean, total, count = position - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            above, heavy, more = pools.pop()
            mean = (above * heavy + mean * total) / (heavy + total)
            total += heavy
            count += more
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
