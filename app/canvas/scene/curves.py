"""The courses of wires: smooth curves from port to port through the bends, or square routes.

The waypoints of a wire are a row of numbers: x and y of its source port, of each bend or corner and
of its target port; 2 p numbers for p points. Courses are flattened to rows of points: these are
offset, measured by arc length, and cut into the segments that draw them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

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


_STRAIGHT = 0.25
"""Largest bulge of a curve that is drawn as one segment, px."""
_APART_AT_ENDS = 0.01
"""Distance of the points at the ends of a curve that is cut shorter, px."""
_OVERLAP = 0.4
"""Overlap of the segments of a curve, px."""
_REMEMBERED = 8
"""Sets of spots that are remembered on the same curves."""


def offset(points: Floats, distance: float) -> Floats:
    """The curves ``points`` (m, k, 2) offset to their right-hand side by ``distance``."""
    along = np.gradient(points, axis=1)
    along /= np.maximum(np.hypot(along[..., 0], along[..., 1]), 1e-9)[..., None]
    return points + distance * np.stack([-along[..., 1], along[..., 0]], axis=2)


def touching(points: Floats, box: Floats) -> Flags:
    """Which segments (m, k - 1) of the curves ``points`` (m, k, 2) may touch ``box`` (4,: left,
    top, right, bottom).
    """
    x, y = points[..., 0], points[..., 1]
    left, top, right, bottom = box.tolist()
    sides = (x < left, x > right, y < top, y > bottom)
    beyond = [side[:, :-1] & side[:, 1:] for side in sides]
    seen: Flags = ~(beyond[0] | beyond[1] | beyond[2] | beyond[3])
    return seen


def strokes(points: Floats) -> Floats:
    """Segments (n, 4) that draw the curves ``points`` (m, k, 2) without seams.

    Straight curves become one segment. Other segments overlap by a fraction of a pixel, since
    antialiasing would leave light dots between them, and round caps dark ones.
    """
    first, last = points[:, 0], points[:, -1]
    chord = last - first
    away = points - first[:, None]
    bulge = np.abs(away[..., 0] * chord[:, None, 1] - away[..., 1] * chord[:, None, 0]).max(axis=1)
    bent = bulge > _STRAIGHT * np.maximum(np.hypot(*chord.T), 1e-9)
    curves = points[bent]
    lines = np.concatenate([curves[:, :-1], curves[:, 1:]], axis=2).reshape(-1, 4)
    along = lines[:, 2:] - lines[:, :2]
    along *= _OVERLAP / np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    lines[:, :2] -= along
    lines[:, 2:] += along
    return np.concatenate([lines, np.concatenate([first[~bent], last[~bent]], axis=1)])


class Polylines:
    """The curves ``points`` (m, k, 2), parametrised by arc length.

    ``lengths`` (m,) are their lengths, in the unit of the points. With ``box`` (4,: left, top,
    right, bottom), marks and dashes are left out that begin outside of it.
    """

    def __init__(self, points: Floats, box: Floats | None = None) -> None:
        m, k, _ = points.shape
        steps = np.hypot(*np.moveaxis(np.diff(points, axis=1), 2, 0))
        walked = np.zeros((m, k))
        np.cumsum(np.maximum(steps, 1e-6), axis=1, out=walked[:, 1:])
        self.lengths: Floats = walked[:, -1]
        self._start = np.concatenate([[0.0], np.cumsum(self.lengths + 1.0)[:-1]])[:m]
        self._axis = (walked + self._start[:, None]).ravel()
        self._points = points.reshape(-1, 2)
        self._walked = walked
        self._spots: dict[bytes, tuple[Floats, Floats]] = {}
        self._stretches = None if box is None else self._within(points, box)

    def _within(self, points: Floats, box: Floats) -> tuple[Indices, Floats, Floats]:
        """Curve, begin and end of each stretch in ``box``, none longer than a segment."""
        curve, part = np.nonzero(touching(points, box))
        start, end = points[curve, part], points[curve, part + 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = ((corner - start) / (end - start) for corner in (box[:2], box[2:]))
        level = start == end  # neither enters nor leaves the box along this axis
        enter = np.where(level, 0.0, np.minimum(low, high)).max(axis=1)
        leave = np.where(level, 1.0, np.maximum(low, high)).min(axis=1)
        begin, whole = self._walked[curve, part], self._walked[curve, part + 1]
        return (
            curve,
            np.where(enter > 0.0, begin + enter * (whole - begin), begin),
            np.where(leave < 1.0, begin + leave * (whole - begin), whole),
        )

    def at(self, curve: Indices, distance: Floats) -> Floats:
        """Points (n, 2) at ``distance`` (n,) from the start of ``curve`` (n,)."""
        place = self._start[curve] + np.clip(distance, 0.0, self.lengths[curve])
        return np.column_stack(
            [np.interp(place, self._axis, self._points[:, axis]) for axis in (0, 1)]
        )

    def spots(self, distances: Floats) -> tuple[Floats, Floats]:
        """Points, and unit tangents there, (m, k, 2) at ``distances`` (m, k); remembered."""
        key = distances.tobytes()
        if key not in self._spots:
            if len(self._spots) >= _REMEMBERED:
                self._spots.clear()
            m, k = distances.shape
            curve, along = np.repeat(np.arange(m), k), distances.ravel()
            points, tangents = self.at(curve, along), self.direction(curve, along)
            self._spots[key] = points.reshape(m, k, 2), tangents.reshape(m, k, 2)
        return self._spots[key]

    def evenly(self, count: int) -> Floats:
        """``count`` points on each curve (m, count, 2), evenly spaced."""
        m = len(self.lengths)
        distance = self.lengths[:, None] * np.linspace(0.0, 1.0, count)
        return self.at(np.repeat(np.arange(m), count), distance.ravel()).reshape(m, count, 2)

    def trimmed(self, inset: float) -> Floats:
        """The curves (m, k, 2) without ``inset`` at both ends, or a quarter of those too short."""
        m, k = self._walked.shape
        short = np.minimum(inset, 0.25 * self.lengths)[:, None]
        apart = np.minimum(_APART_AT_ENDS, short / k) * np.arange(
            k
        )  # coinciding points have no direction
        distance = np.clip(
            self._walked, short + apart, (self.lengths[:, None] - short - apart[:, ::-1])
        )
        return self.at(np.repeat(np.arange(m), k), distance.ravel()).reshape(m, k, 2)

    def direction(self, curve: Indices, distance: Floats) -> Floats:
        """Unit tangents (n, 2) there, pointing forwards."""
        ahead = self.at(curve, distance + 1.0) - self.at(curve, distance - 1.0)
        return np.asarray(ahead / np.maximum(np.hypot(*ahead.T), 1e-9)[:, None])

    def marks(
        self, every: float, first: float | Floats, last: float = 0.0
    ) -> tuple[Indices, Floats]:
        """Curve and distance of marks spaced by ``every``.

        The first is ``first`` from the start, one number or one for each curve (m,), the last at
        least ``last`` before the end. A curve too short for its first mark has none.
        """
        begin = np.broadcast_to(np.asarray(first, np.float64), self.lengths.shape)
        room = self.lengths - begin - last
        until = np.where(room >= 0, np.floor(room / every) + 1, 0)
        marked: Indices = np.arange(len(until))
        since = np.zeros_like(until)
        if self._stretches is not None:  # from each one's begin to before its end
            marked, near, far = self._stretches
            since = np.maximum(np.ceil((near - begin[marked]) / every), 0)
            until = np.minimum(np.ceil((far - begin[marked]) / every), until[marked])
        count = np.maximum(until - since, 0).astype(np.intp)
        before = np.cumsum(count) - count - since
        number = np.arange(count.sum()) - np.repeat(before, count)
        curve: Indices = np.repeat(marked, count)
        return curve, begin[curve] + every * number

    def dashes(self, pattern: Sequence[float]) -> Floats:
        """Segments (n, 4) of a dash pattern: lengths on, off, on, off, …."""
        period = float(sum(pattern))
        lines = []
        for i in range(0, len(pattern), 2):
            curve, begin = self.marks(period, float(sum(pattern[:i])))
            end = np.minimum(begin + pattern[i], self.lengths[curve])
            lines.append(np.column_stack([self.at(curve, begin), self.at(curve, end)]))
        return np.concatenate(lines)
