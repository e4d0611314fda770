"""The array types of the canvas, what they have in them, and rectangles; below all else."""

from __future__ import annotations

from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.values import Array
from gradwire.runtime.diagram import Note, Point

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

_Array = TypeVar("_Array", bound=Array)

NO_INDICES: Indices = np.zeros(0, np.intp)
NO_POINTS: Floats = np.zeros((0, 2))


def distinct(values: _Array) -> _Array:
    """The distinct ones of ``values`` (n,), in order (k,); none is NaN.

    np.unique does so too, but imports numpy.ma first, which takes as long as a frame.
    """
    found = np.sort(values)
    is_first = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    return found[is_first]  # type: ignore[return-value]  # of the same kind


def runs(first: NDArray[np.signedinteger[Any]], counts: NDArray[np.signedinteger[Any]]) -> Indices:
    """The numbers from each of ``first`` (k,) on, as many as ``counts`` (k,) says."""
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, counts) + np.arange(int(counts.sum()))


def repeated(counts: Indices) -> tuple[Indices, Indices]:
    """Each index as often as ``counts`` says, and the number of the repetition."""
    return np.repeat(np.arange(len(counts)), counts), runs(np.zeros_like(counts), counts)


def corners_of(known: list[Point | None]) -> list[Point]:
    """Corners of all blocks: those without a place go in rows of eight below the rest."""
    placed = [corner for corner in known if corner is not None]
    if len(placed) == len(known):
        return placed
    top = max((corner.y for corner in placed), default=-200.0) + 200.0
    left = min((corner.x for corner in placed), default=0.0)
    rows = (Point(left + 240.0 * (i % 8), top + 120.0 * (i // 8)) for i in count())
    return [next(rows) if corner is None else corner for corner in known]


def around(rects: Floats) -> Floats | None:
    """Left, top, right, bottom of all rectangles (k, 4: left, top, width, height); None without."""
    return around_sides(sides_of(rects))


def around_sides(sides: Floats) -> Floats | None:
    """The sides of the bounds around all rectangles with these sides (k, 4); None without any."""
    if not len(sides):
        return None
    left, top, right, bottom = sides.T  # one by one: numpy is slow along the first of two axes
    return np.array([left.min(), top.min(), right.max(), bottom.max()])


def sides_of(rects: Floats) -> Floats:
    """Left, top, right, bottom of rectangles (n, 4: left, top, width, height)."""
    return np.concatenate([rects[:, :2], rects[:, :2] + rects[:, 2:]], axis=1)


def note_rect(note: Note) -> tuple[float, float, float, float]:
    """Left, top, width, height of a note."""
    return (note.at.x, note.at.y, note.width, note.height)


def overlapping(rects: Floats, area: Floats) -> Indices:
    """Which of ``rects`` (n, 4: left, top, width, height) touch ``area`` (its four sides)."""
    left, top, right, bottom = area
    some = np.flatnonzero((rects[:, 0] < right) & (rects[:, 0] + rects[:, 2] > left))
    _, y, _, h = rects[some].T  # of a large page few are level with the area
    found: Indices = some[(y < bottom) & (y + h > top)]
    return found


def crossing(sides: Floats, area: Floats) -> Indices:
    """Which of ``sides`` (n, 4: left, top, right, bottom) touch ``area`` (its four sides)."""
    left, top, right, bottom = area
    some = np.flatnonzero((sides[:, 0] < right) & (sides[:, 2] > left))
    _, y0, _, y1 = sides[some].T
    found: Indices = some[(y0 < bottom) & (y1 > top)]
    return found
