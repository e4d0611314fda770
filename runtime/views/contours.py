"""Where a function on a grid has one value: the pieces of its contour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gradwire.runtime.views.axes import Axis, Floats

_MOST = 96
"""Rows and columns of a grid that a contour is drawn for."""


def contour(values: Floats, level: float, x: Axis, y: Axis) -> Floats:
    """Pieces (k, 4) of the line where ``values`` (r, c) are ``level``: x and y of both ends.

    The first row is at the top. Each cell is cut into two triangles, in each of which the values
    are taken for a plane, so that the line has no gaps; cells with a NaN have none. Of large grids
    some rows and columns are taken.
    """
    rows, columns = (_chosen(count) for count in values.shape)
    values = values[rows][:, columns]
    heights = values - level
    above = heights > 0.0
    same = (above[:-1, :-1] == above[:-1, 1:]) & (above[1:, :-1] == above[1:, 1:])
    row, column = np.nonzero(~(same & (above[:-1, :-1] == above[1:, :-1])))
    across = x.low + (x.high - x.low) * columns / columns[-1]
    up = y.high - (y.high - y.low) * rows / rows[-1]

    def corner(down: int, right: int) -> Floats:
        i, j = row + down, column + right
        return np.column_stack([across[j], up[i], heights[i, j]])

    a, b, c, d = corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)
    pieces = [_cut(a, b, c), _cut(d, c, b)]
    return np.concatenate(pieces)


def _chosen(count: int) -> NDArray[np.intp]:
    """At most ``_MOST`` of so many rows, both ends among them: more are not seen in a line."""
    return np.linspace(0, count - 1, min(count, _MOST)).round().astype(np.intp)


def _cut(*corners: NDArray[np.float64]) -> Floats:
    """Pieces (k, 4) where planes through triangles of corners (n, 3) are zero."""
    heights = np.stack([corner[:, 2] for corner in corners])
    above = heights > 0.0
    mixed = np.isfinite(heights).all(axis=0) & above.any(axis=0) & ~above.all(axis=0)
    first, second, third = (corner[mixed] for corner in corners)
    ends = []
    for one, other in ((first, second), (second, third), (third, first)):
        crosses = (one[:, 2] > 0.0) != (other[:, 2] > 0.0)
        with np.errstate(all="ignore"):
            share = one[:, 2] / (one[:, 2] - other[:, 2])
            between = one[:, :2] + share[:, None] * (other - one)[:, :2]
        ends.append(np.where(crosses[:, None], between, np.nan))
    known = np.stack(ends, axis=1)
    # Two of the three edges are crossed: sorted by whether they are, these come first.
    order = np.argsort(np.isnan(known[:, :, 0]), axis=1, kind="stable")[:, :2]
    return np.take_along_axis(known, order[:, :, None], axis=1).reshape(-1, 4)
