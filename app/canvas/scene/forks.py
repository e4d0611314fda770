"""Where the wires of one port part, so that each arrowhead at a source stands on one wire only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.scene.polylines import Polylines

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats, Ints
    from app.canvas.scene.bezier import Courses

_APART = 10.0
"""Distance of two wires that have parted, scene units."""
_STEP = 8.0
_COUNT = 60
"""Number of points that are compared, ``_STEP`` apart."""
_STEPS = 24
_NEIGHBOURS = 2


def walks(courses: Courses) -> Floats:
    """Points (m, k, 2) along wires, at the same distances from their sources."""
    curve = np.repeat(np.arange(len(courses)), _COUNT)
    distance = np.tile(_STEP * np.arange(_COUNT), len(courses))
    return Polylines(courses.flatten(_STEPS)).at(curve, distance).reshape(-1, _COUNT, 2)


def partings(ports: Ints, points: Floats) -> Floats:
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
