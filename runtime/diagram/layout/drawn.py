"""The layout that a page has now, whose order a new one keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from runtime.diagram.layout.measures import WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.diagram.layout.graph import Graph, Part
    from runtime.diagram.layout.rows import Row
    from runtime.diagram.model import PageView, Point, Route


class Drawn:
    """Positions and routes of a graph's blocks and wires on the page, as far as it has them."""

    def __init__(self, page: PageView, graph: Graph) -> None:
        found = [page.layout.get(name) for name in graph.names]
        self._places = [at if at and all(map(math.isfinite, at)) else None for at in found]
        self._routes = [page.routes.get(target, ()) for target in graph.targets]
        self._graph = graph

    @property
    def corner(self) -> tuple[float, float] | None:
        """The left and top of the blocks, in whole px; None if none has a position."""
        known = [at for at in self._places if at is not None]
        if not known:
            return None
        return float(round(min(at.x for at in known))), float(round(min(at.y for at in known)))

    def of(self, part: Part) -> Callable[[Row, Sequence[int]], list[float] | None]:
        """A function that returns the y of the nodes and dummies of a row of a part.

        It takes the row and the column of each node of the part, and returns None if not all of
        the part's blocks have positions.
        """
        places = [at for at in map(self._places.__getitem__, part.nodes) if at is not None]
        if len(places) < len(part.nodes):
            return lambda row, column_of: None
        return lambda row, column_of: self._heights(part, places, row, column_of)

    def _heights(
        self, part: Part, places: Sequence[Point], row: Row, column_of: Sequence[int]
    ) -> list[float]:
        middle: dict[int, float] = {}
        for node in row.nodes:
            middle.setdefault(column_of[node], places[node].x + WIDTH / 2.0)
        heights = [places[node].y for node in row.nodes]
        heights += [0.0] * (len(row.graph) - len(heights))
        number = {node: i for i, node in enumerate(part.nodes)}
        for i, dummies in row.passes.items():
            line = self._graph.lines[part.lines[i]]
            tail, head = number[line.tail], number[line.head]
            begin = places[tail].x + WIDTH, places[tail].y + line.leaves
            end = places[head].x, places[head].y + line.enters
            for at, dummy in enumerate(dummies, 1):
                x = middle.get(column_of[tail] + at, begin[0])
                share = at / (len(dummies) + 1)
                found = _height_at(x, begin, self._routes[part.lines[i]], end)
                heights[dummy] = begin[1] + share * (end[1] - begin[1]) if found is None else found
        return heights


def _height_at(
    x: float, begin: tuple[float, float], route: Route, end: tuple[float, float]
) -> float | None:
    """The y at ``x`` of a wire with this route; None without a route, or if it is not there."""
    xs = [begin[0], *route[::2], end[0]]
    ys = [begin[1], *route[1::2], end[1]]
    for one, other, y in zip(xs, xs[1:], ys, strict=False) if route else ():
        if min(one, other) <= x <= max(one, other):
            return y
    return None
