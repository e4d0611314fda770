"""Tidies a page during an edit: its blocks, and with them bends and frames."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.diagram.layout.arranging import Graph
from runtime.diagram.layout.measures import WIDTH
from runtime.diagram.layout.tidying import tidied
from runtime.diagram.model import Point

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runtime.diagram.edits.draft import PageDraft
    from runtime.diagram.model import Note


def tidy(page: PageDraft, names: Collection[str] = ()) -> None:
    """Tidy the blocks called ``names``, or all if it is empty.

    Bends move by the mean of their wire's two ends; frames keep enclosing the same blocks.
    """
    was = {name: at for name, at in page.layout.items() if all(map(math.isfinite, at))}
    heights = dict(zip(page.blocks, Graph.of(page).heights, strict=True))
    framed = {
        name: (note, inside)
        for name, note in page.notes.items()
        if note.frame and (inside := _blocks_in(note, was, heights))
    }
    for name, at in tidied(page, was, names).items():
        if was.get(name) != at:
            page.place(name, at)
    shifts = {
        name: Point(at.x - was[name].x, at.y - was[name].y)
        for name, at in page.layout.items()
        if name in was and at != was[name]
    }
    _move_bends(page, shifts)
    for name, (frame, inside) in framed.items():
        if not shifts.keys().isdisjoint(inside):
            page.put_note(name, _around(frame, inside, was, page.layout, heights))


def _move_bends(page: PageDraft, shifts: Mapping[str, Point]) -> None:
    still = Point(0.0, 0.0)
    for target, bends in list(page.bends.items()):
        ends = (target.block, page.wires[target].block) if target in page.wires else ()
        begin, end = ([shifts.get(name, still) for name in ends] or [still] * 2)[:2]
        dx, dy = round((begin.x + end.x) / 2.0), round((begin.y + end.y) / 2.0)
        if dx or dy:
            page.bend(target, tuple(Point(x + dx, y + dy) for x, y in bends))


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
