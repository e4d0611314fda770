"""Curves as rows of points: offset curves, arc length, and the segments that draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices

_STRAIGHT = 0.25
"""Largest bulge of a curve that is drawn as one segment, px."""
_APART = 0.01
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
        apart = np.minimum(_APART, short / k) * np.arange(k)  # coinciding points have no direction
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
