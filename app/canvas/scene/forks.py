"""Where the wires of one port part, so that each arrowhead at a source stands on one wire only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.polylines import Polylines

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.bezier import Courses
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members.changes import Changes

_APART = 10.0
"""Distance of two wires that have parted, scene units."""
_STEP = 8.0
_COUNT = 60
"""Number of points that are compared, ``_STEP`` apart."""
_STEPS = 24
_NEIGHBOURS = 2


class ForkPoints:
    """How far each wire of a scene runs with another one of its port, found when it is asked.

    Only wires that are ``forked`` (m,) share their port with others.
    """

    def __init__(self, scene: Scene, forked: Flags) -> None:
        self._scene = scene
        self._is_forked = forked
        self._known: Floats = np.where(forked, np.nan, 0.0)
        self._before: dict[int, float] = {}
        """What was known of wires that have been forgotten, by number."""

    def of(self, wires: Indices) -> Floats:
        """How far each of ``wires`` (k,) runs with another one of its port (k,)."""
        unknown = wires[np.isnan(self._known[wires])]
        if len(unknown):
            groups = list(self._scene.courses(self._siblings(unknown)))
            order = np.concatenate([group for group, _ in groups])
            points = np.concatenate([walks(courses) for _, courses in groups])
            self._known[order] = fork_points(self._scene.wire_ports[order, 0], points)
        return self._known[wires]

    def forget(self, wires: Indices) -> None:
        """Find ``wires`` anew, which have moved, and the others of their ports."""
        alike = self._siblings(wires[self._is_forked[wires]])
        known = alike[~np.isnan(self._known[alike])]
        for wire, fork_point in zip(known.tolist(), self._known[known].tolist(), strict=True):
            self._before.setdefault(wire, fork_point)
        self._known[alike] = np.nan

    def renumber(self, wires: Changes, forked: Flags) -> None:
        """Follow wires to their numbers now, of which others may be ``forked`` (m,)."""
        known = wires.rows(self._known, np.nan)
        before = {int(wires.now[wire]): fork_point for wire, fork_point in self._before.items()}
        before.pop(-1, None)
        others = np.flatnonzero(forked != wires.rows(self._is_forked))
        for wire, fork_point in zip(others.tolist(), known[others].tolist(), strict=True):
            if not np.isnan(fork_point):
                before.setdefault(wire, fork_point)
        known[others] = np.nan
        self._before, self._is_forked, self._known = before, forked, np.where(forked, known, 0.0)

    def changed(self) -> Indices:
        """The wires that run with others in another way than when this was last asked."""
        before, self._before = self._before, {}
        wires = np.fromiter(before, np.intp, len(before))
        found: Indices = wires[self.of(wires) != np.fromiter(before.values(), float, len(before))]
        return found

    def _siblings(self, wires: Indices) -> Indices:
        """``wires`` and all others of their ports."""
        ports = self._scene.wire_ports[:, 0]
        near = self._scene.wires_of(self._scene.wire_blocks[wires, 0])
        return near[np.isin(ports[near], ports[wires])]


def walks(courses: Courses) -> Floats:
    """Points (m, k, 2) along wires, at the same distances from their sources."""
    curve = np.repeat(np.arange(len(courses)), _COUNT)
    distance = np.tile(_STEP * np.arange(_COUNT), len(courses))
    return Polylines(courses.flatten(_STEPS)).at(curve, distance).reshape(-1, _COUNT, 2)


def fork_points(ports: Ints, points: Floats) -> Floats:
    """How far wires (m,) run from their ``ports`` (m,) together with another one of the same port.

    ``points`` (m, k, 2) are those of :func:`walks`. Sorted by them, the wire that another one stays
    with longest is next to it.
    """
    keys = np.round(points / _APART).reshape(len(points), -1)
    order = np.lexsort((*keys.T[::-1], ports))
    found = np.zeros(len(points))
    for apart in range(1, _NEIGHBOURS + 1):
        one, other = order[:-apart], order[apart:]
        away = np.abs(points[one] - points[other]).max(axis=2) > _APART
        until = np.where(away.any(axis=1), away.argmax(axis=1), _COUNT - 1) * _STEP
        until = np.where(ports[one] == ports[other], until, 0.0)
        np.maximum.at(found, one, until)
        np.maximum.at(found, other, until)
    return found
