"""The layout that a page has now, whose order a new one keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.layout.measures import WIDTH
from gradwire.runtime.diagram.model import Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutGraph, LayoutLine, LayoutNode
    from gradwire.runtime.diagram.layout.rows import LayoutRow
    from gradwire.runtime.diagram.model import Note, PageView


class DrawnGraph:
    """Positions and routes of a graph's blocks and wires on the page, as far as it has them."""

    def __init__(self, page: PageView, graph: LayoutGraph) -> None:
        found = [page.layout.get(name) for name in graph.names]
        self.places = [at if at and all(map(math.isfinite, at)) else None for at in found]
        self._routes = [page.routes.get(target, ()) for target in graph.targets]
        self._notes = page.notes
        self._graph = graph

    @property
    def corner(self) -> tuple[float, float] | None:
        """The left and top of the blocks, in whole px; None if none has a position."""
        known = [at for at in self.places if at is not None]
        if not known:
            return None
        return float(round(min(at.x for at in known))), float(round(min(at.y for at in known)))

    def note(self, id: str) -> Note:
        """A note or frame of the page."""
        return self._notes[id]

    def height_at(self, wire: int, x: float, *, last: bool = False) -> float | None:
        """The y of a wire with a route where it first, or ``last``, passes ``x``.

        None without a route, or if it doesn't pass there.
        """
        route, ends = self._routes[wire], self._ends(wire)
        if not route or ends is None:
            return None
        begin, end = ends
        xs, ys = [begin.x, *route[::2], end.x], [begin.y, *route[1::2], end.y]
        found = [
            y
            for one, other, y in zip(xs, xs[1:], ys, strict=False)
            if min(one, other) <= x <= max(one, other)
        ]
        return found[-1 if last else 0] if found else None

    def crossing(self, wire: int, x: float, *, last: bool) -> Point | None:
        """Where a wire passes the side of a frame at ``x``; None if its blocks have no position."""
        ends = self._ends(wire)
        if ends is None:
            return None
        found = self.height_at(wire, x, last=last)
        if found is None:
            begin, end = ends
            share = min(max((x - begin.x) / ((end.x - begin.x) or 1.0), 0.0), 1.0)
            found = begin.y + share * (end.y - begin.y)
        return Point(x, found)

    def _ends(self, wire: int) -> tuple[Point, Point] | None:
        line = self._graph.lines[wire]
        tail, head = self.places[line.tail], self.places[line.head]
        if tail is None or head is None:
            return None
        return Point(tail.x + WIDTH, tail.y + line.leaves), Point(head.x, head.y + line.enters)


class DrawnPart:
    """Where the nodes of a part are now, and the wires that its lines belong to."""

    def __init__(
        self,
        drawn: DrawnGraph,
        nodes: Sequence[LayoutNode],
        places: Sequence[Point],
        lines: Sequence[LayoutLine],
        wires: Sequence[int],
    ) -> None:
        self._drawn, self._nodes, self._places = drawn, nodes, places
        self._lines, self._wires = lines, wires

    def heights(self, row: LayoutRow, column_of: Sequence[int]) -> list[float]:
        """The y of the nodes and dummies of a row, given the column of each node."""
        middle: dict[int, float] = {}
        for node in row.nodes:
            middle.setdefault(column_of[node], self._places[node].x + self._nodes[node].width / 2.0)
        heights = [self._places[node].y for node in row.nodes]
        heights += [0.0] * (len(row.graph) - len(heights))
        for i, dummies in row.passes.items():
            tail, head, leaves, enters = self._lines[i]
            x = self._places[tail].x + self._nodes[tail].width
            y, last = self._places[tail].y + leaves, self._places[head].y + enters
            for at, dummy in enumerate(dummies, 1):
                found = self._drawn.height_at(
                    self._wires[i],
                    middle.get(column_of[tail] + at, x),
                    last=self._nodes[tail].first,
                )
                share = at / (len(dummies) + 1)
                heights[dummy] = y + share * (last - y) if found is None else found
        return heights
