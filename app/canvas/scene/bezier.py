"""The courses of wires: smooth curves from port to port through the bends, or square routes.

The waypoints of a wire are a row of numbers: x and y of its source port, of each bend or corner and
of its target port; 2 p numbers for p points.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.scene.camera import Camera

_SAG = 120.0
_SOFTNESS = 0.36
"""Length of a bend's handles as a share of the distance to the next point."""
CORNER = 22.0
"""Radius of the corners of square wires, scene units."""
_ROUND = 0.55
"""Length of a corner's handles as a share of its radius."""
_CORNER_STEPS = 6
"""A corner of the usual radius has this many times fewer segments than a curve."""


@dataclass(frozen=True, slots=True, eq=False)
class Courses:
    """The courses of wires with ``waypoints`` (m, 2 p), all of one kind.

    ``radius`` is that of the corners of square wires; curves through bends have none.
    """

    waypoints: Floats
    radius: float | None = None
    scale: float = 1.0
    """Units of the waypoints per scene unit: curves have the same form at every zoom."""

    def __len__(self) -> int:
        return len(self.waypoints)

    def only(self, chosen: Flags | Indices) -> Courses:
        """Some of the courses."""
        return replace(self, waypoints=self.waypoints[chosen])

    def to_widget(self, camera: Camera) -> Courses:
        """The courses in widget px."""
        radius = None if self.radius is None else self.radius * camera.zoom
        scale = self.scale * camera.zoom
        return Courses(camera.rows_to_widget(self.waypoints), radius, scale)

    def flatten(self, steps: int) -> Floats:
        """Points (m, k, 2) on the courses, with so many segments in each section of a curve."""
        if self.radius is None:
            return flatten(self.waypoints / self.scale, steps) * self.scale
        finer = max(1.0, math.sqrt(self.radius / CORNER))  # so that none is seen from near by
        corner = max(2, round(steps // _CORNER_STEPS * finer))
        return _round_corners(self.waypoints, self.radius, corner)

    def hull(self) -> Floats:
        """Points (m, k, 2) whose hull contains each course."""
        if self.radius is None:
            return controls(self.waypoints / self.scale) * self.scale
        return self.waypoints.reshape(len(self), -1, 2)

    def lines(self) -> Floats:
        """Straight lines (n, 4) from waypoint to waypoint."""
        count = self.waypoints.shape[1]
        return np.concatenate([self.waypoints[:, i : i + 4] for i in range(0, count - 2, 2)])


def controls(waypoints: Floats) -> Floats:
    """Control points (m, 3 p - 2, 2) of the cubic curves through ``waypoints`` (m, 2 p).

    Each curve begins where the one before ends. A wire leaves to the right and arrives from the
    left; one that runs backwards swings out, and sags where it would cover its own blocks.
    """
    return _between_ports(waypoints) if waypoints.shape[1] == 4 else _through_bends(waypoints)


def flatten(waypoints: Floats, steps: int) -> Floats:
    """Points (m, (p - 1) · steps + 1, 2) on the curves through ``waypoints`` (m, 2 p)."""
    t = np.linspace(0.0, 1.0, steps + 1)
    s = 1.0 - t
    weights = np.stack([s**3, 3 * s * s * t, 3 * s * t * t, t**3])
    corners = controls(waypoints)
    if corners.shape[1] == 4:
        return np.asarray(np.einsum("ks,mkd->msd", weights, corners))
    parts = np.stack([corners[:, i : i + 4] for i in range(0, corners.shape[1] - 1, 3)], axis=1)
    points = np.einsum("ks,mpkd->mpsd", weights[:, 1:], parts).reshape(len(waypoints), -1, 2)
    return np.concatenate([waypoints[:, None, :2], points], axis=1)


def _round_corners(waypoints: Floats, radius: float, steps: int) -> Floats:
    """Points (m, 2 + (p - 2) · (steps + 1), 2) on square wires with round corners.

    A corner begins and ends half way to its neighbours at most.
    """
    points = waypoints.reshape(len(waypoints), -1, 2)
    legs = np.diff(points, axis=1)
    lengths = np.abs(legs).sum(axis=2)
    along = legs / np.maximum(lengths, 1e-9)[..., None]
    room = np.minimum(radius, lengths / 2.0)
    room[:, 0], room[:, -1] = np.minimum(radius, lengths[:, [0, -1]].T)
    before = (room[:, :-1, None] * along[:, :-1])[:, :, None]
    after = (room[:, 1:, None] * along[:, 1:])[:, :, None]
    t = np.linspace(0.0, 1.0, steps + 1)[:, None]
    s = 1.0 - t
    into = -(s**3 + 3 * s * s * t * (1.0 - _ROUND)) * before
    out = (t**3 + 3 * s * t * t * (1.0 - _ROUND)) * after
    corners = points[:, 1:-1, None] + into + out
    return np.concatenate(
        [points[:, :1], corners.reshape(len(points), -1, 2), points[:, -1:]], axis=1
    )


def _between_ports(ends: Floats) -> Floats:
    x0, y0, x1, y1 = ends.T
    ahead, apart = x1 - x0, np.abs(y1 - y0)
    handle = _handle(ahead, apart)
    sag = np.where(ahead > 0, 0.0, np.maximum(_SAG - apart, 0.0))
    xs = np.column_stack([x0, x0 + handle, x1 - handle, x1])
    ys = np.column_stack([y0, y0 + sag, y1 + sag, y1])
    return np.stack([xs, ys], axis=2)


def _handle(ahead: Floats, apart: Floats) -> Floats:
    """Length of the handle at a port, by how far the curve goes right, and up or down."""
    forward = np.maximum(0.5 * ahead, np.minimum(0.5 * apart, 60.0))
    swing = np.clip(0.25 * apart + 40.0, 60.0, 180.0)
    return np.where(ahead > 0, np.where(apart < 0.5, ahead / 3.0, forward), swing)


def _through_bends(waypoints: Floats) -> Floats:
    points = waypoints.reshape(len(waypoints), -1, 2)
    legs = np.diff(points, axis=1)
    lengths = np.hypot(legs[..., 0], legs[..., 1])
    along = legs / np.maximum(lengths, 1e-9)[..., None]
    tangents = np.empty_like(points)
    tangents[:, [0, -1]] = (1.0, 0.0)
    tangents[:, 1:-1] = _tangents(along[:, :-1], along[:, 1:])
    handles = np.repeat(_SOFTNESS * lengths[..., None], 2, axis=2)
    handles[:, 0, 0] = _handle(legs[:, 0, 0], np.abs(legs[:, 0, 1]))
    handles[:, -1, 1] = _handle(legs[:, -1, 0], np.abs(legs[:, -1, 1]))
    leaving = points[:, :-1] + handles[..., :1] * tangents[:, :-1]
    arriving = points[:, 1:] - handles[..., 1:] * tangents[:, 1:]
    curves = np.stack([points[:, :-1], leaving, arriving], axis=2)
    return np.concatenate([curves.reshape(len(waypoints), -1, 2), points[:, -1:]], axis=1)


def _tangents(before: Floats, after: Floats) -> Floats:
    """Unit tangents (m, k, 2) at bends that wires enter along ``before`` and leave along ``after``.

    The harmonic mean of the two, per axis, as for monotone cubics, so that wires don't overshoot.
    Where that is small, the bisector takes over; where a wire turns back on itself, the left-hand
    normal of ``before``. Source: Fritsch & Butland 1984.
    """
    both = before * after
    total = np.where(both > 0.0, before + after, 1.0)
    shared = np.where(both > 0.0, 2.0 * both / total, 0.0)
    kept = np.hypot(shared[..., 0], shared[..., 1])[..., None]
    middle, aside = before + after, np.stack([before[..., 1], -before[..., 0]], axis=2)
    middle = np.where(np.abs(middle).max(axis=2, keepdims=True) > 1e-6, middle, aside)
    found = shared + (1.0 - kept) ** 4 * middle
    length = np.hypot(found[..., 0], found[..., 1])[..., None]
    flowing = np.where(length > 0.0, found, (1.0, 0.0))  # coinciding bends have no direction
    return np.asarray(flowing / np.where(length > 0.0, length, 1.0))
