"""The paths of gradient lanes: curves offset from the wires, clear of the ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.canvas.scene.polylines import Polylines, offset

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats
    from app.canvas.scene.bezier import Courses

GAP = 6.0
"""From a wire to its first lane, px at 100 %."""
PITCH = 9.0
"""From one lane to the next, px at 100 %."""
STEPS = 32
"""Segments that each section of a wire is flattened into."""
INSET = 9.0
"""From a port to the end of a lane, px at 100 %."""


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
    return GAP + PITCH * position
