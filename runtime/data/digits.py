"""Digits of 8×8 pixels, drawn with a pen: strokes that are moved, turned, and thick or thin."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIDE = 8
"""Pixels along each edge."""

_CHUNK = 4096
"""Digits drawn at once."""


def _arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> list[Any]:
    """Points of an ellipse, from one angle to another in degrees; y points down."""
    steps = max(4, round(abs(end - start) / 30))
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


_STROKES: tuple[tuple[list[Any], ...], ...] = (
    (_arc(0.0, 0.0, 0.42, 0.75, 0, 360),),
    ([(-0.3, -0.45), (0.05, -0.75), (0.05, 0.75)],),
    ([*_arc(0.0, -0.35, 0.42, 0.4, -170, 30), (-0.42, 0.75), (0.48, 0.75)],),
    (
        [*_arc(0.0, -0.38, 0.4, 0.37, -150, 80), (-0.05, 0.0)],
        _arc(0.0, 0.37, 0.42, 0.38, -85, 150),
    ),
    ([(0.2, 0.75), (0.2, -0.75), (-0.5, 0.3), (0.5, 0.3)],),
    (
        [(0.4, -0.75), (-0.32, -0.75), (-0.36, -0.1)],
        _arc(-0.02, 0.27, 0.42, 0.46, -140, 140),
    ),
    ([(0.28, -0.75), (-0.2, -0.3), (-0.4, 0.3)], _arc(0.0, 0.33, 0.4, 0.42, 0, 360)),
    ([(-0.42, -0.75), (0.42, -0.75), (-0.12, 0.75)],),
    (_arc(0.0, -0.38, 0.36, 0.36, 0, 360), _arc(0.0, 0.37, 0.42, 0.38, 0, 360)),
    (_arc(0.0, -0.33, 0.4, 0.42, 0, 360), [(0.4, -0.33), (0.22, 0.3), (-0.2, 0.75)]),
)
"""The strokes of each digit, in a square from -1 to 1."""


def _segments(digit: int) -> Floats:
    """The straight pieces of a digit's strokes: begin and end, (pieces, 2, 2)."""
    pieces = [pair for stroke in _STROKES[digit] for pair in pairwise(stroke)]
    return np.array(pieces, dtype=np.float64)


def digits(labels: NDArray[np.int64], random: np.random.Generator) -> Floats:
    """Pictures (count, 8, 8) from 0, paper, to 1, ink, of these digits."""
    count = labels.size
    turn = random.normal(0.0, 0.12, count)
    size = random.uniform(0.85, 1.1, (count, 2))
    shift = random.uniform(-0.16, 0.16, (count, 2))
    slant = random.normal(0.0, 0.12, count)
    thickness = random.uniform(0.09, 0.2, count)
    grid = (np.arange(SIDE) + 0.5) * (2.0 / SIDE) - 1.0
    pixels = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    pictures = np.empty((count, SIDE * SIDE))
    for digit in range(10):
        rows = np.flatnonzero(labels == digit)
        ends = _segments(digit)
        for some in np.array_split(rows, max(1, math.ceil(rows.size / _CHUNK))):
            # Moving the paper under the pen, not the pen: one set of strokes serves all.
            at = (pixels - shift[some, None]) / size[some, None]
            cosine, sine = np.cos(turn[some])[:, None], np.sin(turn[some])[:, None]
            x, y = at[..., 0] * cosine + at[..., 1] * sine, at[..., 1] * cosine - at[..., 0] * sine
            distance = _distance(np.stack([x + slant[some, None] * y, y], axis=-1), ends)
            pictures[some] = _ink(distance, thickness[some, None])
    return pictures.reshape(count, SIDE, SIDE)


def _distance(points: Floats, ends: Floats) -> Floats:
    """Distance (count, pixels) of points (count, pixels, 2) from the nearest piece."""
    nearest: Floats = np.full(points.shape[:-1], np.inf)
    for begin, end in ends:
        along = end - begin
        share = np.clip((points - begin) @ along / (along @ along), 0.0, 1.0)
        offset = points - begin - share[..., None] * along
        nearest = np.minimum(nearest, (offset**2).sum(axis=-1))
    return np.sqrt(nearest)


def _ink(distance: Floats, thickness: Floats) -> Floats:
    """Full ink within half the thickness of a stroke, none a pixel further."""
    return np.clip(1.0 - (distance - thickness / 2) / (2.0 / SIDE), 0.0, 1.0)
