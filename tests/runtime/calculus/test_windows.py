"""Gradients of images, to which windows are added back in long rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus.kernels import windows
from gradwire.runtime.calculus.primitives import convolution
from gradwire.runtime.calculus.primitives.convolution import Geometry

Array = np.ndarray[Any, Any]

CASES = [
    # images, weights, geometry, groups
    ((3, 4, 6, 7), (4, 1, 3, 3), Geometry((3, 3), padding=((1, 1), (1, 1))), 4),
    ((3, 4, 6, 7), (8, 1, 3, 2), Geometry((3, 2), padding=((0, 2), (1, 0))), 4),
    ((2, 6, 5, 9), (2, 3, 2, 3), Geometry((2, 3), dilation=(2, 3)), 2),
    ((5, 6, 8, 5), (9, 2, 3, 3), Geometry((3, 3), padding=((2, 2), (2, 2)), dilation=(2, 1)), 3),
    ((4, 3, 9, 9), (5, 3, 3, 3), Geometry((3, 3), padding=((1, 0), (0, 1))), 1),
    ((2, 3, 1, 40), (4, 3, 1, 5), Geometry((1, 5)), 1),
    ((2, 4, 3, 3), (6, 2, 1, 1), Geometry((1, 1)), 2),
    ((2, 4, 7, 7), (4, 1, 3, 3), Geometry((3, 3), (2, 2), ((1, 1), (1, 1))), 4),
    ((2, 6, 7, 8), (4, 3, 3, 3), Geometry((3, 3), (2, 1)), 2),
    ((0, 3, 5, 5), (2, 3, 3, 3), Geometry((3, 3)), 1),
]


def added_back(g: Array, w: Array, shape: tuple[int, ...], how: Geometry, groups: int) -> Array:
    """Window by window, filter by filter."""
    (top, bottom), (left, right) = how.padding
    n, channels, height, width = shape
    found = np.zeros((n, channels, top + height + bottom, left + width + right))
    each, filters = channels // groups, len(w) // groups
    for f, y, x, i, j in np.ndindex(len(w), *g.shape[2:], *how.window):
        first = f // filters * each
        row = y * how.stride[0] + i * how.dilation[0]
        column = x * how.stride[1] + j * how.dilation[1]
        found[:, first : first + each, row, column] += g[:, f, y, x, None] * w[f, :, i, j]
    return found[:, :, top : top + height, left : left + width]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "weights", "geometry", "groups"), CASES)
@pytest.mark.parametrize("most", [1, 300, 1 << 18])
def test_windows_are_added_back_where_they_came_from(
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    geometry: Geometry,
    groups: int,
    dtype: str,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(windows, "MOST", most)
    monkeypatch.setattr(windows, "MOST_ALONE", most)
    random = np.random.default_rng(0)
    places = geometry.output((shape[2], shape[3]))
    g = random.standard_normal((shape[0], weights[0], *places)).astype(dtype)
    w = random.standard_normal(weights).astype(dtype)
    out = np.full(shape, np.nan, dtype)
    convolution._conv_x_kernel(g, w, out=out, shape=shape, geometry=geometry, groups=groups)
    expected = added_back(g.astype(float), w.astype(float), shape, geometry, groups)
    np.testing.assert_allclose(out, expected, atol=100 * np.finfo(dtype).eps)
