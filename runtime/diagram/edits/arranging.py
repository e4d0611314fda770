"""Arranges a page during an edit: its blocks and wires, and with them bends and frames."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.diagram.edits.routes import settle_routes
from runtime.diagram.layout.arranging import arrangement
from runtime.diagram.layout.graph import Graph
from runtime.diagram.layout.measures import WIDTH
from runtime.diagram.layout.placing import block_box, distance, free_shift
from runtime.diagram.model import Point

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runtime.diagram.edits.draft import Draft
    from runtime.diagram.edits.page_draft import PageDraft
    from runtime.diagram.model import Note


def arrange_blocks(
    draft: Draft, name: str, names: Collection[str], face_lines: Mapping[str, int]
) -> None:
    """Arrange the blocks called ``names`` of a page, or all if it is empty, and route their wires.

    Bends move by the mean of their wire's two ends; frames keep enclosing the same blocks, and
    notes stay beside them.
    """
    page = draft.page(name)
    before = page.layout
    was = {block: at for block, at in before.items() if all(map(math.isfinite, at))}
    graph = Graph.of(draft, name, (), face_lines)
    heights = dict(zip(graph.names, graph.heights, strict=True))
    framed = {
        id: (note, inside)
        for id, note in page.notes.items()
        if note.frame and (inside := _blocks_in(note, was, heights))
    }
    places, routes = arrangement(draft, name, names, face_lines)
    for block, at in places.items():
        if before.get(block) != at:
            page.place(block, at)
    settle_routes(draft, name)
    for target in [*page.routes.keys() - page.wires.keys()]:
        page.route(target, ())
    for target in page.wires:
        if target in routes or (target.block in places and page.wires[target].block in places):
            page.route(target, routes.get(target, ()))
    page.routed_layout = dict(page.layout)
    shifts = {
        block: Point(at.x - was[block].x, at.y - was[block].y)
        for block, at in page.layout.items()
        if block in was and at != was[block]
    }
    _move_bends(page, shifts)
    if shifts:
        _move_notes(page, was, shifts, heights)
    for id, (frame, inside) in framed.items():
        if not shifts.keys().isdisjoint(inside):
            page.put_note(id, _around(frame, inside, was, page.layout, heights))


def _move_bends(page: PageDraft, shifts: Mapping[str, Point]) -> None:
    still = Point(0.0, 0.0)
    for target, bends in list(page.bends.items()):
        ends = (target.block, page.wires[target].block) if target in page.wires else ()
        begin, end = ([shifts.get(name, still) for name in ends] or [still] * 2)[:2]
        dx, dy = round((begin.x + end.x) / 2.0), round((begin.y + end.y) / 2.0)
        if dx or dy:
            page.bend(target, tuple(Point(x + dx, y + dy) for x, y in bends))


def _move_notes(
    page: PageDraft,
    was: Mapping[str, Point],
    shifts: Mapping[str, Point],
    heights: Mapping[str, float],
) -> None:
    """Move each note with the block that was nearest to it, to where it lies on no block."""
    obstacles = [
        block_box(*at, heights[name]) for name, at in page.layout.items() if name in heights
    ]
    before = {name: block_box(*at, heights[name]) for name, at in was.items() if name in heights}
    for id, note in page.notes.items():
        if note.frame or not before:
            continue
        box = (*note.at, note.at.x + note.width, note.at.y + note.height)
        nearest = min(before, key=lambda name: distance(box, before[name]))
        x, y = free_shift([box], obstacles, shifts.get(nearest, Point(0.0, 0.0)))
        obstacles.append((box[0] + x, box[1] + y, box[2] + x, box[3] + y))
        if x or y:
            page.put_note(id, replace(note, at=Point(note.at.x + x, note.at.y + y)))


def _blocks_in(frame: Note, places: Mapping[str, Point], heights: Mapping[str, float]) -> list[str]:
    """The blocks that lie entirely inside a frame."""
    left, top = frame.at
    right, bottom = left + frame.width, top + frame.height
    return [
        name
        for name, (x, y) in places.items()
        if left <= x and top <= y and x + WIDTH <= right and y + heights.get(name, 0.0) <= bottom
    ]


def _around(
    frame: Note,
    blocks: Collection[str],
    was: Mapping[str, Point],
    now: Mapping[str, Point],
    heights: Mapping[str, float],
) -> Note:
    """The frame with the same margins around these blocks as before."""
    x0, y0, x1, y1 = _bounds(blocks, was, heights)
    left, top, right, bottom = _bounds(blocks, now, heights)
    at = Point(frame.at.x + left - x0, frame.at.y + top - y0)
    width = frame.width + (right - left) - (x1 - x0)
    return replace(frame, at=at, width=width, height=frame.height + (bottom - top) - (y1 - y0))


def _bounds(
    blocks: Collection[str], places: Mapping[str, Point], heights: Mapping[str, float]
) -> tuple[float, float, float, float]:
    return (
        min(places[name].x for name in blocks),
        min(places[name].y for name in blocks),
        max(places[name].x for name in blocks) + WIDTH,
        max(places[name].y + heights[name] for name in blocks),
    )
