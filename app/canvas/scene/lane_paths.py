"""The paths of gradient lanes: curves offset from the wires, clear of the ports.

Also where the wires of one port part, so that each arrowhead at a source stands on one wire only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.curves import Polylines, offset
from gradwire.runtime.diagram import LANE_PITCH

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.scene.curves import Courses
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes

Groups: TypeAlias = list[tuple["Indices", Polylines]]

GAP = 6.0
"""From a wire to its first lane, px at 100 %."""
STEPS = 32
"""Segments that each section of a wire is flattened into."""
INSET = 9.0
"""From a port to the end of a lane, px at 100 %."""
_REMEMBERED = 32
"""Sets of lanes that are remembered for the same camera."""


def lane_paths(courses: Courses, unit: float, position: int = 0) -> Polylines:
    """The lanes of wires, at full resolution.

    ``unit`` is widget px per px of style, ``position`` the number of lanes between these and the
    wires.
    """
    return Polylines(lane_points(courses.flatten(STEPS), unit, position))


def lane_points(points: Floats, unit: float, position: int) -> Floats:
    """The lanes (m, k, 2) beside the wires ``points`` (m, k, 2), clear of the ports."""
    return Polylines(offset(points, lane_offset(position) * unit)).trimmed(INSET * unit)


def lane_offset(position: int) -> float:
    """From a wire to its lane number ``position``, px at 100 %."""
    return GAP + LANE_PITCH * position


class LanePaths:
    """The lanes of a scene in widget px, remembered while neither the wires nor the camera move."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._key: Hashable = None
        self._known: dict[Hashable, Groups] = {}

    def beside(self, wires: Indices, positions: Ints, camera: Camera) -> Groups:
        """``wires`` (k,) in groups, with their lanes at ``positions`` (k,)."""
        key = self._scene.version, camera
        if key != self._key:
            self._key, self._known = key, {}
        chosen = wires.tobytes(), positions.tobytes()
        if chosen not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[chosen] = self._groups(wires, positions, camera)
        return self._known[chosen]

    def _groups(self, wires: Indices, positions: Ints, camera: Camera) -> Groups:
        found: Groups = []
        for position in distinct(positions).tolist():
            for alike, courses in self._scene.courses(wires[positions == position]):
                shown = courses.to_widget(camera)
                found.append((alike, lane_paths(shown, camera.unit, position)))
        return found


_APART = 10.0
"""Distance of two wires that have parted, scene units."""
_WALK_STEP = 8.0
_WALK_COUNT = 60
"""Number of points that are compared, ``_WALK_STEP`` apart."""
_WALK_STEPS = 24
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
    curve = np.repeat(np.arange(len(courses)), _WALK_COUNT)
    distance = np.tile(_WALK_STEP * np.arange(_WALK_COUNT), len(courses))
    return Polylines(courses.flatten(_WALK_STEPS)).at(curve, distance).reshape(-1, _WALK_COUNT, 2)


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
        until = np.where(away.any(axis=1), away.argmax(axis=1), _WALK_COUNT - 1) * _WALK_STEP
        until = np.where(ports[one] == ports[other], until, 0.0)
        np.maximum.at(found, one, until)
        np.maximum.at(found, other, until)
    return found
