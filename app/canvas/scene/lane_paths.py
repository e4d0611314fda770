"""The paths of gradient lanes: curves offset from the wires, clear of the ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.polylines import Polylines, offset
from gradwire.runtime.diagram import LANE_PITCH

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gradwire.app.canvas.scene.arrays import Floats, Indices, Ints
    from gradwire.app.canvas.scene.bezier import Courses
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.scene.geometry import Scene

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
