"""Places the nodes of one connected graph: in layers, folded into rows, in columns of each row."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import field
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.folding import foldings
from gradwire.runtime.diagram.layout.layers import layers_of
from gradwire.runtime.diagram.layout.measures import PITCH, ROW_GAP
from gradwire.runtime.diagram.layout.ordering import STARTS, Layering, order_layers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gradwire.runtime.diagram.layout.drawn import DrawnPart
    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode


# The height of each node of a layered graph: level chains, straight wires, room between blocks.

_ONE_SIDED_PASSES = 4
"""Passes that align a layer only with the one before it; the others use both neighbours."""
_STAY_WEIGHT = 0.2
"""Weight of the current height of a node that has no lines on the side considered."""
_LINE_WEIGHTS = (1.0, 6.0, 12.0)
"""Weights of straight lines between two nodes, a node and a dummy, and two dummies."""
_CHAIN_WEIGHT = 4.0
"""Weight of a straight line between two nodes that have no other lines on these sides."""
_SATELLITE_WEIGHT = 0.02
"""Share of its weight that a satellite keeps: it makes way for the nodes of its layer."""
_MIDDLE_WEIGHT = 0.1
"""Weight of the wish to be in the middle, which keeps a graph from climbing or falling."""
_SNAP = 24.0
"""Bends smaller than this, in px, are straightened if there is room."""
_DUMMY_GAP = ROW_GAP / 2.0


def tops_of(
    graph: Layering,
    heights: Sequence[float],
    satellites: Collection[int],
    rooms: Mapping[int, float] = MappingProxyType({}),
    *,
    rough: bool = False,
) -> list[int]:
    """The y of each node and dummy, in whole px from 0 down; keeps the order of the layers.

    ``heights`` are those of the nodes, ``rooms`` what dummies need below their wires for lanes.
    ``rough`` takes less time, to compare layouts.
    """
    levels = _Levels(graph, heights, satellites, rooms)
    levels.align(6 if rough else max(_ONE_SIDED_PASSES + 2, min(16, 6_000 // max(len(graph), 1))))
    levels.snap()
    levels.round()
    for _ in range(1 if rough else 2):
        for (tail, leaves), chain in graph.chains.items():
            if chain:
                levels.tauten(tail, leaves, chain)
    return [int(top) for top in levels.tops]


class _Pull(NamedTuple):
    """The lines on one side of a layer: the number of their node in the layer, the other end, the
    difference of tops that makes each straight, its weight; and the weights by node.
    """

    lines: list[tuple[int, int, float, float]]
    sums: list[float]


class _Levels:
    """The tops of all nodes, improved step by step."""

    def __init__(
        self,
        graph: Layering,
        heights: Sequence[float],
        satellites: Collection[int],
        rooms: Mapping[int, float],
    ) -> None:
        dummies = range(graph.real, len(graph))
        self._graph = graph
        self._satellites = satellites
        self._sizes = [*heights, *[rooms.get(dummy, 0.0) for dummy in dummies]]
        self._gaps = [ROW_GAP if height else _DUMMY_GAP for height in heights]
        self._gaps += [_DUMMY_GAP] * len(dummies)
        self._steps = [self._least_steps(layer) for layer in graph.layers]
        self.tops = [0.0] * len(graph)
        for layer, steps in zip(graph.layers, self._steps, strict=True):
            self._place(layer, accumulate(steps, initial=0.0))
        middle = max(self.tops, default=0.0) / 2.0
        self._before, self._after = self._levelled_lines()
        self._pulls = [self._pull(layer, backward=True) for layer in graph.layers]
        self._pushes = [self._pull(layer, backward=False) for layer in graph.layers]
        self._share = [1.0] * len(graph)
        for node in satellites:
            self._share[node] = _SATELLITE_WEIGHT
        self._middles = [_MIDDLE_WEIGHT * (middle - size / 2.0) for size in self._sizes]
        self._above = {below: above for layer in graph.layers for above, below in pairwise(layer)}
        self._below = {above: below for below, above in self._above.items()}

    def align(self, passes: int) -> None:
        """Move nodes towards the mean height that straightens their lines, in alternate passes."""
        count = len(self._graph.layers)
        for number in range(passes):
            both, forward = number >= _ONE_SIDED_PASSES, number % 2 == 0
            for i in range(count) if forward else reversed(range(count)):
                self._align_layer(i, forward or both, both or not forward)

    def snap(self) -> None:
        """Straighten the line with the smallest bend of each node, where there is room."""
        for backward in (True, False):
            count = len(self._graph.layers)
            for i in range(count) if backward else reversed(range(count)):
                found = [self._nearest(node, backward) for node in self._graph.layers[i]]
                self._settle(i, [top for top, _ in found], [weight for _, weight in found])

    def round(self) -> None:
        """Begin at 0, in whole px."""
        least = min(self.tops, default=0.0)
        self.tops = [float(round(top - least)) for top in self.tops]

    def tauten(self, tail: int, leaves: float, chain: Sequence[int]) -> None:
        """Make a long wire as straight as what is above and below its dummies allows."""
        ends = [line for line in self._graph.after[chain[-1]] if line.head < self._graph.real]
        y = self.tops[tail] + leaves
        last = self.tops[ends[-1].head] + ends[-1].enters if ends else y
        rooms = [self._room(dummy) for dummy in chain]
        start = 0
        while start < len(chain):
            (low, high), until = rooms[start], start + 1
            while until < len(chain):
                lower, higher = max(low, rooms[until][0]), min(high, rooms[until][1])
                if lower > higher:
                    break
                low, high, until = lower, higher, until + 1
            wanted = last if until == len(chain) and not low <= y <= high else y
            y = min(max(wanted, low), high)
            for dummy in chain[start:until]:
                self.tops[dummy] = y
            start = until

    def _align_layer(self, i: int, backward: bool, forward: bool) -> None:
        nodes, tops = self._graph.layers[i], self.tops
        totals = [self._middles[node] for node in nodes]
        weights = [_MIDDLE_WEIGHT] * len(nodes)
        for used, pull in ((backward, self._pulls[i]), (forward, self._pushes[i])):
            if used and pull is not None:
                sums = [0.0] * len(nodes)
                for near, other, shift, weight in pull.lines:
                    sums[near] += weight * (tops[other] + shift)
                totals = [total + more for total, more in zip(totals, sums, strict=True)]
                weights = [weight + more for weight, more in zip(weights, pull.sums, strict=True)]
        wanted = []
        for k, node in enumerate(nodes):
            if weights[k] == _MIDDLE_WEIGHT:
                wanted.append(tops[node])
                weights[k] = _STAY_WEIGHT
            else:
                wanted.append(totals[k] / weights[k])
            weights[k] *= self._share[node]
        self._settle(i, wanted, weights)

    def _settle(self, i: int, wanted: Sequence[float], weights: Sequence[float]) -> None:
        self._place(self._graph.layers[i], spread(wanted, weights, self._steps[i]))

    def _place(self, layer: Sequence[int], tops: Iterable[float]) -> None:
        for node, top in zip(layer, tops, strict=True):
            self.tops[node] = top

    def _nearest(self, node: int, backward: bool) -> tuple[float, float]:
        """The top that straightens the line with the smallest bend, or the current one; a weight.

        Only nodes without inputs look at their readers; the others align with their inputs.
        """
        before, top = self._before[node], self.tops[node]
        lines = before if backward else [] if before else self._after[node]
        long = [line for line in lines if max(line.tail, line.head) >= self._graph.real]
        bends = [self._straight(node, line) for line in long or lines]
        best = min(bends, key=lambda straight: abs(straight - top), default=top)
        share = self._share[node]
        return (best, 2.0 * share) if abs(best - top) < _SNAP else (top, share)

    def _straight(self, node: int, line: LayoutLine) -> float:
        """The top of ``node``, an end of the line, that would make the line straight."""
        if node == line.head:
            return self.tops[line.tail] + line.leaves - line.enters
        return self.tops[line.head] + line.enters - line.leaves

    def _levelled_lines(self) -> tuple[list[list[LayoutLine]], list[list[LayoutLine]]]:
        """The lines before and after each node that its height depends on.

        Lines from satellites count only where there are no others. A node with one other line is
        level with what it reads, from output to output: a chain through second ports would fall by
        a row of ports at every block.
        """
        before, after, graph = list(self._graph.before), list(self._graph.after), self._graph
        levelled: dict[LayoutLine, LayoutLine] = {}
        for node, lines in enumerate(graph.before):
            main = [line for line in lines if line.tail not in self._satellites]
            if len(main) == 1 and len(lines) > 1 and graph.after[node]:
                leaves = min(line.leaves for line in graph.after[node])
                levelled[main[0]] = main[0]._replace(enters=leaves)
            before[node] = [levelled.get(line, line) for line in main] or lines
        for node, lines in enumerate(graph.after):
            after[node] = [levelled.get(line, line) for line in lines]
        return before, after

    def _pull(self, layer: Sequence[int], *, backward: bool) -> _Pull | None:
        lines = self._before if backward else self._after
        flat = [(i, line) for i, node in enumerate(layer) for line in lines[node]]
        if not flat:
            return None
        side = 1.0 if backward else -1.0
        sums, found = [0.0] * len(layer), []
        for near, line in flat:
            weight = self._weight(line)
            sums[near] += weight
            other = line.tail if backward else line.head
            found.append((near, other, side * (line.leaves - line.enters), weight))
        return _Pull(found, sums)

    def _weight(self, line: LayoutLine) -> float:
        """The weight of the wish that a line is straight."""
        dummies = (line.tail >= self._graph.real) + (line.head >= self._graph.real)
        if not dummies and len(self._after[line.tail]) == 1 == len(self._before[line.head]):
            return _CHAIN_WEIGHT
        return _LINE_WEIGHTS[dummies]

    def _least_steps(self, layer: Sequence[int]) -> list[float]:
        """The least distances between consecutive tops of a layer."""
        return [
            self._sizes[above] + (self._gaps[above] + self._gaps[node]) / 2.0
            for above, node in pairwise(layer)
        ]

    def _room(self, dummy: int) -> tuple[float, float]:
        """The least and greatest y that a dummy may have."""
        above, below = self._above.get(dummy), self._below.get(dummy)
        low, high, y = -math.inf, math.inf, self.tops[dummy]
        if above is not None:
            low = self.tops[above] + self._sizes[above] + self._clearance(above)
        if below is not None:
            high = self.tops[below] - self._clearance(below) - self._sizes[dummy]
        return min(low, y), max(high, y)

    def _clearance(self, neighbour: int) -> float:
        return PITCH if neighbour >= self._graph.real else _DUMMY_GAP


def spread(
    wanted: Sequence[float], weights: Sequence[float], steps: Sequence[float]
) -> list[float]:
    """Positions at least ``steps`` apart, nearest to the wanted ones in the sense of weighted least
    squares.

    Source: pool adjacent violators, Ayer et al. 1955.
    """
    offsets = list(accumulate(steps, initial=0.0))
    pools: list[tuple[float, float, int]] = []
    for position, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = position - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            above, heavy, more = pools.pop()
            mean = (above * heavy + mean * total) / (heavy + total)
            total += heavy
            count += more
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


_LONG = 10
"""Columns that a wire may pass inside its row; longer ones run in the gap between rows."""


@dataclass
class LayoutRow:
    """Consecutive layers as columns: ``nodes`` are the numbers of those of the part that it has.

    ``graph`` numbers them from 0. ``passes`` are the dummies, by number in ``graph``, of each line
    inside the row. Heights are in px from the top of the row.
    """

    nodes: list[int]
    graph: Layering
    passes: dict[int, list[int]]
    tops: list[int] = field(default_factory=list)
    height: float = 0.0

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.graph.layers)


@dataclass
class Placement:
    """Rows of one part. ``outer`` are the lines that run between rows, or far inside one."""

    rows: list[LayoutRow]
    row_of: list[int]
    column_of: list[int]
    outer: list[int]


class PartLayout:
    """One connected graph: its layers, and the placements that fold it one way or another."""

    def __init__(self, nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine]) -> None:
        self.nodes = nodes
        self.lines = lines
        self._layers = layers_of(nodes, lines)

    def foldings(self) -> list[list[int]]:
        """Some ways to fold it, as the first layers of the rows; unfolded first."""
        forward = [
            line for i, line in enumerate(self.lines) if i not in self._layers.backward
        ]  # fmt: skip
        return foldings(self._layers.layer, forward, self.nodes, self._layers.hosts)

    def placed(
        self,
        starts: Sequence[int],
        drawn: DrawnPart | None = None,
        *,
        rough: bool = False,
    ) -> Placement:
        """The placement in rows that start with these layers.

        ``drawn`` is what the page shows now, if it has all nodes. A ``rough`` placement takes less
        time; it is good enough to compare foldings.
        """
        row_of, column_of = self._columns(starts)
        inner: list[list[int]] = [[] for _ in starts]
        outer = []
        for i, (tail, head, _, _) in enumerate(self.lines):
            ahead = column_of[head] - column_of[tail]
            inside = row_of[tail] == row_of[head] and i not in self._layers.backward
            if inside and ahead <= _LONG:
                inner[row_of[tail]].append(i)
            else:
                outer.append(i)
        members: list[list[int]] = [[] for _ in starts]
        for node, place in enumerate(row_of):
            members[place].append(node)
        rows = [
            self._row(nodes, lines, column_of)
            for nodes, lines in zip(members, inner, strict=True)
        ]  # fmt: skip
        for row in rows:
            now = drawn.heights(row, column_of) if drawn else None
            order_layers(row.graph, now, 1 if rough else STARTS)
            self._level(row, rough=rough)
        return Placement(rows, row_of, column_of, outer)

    def _columns(self, starts: Sequence[int]) -> tuple[list[int], list[int]]:
        """The row and the column of each node; satellites are in the rows of their readers."""
        layer = self._layers.layer
        row_of = [bisect_right(starts, place) - 1 for place in layer]
        for node in reversed(self._layers.order):
            if node in self._layers.hosts:
                row_of[node] = row_of[self._layers.hosts[node]]
        first = [min(place for place, r in zip(layer, row_of, strict=True) if r == row)
                 for row in range(len(starts))]  # fmt: skip
        return row_of, [place - first[row] for place, row in zip(layer, row_of, strict=True)]

    def _row(self, nodes: list[int], lines: list[int], column_of: Sequence[int]) -> LayoutRow:
        number = {node: i for i, node in enumerate(nodes)}
        local = [
            self.lines[i]._replace(tail=number[self.lines[i].tail], head=number[self.lines[i].head])
            for i in lines
        ]
        graph = Layering([column_of[node] for node in nodes], local)
        return LayoutRow(nodes, graph, dict(zip(lines, graph.passes, strict=True)))

    def _level(self, row: LayoutRow, *, rough: bool) -> None:
        heights = [self.nodes[node].height for node in row.nodes]
        satellites = {i for i, node in enumerate(row.nodes) if node in self._layers.hosts}
        rooms = {
            dummy: room
            for (tail, leaves), chain in row.graph.chains.items()
            if (room := self.nodes[row.nodes[tail]].lanes_room(leaves))
            for dummy in chain
        }
        row.tops = tops_of(row.graph, heights, satellites, rooms, rough=rough)
        ends = [top + height for top, height in zip(row.tops, heights, strict=False)]
        row.height = float(max([*ends, *row.tops]))
