"""Places the nodes of one connected graph: in layers, folded into rows, in columns of each row."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.folding import foldings
from gradwire.runtime.diagram.layout.layers import layers_of
from gradwire.runtime.diagram.layout.levels import tops_of
from gradwire.runtime.diagram.layout.ordering import STARTS, Layering, order_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram.layout.drawn import DrawnPart
    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode

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
