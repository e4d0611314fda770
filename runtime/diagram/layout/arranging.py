"""Arranges a page: data flows left to right, in rows that fit the canvas, on square routes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from blocks.arguments import explained
from blocks.errors import ChangeError, Location
from runtime.diagram.layout.drawn import Drawn
from runtime.diagram.layout.folding import CANVAS, FOLD_GAIN, busyness, zoom
from runtime.diagram.layout.graph import Graph, Part
from runtime.diagram.layout.measures import COLUMN_GAP, PART_GAP, WIDTH
from runtime.diagram.layout.placing import block_box, free_shift, notes_of_others, stretches
from runtime.diagram.layout.routes import XY, Drawing, draw_routes, route_of
from runtime.diagram.layout.rows import PartLayout, Placement
from runtime.diagram.model import MAIN, Diagram, Point

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from runtime.diagram.layout.graph import Line
    from runtime.diagram.model import DiagramView, Route
    from runtime.diagram.paths import PortName


class Arrangement(NamedTuple):
    """A position for each block, and the route of each wire that is not straight."""

    places: dict[str, Point]
    routes: dict[PortName, Route]


@explained
def arrange(diagram: Diagram, page: str = MAIN) -> Diagram:
    """The diagram with one page arranged: a position for each block and a route for each wire.

    Blocks keep the order that they have on the page, unless another has fewer crossings. The same
    page always gets the same layout. Raises ChangeError if there is no such page.
    """
    if page not in diagram.pages:
        raise ChangeError(f"There is no page {page!r}.", location=Location(page=page))
    places, routes = arrangement(diagram, page)
    arranged = replace(diagram.pages[page], layout=places, routes=routes)
    return diagram.with_page(page, arranged)


def arrangement(
    diagram: DiagramView,
    page: str,
    names: Collection[str] = (),
    face_lines: Mapping[str, int] | None = None,
) -> Arrangement:
    """A layout for the blocks called ``names``, or all if it is empty.

    It begins where these blocks begin now, or where it lies on no other block. Wires with bends
    get no route. ``face_lines`` are numbers of text lines that faces show, where known.
    """
    graph = Graph.of(diagram, page, names, face_lines)
    drawn = Drawn(diagram.pages[page], graph)
    parts = graph.parts()
    drawings = [_draw_part(graph, part, drawn) for part in parts]
    corners: list[XY] = [(0.0, 0.0)] * len(graph.names)
    paths: list[list[XY]] = [[] for _ in graph.lines]
    for part, drawing, (x, y) in zip(parts, drawings, _packed(drawings), strict=True):
        for node, (dx, dy) in zip(part.nodes, drawing.corners, strict=True):
            corners[node] = x + dx, y + dy
        for i, path in zip(part.lines, drawing.paths, strict=True):
            paths[i] = [(x + dx, y + dy) for dx, dy in path]
    x, y = _shift(diagram, page, graph, drawn, corners, paths)
    places = {
        name: Point(x + dx, y + dy) for name, (dx, dy) in zip(graph.names, corners, strict=True)
    }
    bent = diagram.pages[page].bends
    routes = {
        target: route
        for target, path in zip(graph.targets, paths, strict=True)
        if target not in bent and (route := route_of([(x + dx, y + dy) for dx, dy in path]))
    }
    return Arrangement(places, routes)


def _draw_part(graph: Graph, part: Part, drawn: Drawn) -> Drawing:
    heights = [graph.heights[node] for node in part.nodes]
    if len(part.nodes) == 1:
        return Drawing([(0.0, 0.0)], [], WIDTH, heights[0])
    number = {node: i for i, node in enumerate(part.nodes)}
    lines = [
        line._replace(tail=number[line.tail], head=number[line.head])
        for line in map(graph.lines.__getitem__, part.lines)
    ]
    layout = PartLayout(heights, lines)
    placement = layout.placed(_best_folding(layout), drawn.of(part))
    return draw_routes(placement, lines)


def _best_folding(layout: PartLayout) -> list[int]:
    """Of some foldings the one that is shown largest."""
    candidates = layout.foldings()
    if len(candidates) == 1:
        return candidates[0]
    shown = []
    for starts in candidates:
        placement = layout.placed(starts)
        drawing = draw_routes(placement, layout.lines)
        found = zoom(drawing.width, drawing.height)
        if len(starts) > 1:
            crossing = _folds_crossed(placement, layout.lines)
            found /= FOLD_GAIN * busyness(crossing, len(starts) - 1)
        shown.append((-found, starts))
    return min(shown)[1]


def _folds_crossed(placement: Placement, lines: Sequence[Line]) -> int:
    """How often outputs are read over folds, all folds together."""
    row_of = placement.row_of
    return len(
        {
            (lines[i].tail, lines[i].leaves, row)
            for i in placement.outer
            for row in range(row_of[lines[i].tail], row_of[lines[i].head])
        }
    )


def _packed(drawings: Sequence[Drawing]) -> list[XY]:
    """Where each drawing begins: side by side on shelves, those of lone blocks last."""
    widest = max((drawing.width for drawing in drawings), default=0.0)
    area = sum((d.width + PART_GAP) * (d.height + PART_GAP) for d in drawings)
    limit = max(widest, math.sqrt(area * CANVAS[0] / CANVAS[1]))
    begins: list[XY] = [(0.0, 0.0)] * len(drawings)
    x = y = shelf = 0.0
    for i in sorted(range(len(drawings)), key=lambda i: len(drawings[i].corners) == 1):
        width, height = drawings[i].width, drawings[i].height
        if x and x + width > limit + 1.0:
            x, y, shelf = 0.0, y + shelf + PART_GAP, 0.0
        begins[i] = x, y
        x += width + (PART_GAP if len(drawings[i].corners) > 1 else COLUMN_GAP)
        shelf = max(shelf, height)
    return begins


def _shift(
    diagram: DiagramView,
    page: str,
    graph: Graph,
    drawn: Drawn,
    corners: Sequence[XY],
    paths: Sequence[Sequence[XY]],
) -> XY:
    """How far to move everything, so that it begins where its blocks did and avoids the others."""
    if not corners:
        return 0.0, 0.0
    left, top = drawn.corner or (0.0, 0.0)
    x, y = left - min(x for x, _ in corners), top - min(y for _, y in corners)
    others = set(diagram.pages[page].layout) & set(diagram.pages[page].blocks) - set(graph.names)
    if not others:
        return x, y
    rest = Graph.of(diagram, page, others)
    layout = diagram.pages[page].layout
    obstacles = [
        block_box(*layout[name], height)
        for name, height in zip(rest.names, rest.heights, strict=True)
    ]
    own = [
        block_box(*layout[name], height)
        for name, height in zip(graph.names, graph.heights, strict=True)
        if name in layout
    ]
    obstacles += notes_of_others(diagram.pages[page].notes.values(), own, obstacles)
    boxes = [block_box(*at, height) for at, height in zip(corners, graph.heights, strict=True)]
    boxes += [stretch for path in paths for stretch in stretches(path)]
    return free_shift(boxes, obstacles, (x, y))
