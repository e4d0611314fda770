"""Points in a plane, by class or by shade."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.axes import Axis, axis_around
from gradwire.runtime.views.colours import FIRST
from gradwire.runtime.views.levels import levels_of, limits_of, span
from gradwire.runtime.views.pictures import NoPicture, Picture, PointMarks, ScatterPicture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.blocks.library.views import Field, Scatter
    from gradwire.blocks.values import Array
    from gradwire.runtime.views.pictures import Levels

MOST_POINTS = 2000
"""Points of one input that are drawn; of more, these many evenly chosen ones are."""
_MOST_CLASSES = 64
_MOST_FLOAT_CLASSES = 8
"""Different whole numbers up to which floats are classes too: targets of a loss are floats."""


def scatter(
    block: Scatter, points: Array | None, colour: Array | None, others: Array | None
) -> Picture:
    """The picture of a Scatter for the values of its inputs, None where they are not wired."""
    if points is None and others is None:
        return NoPicture(summary="wire points (n, 2)")
    x, y = plane(block, points, others)
    marks, labels, shades = marks_of(points, colour)
    if others is not None:
        marks = (*marks, PointMarks(thinned(others), crosses=True))
    return ScatterPicture(
        x=x,
        y=y,
        marks=marks,
        labels=labels,
        summary=", ".join(filter(None, [_counted(points, others), _plane_text(x, y), shades])),
        notes=tuple(point_notes(x, y, points, others)),
    )


def plane(block: Scatter | Field, *arrays: Array | None) -> tuple[Axis, Axis]:
    """The axes of a plane that show all points, where the block does not say which."""
    given = [array for array in arrays if array is not None]
    return (
        axis_around([array[:, 0] for array in given], block.x_min, block.x_max),
        axis_around([array[:, 1] for array in given], block.y_min, block.y_max),
    )


def marks_of(
    points: Array | None, colour: Array | None
) -> tuple[tuple[PointMarks, ...], tuple[str, ...], str]:
    """The marks of points, the names of their classes, and the range of their shades in words."""
    if points is None:
        return (), (), ""
    shown = thinned(points)
    if colour is None:
        return (PointMarks(shown),), (), ""
    values = thinned(np.asarray(colour).reshape(-1))
    every = _classes_of(np.asarray(colour))
    if every is not None:
        first = FIRST
        if len(every) == 1 and every[0] > 0:  # a batch of one of two classes, 0 and 1 or −1 and 1
            first += 1
        levels = (first + np.searchsorted(every, values)).astype(np.uint8)
        names = tuple(number(each) for each in every)
        return (PointMarks(shown, levels),), names, f"{len(names)} classes"
    low, high = limits_of(colour, None, None)
    shades: Levels = levels_of(values, low, high)
    return (PointMarks(shown, shades, "sequential"),), (), f"shades {span(low, high)}"


def _classes_of(colour: Array) -> Array | None:
    """The classes of labels in order; None where the numbers are shades."""
    most = _MOST_CLASSES
    if colour.dtype.kind not in "biu":
        with np.errstate(invalid="ignore"):
            if not bool((np.floor(colour) == colour).all() and np.isfinite(colour).all()):
                return None
        most = _MOST_FLOAT_CLASSES
    every: Array = np.unique(colour)
    return every if len(every) <= most else None


def point_notes(x: Axis, y: Axis, *arrays: Array | None) -> Iterator[str]:
    """What of the points is not drawn."""
    for array in arrays:
        if array is None:
            continue
        if len(array) > MOST_POINTS:
            yield f"{MOST_POINTS:,} of {len(array):,} points"
        finite = np.isfinite(np.asarray(array, np.float64)).all(axis=1)
        if bad := int(np.count_nonzero(~finite)):
            yield f"{bad:,} not finite"
        across, up = array[:, 0], array[:, 1]
        with np.errstate(invalid="ignore"):
            beyond = (across < x.low) | (across > x.high) | (up < y.low) | (up > y.high)
        if outside := int(np.count_nonzero(finite & beyond)):
            yield f"{outside:,} beyond the axes"


def thinned(array: Array) -> Array:
    """At most ``MOST_POINTS`` rows, evenly chosen."""
    rows: Array = np.asarray(array)
    if len(rows) <= MOST_POINTS:
        return rows
    chosen: Array = rows[np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int)]
    return chosen


def _counted(points: Array | None, others: Array | None) -> str:
    first = [] if points is None else [f"{len(points):,} points"]
    return " and ".join([*first, *([] if others is None else [f"{len(others):,} others"])])


def _plane_text(x: Axis, y: Axis) -> str:
    return f"x {span(x.low, x.high)}, y {span(y.low, y.high)}"
