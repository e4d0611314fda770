"""The gradient of images whose windows move by one element: adds windows back to them.

With rows as long as those of a padded image, what all windows have at one place lies side by side
in the image: numpy adds all of that in one loop, and not row by row. Some images, or some channels,
go through all places of the window while they are in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.primitives.convolution import Geometry

MOST = 1 << 18
"""Products of filters and gradients that are written out before they are added."""

MOST_ALONE = 1 << 16
"""Elements of the images that are added to at a time, where each filter is a group."""


def windows_back(g: Array, w: Array, out: Array, geometry: Geometry, groups: int) -> None:
    """Images (N, C, rows, columns) in ``out``, to whose windows gradients (N, F, …) times weights
    (F, C / groups, window) are added back.
    """
    filters, channels = len(w) // groups, w.shape[1]
    for images, some in _blocks(g, w, out, geometry, groups):
        rows = slice(some.start * filters, some.stop * filters)
        part = out[images, some.start * channels : some.stop * channels]
        _add_back(g[images, rows], w[rows], part, geometry, some.stop - some.start)


def _blocks(
    g: Array, w: Array, out: Array, geometry: Geometry, groups: int
) -> Iterator[tuple[slice, slice]]:
    """Images and groups that are computed at a time."""
    size = w.shape[1] * g.shape[2] * (out.shape[3] + sum(geometry.padding[1]))
    if len(w) == groups:
        most, some = MOST_ALONE, max(1, min(groups, MOST_ALONE // max(1, size)))
    else:
        most, some = MOST // (geometry.window[0] * geometry.window[1]), groups
    count = max(1, most // max(1, some * size))
    for i, j in product(range(0, len(g), count), range(0, groups, some)):
        yield slice(i, i + count), slice(j, min(j + some, groups))


def _add_back(g: Array, w: Array, out: Array, geometry: Geometry, groups: int) -> None:
    n, filters, height, width = g.shape
    (top, bottom), (left, right) = geometry.padding
    length, down = left + out.shape[3] + right, top + out.shape[2] + bottom
    rows = np.zeros((filters, n, height, length), g.dtype)
    rows[..., :width] = g.swapaxes(0, 1)
    whole = np.zeros((out.shape[1], n, down * length), out.dtype)
    covered = (height - 1) * length + width
    for i, j, patches in _patches(rows, w, groups):
        first = i * geometry.dilation[0] * length + j * geometry.dilation[1]
        whole[..., first : first + covered] += patches[..., :covered]
    found = whole.reshape(-1, n, down, length).swapaxes(0, 1)
    out[...] = found[..., top : top + out.shape[2], left : left + out.shape[3]]


def _patches(rows: Array, w: Array, groups: int) -> Iterator[tuple[int, int, Array]]:
    """What gradients (F, N, rows, columns) add at each place of the window: (C, N, elements)."""
    filters, n = rows.shape[:2]
    each, *window = w.shape[1:]
    if filters == groups:
        gradients = rows.reshape(groups, 1, n, -1)
        found = np.empty((groups, each, *gradients.shape[2:]), rows.dtype)
        for i, j in np.ndindex(*window):
            np.multiply(w[:, :, i, j, None, None], gradients, found)
            yield i, j, found.reshape(groups * each, n, -1)
        return
    weights = w.reshape(groups, filters // groups, -1).swapaxes(1, 2)
    products = weights @ rows.reshape(groups, filters // groups, -1)
    products = products.reshape(groups * each, *window, n, -1)
    for i, j in np.ndindex(*window):
        yield i, j, products[:, i, j]
