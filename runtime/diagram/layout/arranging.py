"""Arranges a page: data flows left to right, in rows that fit the canvas, on square routes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import ChangeError, Location
from gradwire.runtime.diagram.layout.drawn import DrawnGraph
from gradwire.runtime.diagram.layout.frames.compound import moved, sketch
from gradwire.runtime.diagram.layout.frames.notes import Surroundings, groups_of
from gradwire.runtime.diagram.layout.graph import NOTHING_SHOWN, LayoutGraph, ShownSizes
from gradwire.runtime.diagram.layout.placing import free_shift, node_box, notes_of_others, stretches
from gradwire.runtime.diagram.layout.routes import route_of
from gradwire.runtime.diagram.model import MAIN, Diagram, Point
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.runtime.diagram.layout.frames.compound import Sketch
    from gradwire.runtime.diagram.layout.placing import XY, Box
    from gradwire.runtime.diagram.model import DiagramView, Note, PageView, Route
    from gradwire.runtime.diagram.paths import PortName


class Arrangement(NamedTuple):
    """A position for each block, the route of each wire that is not straight, and by id the frames
    and notes that move; also the bends that do.
    """

    places: dict[str, Point]
    routes: dict[PortName, Route]
    notes: dict[str, Note]
    bends: dict[PortName, tuple[Point, ...]]


@explained
def arrange(diagram: Diagram, page: str = MAIN) -> Diagram:
    """The diagram with one page arranged: a position for each block and a route for each wire.

    Blocks keep the order that they have on the page, unless another has fewer crossings; those in
    a frame stay together, and notes stay near their blocks. The same page always gets the same
    layout. Raises ChangeError if there is no such page.
    """
    if page not in diagram.pages:
        raise ChangeError(f"There is no page {page!r}.", location=Location(page=page))
    content = diagram.pages[page]
    places, routes, notes, bends = arrangement(diagram, page)
    notes, bends = {**content.notes, **notes}, {**content.bends, **bends}
    arranged = replace(content, layout=places, routes=routes, notes=notes, bends=bends)
    return diagram.with_page(page, arranged)


@uncollected()
def arrangement(
    diagram: DiagramView,
    page: str,
    names: Collection[str] = (),
    shown: ShownSizes = NOTHING_SHOWN,
) -> Arrangement:
    """A layout for the blocks called ``names``, or all if it is empty.

    It begins where these blocks begin now, or where it lies on no other block. Wires with bends
    get no route. ``shown`` is what needs more room on the canvas than usual.
    """
    content = diagram.pages[page]
    graph = LayoutGraph.of(diagram, page, names, shown)
    drawn = DrawnGraph(content, graph)
    was = _boxes(content, graph)
    others = {}
    if names:
        rest = set(content.blocks).difference(graph.names)
        others = _boxes(content, LayoutGraph.of(diagram, page, rest, shown)) if rest else {}
    group = groups_of(content.notes, [was.get(name) for name in graph.names], others.values())
    found = sketch(group, graph, drawn)
    x, y = _shift(content, graph, drawn, found, list(was.values()), list(others.values()))
    places = {name: Point(x + dx, y + dy) for name, (dx, dy) in zip(
        graph.names, map(found.corners.__getitem__, range(len(graph.names))), strict=True
    )}  # fmt: skip
    paths = {target: moved(found.paths[i], x, y) for i, target in enumerate(graph.targets)}
    routes = {
        target: route
        for target, path in paths.items()
        if target not in content.bends and (route := route_of(path))
    }
    now = {
        name: node_box(*at, node)
        for (name, at), node in zip(places.items(), graph.nodes, strict=True)
    }
    boxes = {
        id: (x + left, y + top, x + right, y + bottom)
        for id, (left, top, right, bottom) in found.boxes.items()
    }
    bends = _moved_bends(content, was, now) if content.bends else {}
    for target in bends.keys() | content.bends.keys():
        if target in paths:
            points = bends.get(target, content.bends[target])
            paths[target] = [paths[target][0], *points, paths[target][-1]]
    rooms = [graph.nodes[line.tail].lanes_room(line.leaves) for line in graph.lines]
    wires = list(zip(paths.values(), rooms, strict=True))
    around = Surroundings(content, was, now, others, boxes, wires)
    return Arrangement(places, routes, around.moved_notes(), bends)


def _boxes(page: PageView, graph: LayoutGraph) -> dict[str, Box]:
    """The blocks of a graph by name, as far as the page has positions for them."""
    return {
        name: node_box(*at, node)
        for name, node in zip(graph.names, graph.nodes, strict=True)
        if (at := page.layout.get(name)) and all(map(math.isfinite, at))
    }


def _moved_bends(
    page: PageView, was: Mapping[str, Box], now: Mapping[str, Box]
) -> dict[PortName, tuple[Point, ...]]:
    """The bends that move: by the mean of how the two ends of their wire do."""
    shifts = {
        name: (now[name][0] - box[0], now[name][1] - box[1])
        for name, box in was.items()
        if name in now
    }
    found = {}
    for target, points in page.bends.items():
        ends = (target.block, page.wires[target].block) if target in page.wires else ()
        begin, end = [shifts.get(name, (0.0, 0.0)) for name in ends] or [(0.0, 0.0)] * 2
        dx, dy = round((begin[0] + end[0]) / 2.0), round((begin[1] + end[1]) / 2.0)
        if dx or dy:
            found[target] = tuple(Point(x + dx, y + dy) for x, y in points)
    return found


def _shift(
    page: PageView,
    graph: LayoutGraph,
    drawn: DrawnGraph,
    found: Sketch,
    own: list[Box],
    others: list[Box],
) -> XY:
    """How far to move everything, so that it begins where its blocks did and avoids the others."""
    if not found.corners:
        return 0.0, 0.0
    left, top = drawn.corner or (0.0, 0.0)
    corners = found.corners.values()
    x, y = left - min(x for x, _ in corners), top - min(y for _, y in corners)
    if not others:
        return x, y
    obstacles = [*others, *notes_of_others(page.notes.values(), own, others)]
    boxes = [node_box(*at, graph.nodes[i]) for i, at in found.corners.items()]
    boxes += [*found.boxes.values()]
    boxes += [stretch for path in found.paths.values() for stretch in stretches(path)]
    return free_shift(boxes, obstacles, (x, y))
