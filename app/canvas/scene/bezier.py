"""The courses of wires: cubic curves from port to port, smooth through the bends between.

A course is a row of numbers, x and y of each point that the wire passes, ends included: four for
a straight wire, two more for each bend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats

_SAG = 120.0
_SOFTNESS = 0.36
"""Length of a bend's handles as a share of the way to the next point."""


def controls(courses: Floats) -> Floats:
    """Control points (m, 3 p - 2, 2) of the cubic curves that join the points of ``courses``
    (m, 2 p), each beginning where the one before ends.

    A wire leaves to the right and arrives from the left; one that runs back swings out, and sags
    where it would lie on its own blocks. It runs smoothly through its bends.
    """
    return _between_ports(courses) if courses.shape[1] == 4 else _through_bends(courses)


def flatten(courses: Floats, steps: int) -> Floats:
    """Points (m, (p - 1) · steps + 1, 2) along ``courses`` (m, 2 p), ``steps`` to each bend."""
    t = np.linspace(0.0, 1.0, steps + 1)
    s = 1.0 - t
    weights = np.stack([s**3, 3 * s * s * t, 3 * s * t * t, t**3])
    corners = controls(courses)
    if corners.shape[1] == 4:
        return np.asarray(np.einsum("ks,mkd->msd", weights, corners))
    parts = np.stack([corners[:, i : i + 4] for i in range(0, corners.shape[1] - 1, 3)], axis=1)
    points = np.einsum("ks,mpkd->mpsd", weights[:, 1:], parts).reshape(len(courses), -1, 2)
    return np.concatenate([courses[:, None, :2], points], axis=1)


def _between_ports(ends: Floats) -> Floats:
    x0, y0, x1, y1 = ends.T
    ahead, apart = x1 - x0, np.abs(y1 - y0)
    reach = _reach(ahead, apart)
    sag = np.where(ahead > 0, 0.0, np.maximum(_SAG - apart, 0.0))
    xs = np.column_stack([x0, x0 + reach, x1 - reach, x1])
    ys = np.column_stack([y0, y0 + sag, y1 + sag, y1])
    return np.stack([xs, ys], axis=2)


def _reach(ahead: Floats, apart: Floats) -> Floats:
    """How far a curve keeps to a port's direction, by how far it goes right, and up or down."""
    forward = np.maximum(0.5 * ahead, np.minimum(0.5 * apart, 60.0))
    swing = np.clip(0.25 * apart + 40.0, 60.0, 180.0)
    return np.where(ahead > 0, np.where(apart < 0.5, ahead / 3.0, forward), swing)


def _through_bends(courses: Floats) -> Floats:
    points = courses.reshape(len(courses), -1, 2)
    ways = np.diff(points, axis=1)
    lengths = np.hypot(ways[..., 0], ways[..., 1])
    along = ways / np.maximum(lengths, 1e-9)[..., None]
    tangents = np.empty_like(points)
    tangents[:, [0, -1]] = (1.0, 0.0)
    tangents[:, 1:-1] = _tangents(along[:, :-1], along[:, 1:])
    handles = np.repeat(_SOFTNESS * lengths[..., None], 2, axis=2)
    handles[:, 0, 0] = _reach(ways[:, 0, 0], np.abs(ways[:, 0, 1]))
    handles[:, -1, 1] = _reach(ways[:, -1, 0], np.abs(ways[:, -1, 1]))
    leaving = points[:, :-1] + handles[..., :1] * tangents[:, :-1]
    arriving = points[:, 1:] - handles[..., 1:] * tangents[:, 1:]
    legs = np.stack([points[:, :-1], leaving, arriving], axis=2)
    return np.concatenate([legs.reshape(len(courses), -1, 2), points[:, -1:]], axis=1)


def _tangents(before: Floats, after: Floats) -> Floats:
    """Unit directions (m, k, 2) through bends that wires reach along ``before`` and leave along
    ``after``.

    What goes the same way on both sides is kept (harmonic mean, as monotone cubics have), so a
    wire doesn't overshoot; where that leaves little, the bisector counts, and to the left of
    ``before`` where a wire turns right round. Source: Fritsch & Butland 1984.
    """
    both = before * after
    total = np.where(both > 0.0, before + after, 1.0)
    shared = np.where(both > 0.0, 2.0 * both / total, 0.0)
    kept = np.hypot(shared[..., 0], shared[..., 1])[..., None]
    middle, aside = before + after, np.stack([before[..., 1], -before[..., 0]], axis=2)
    middle = np.where(np.abs(middle).max(axis=2, keepdims=True) > 1e-6, middle, aside)
    found = shared + (1.0 - kept) ** 4 * middle
    length = np.hypot(found[..., 0], found[..., 1])[..., None]
    flowing = np.where(length > 0.0, found, (1.0, 0.0))  # bends on each other have no direction
    return np.asarray(flowing / np.where(length > 0.0, length, 1.0))
