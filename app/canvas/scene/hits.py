"""What lies under the pointer: ports first, then blocks, bends, wires, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.paint.lanes import GAP, PITCH, STEPS
from app.canvas.scene.bezier import flatten
from app.canvas.scene.camera import PLAIN, Camera
from app.canvas.scene.polylines import beside

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats, Scene

PORT_REACH = 10.0
"""How near a port is meant, widget px."""
WIRE_REACH = 6.0
"""How near a wire or its lane is meant, widget px."""
BEND_REACH = 8.0
"""How near a bend is meant, widget px."""
_FRAME_GRIP = 26.0


def port_at(
    scene: Scene, camera: Camera, x: float, y: float, reach: float = PORT_REACH
) -> int | None:
    """The port nearest to widget (x, y) within ``reach``; none from afar."""
    if camera.zoom < PLAIN or not len(scene.port_block):
        return None
    away = camera.to_widget(scene.port_points()) - (x, y)
    squared = np.einsum("pd,pd->p", away, away)
    nearest = int(squared.argmin())
    return nearest if squared[nearest] <= reach * reach else None


def block_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The topmost block under widget (x, y)."""
    px, py = camera.to_scene(np.array([x, y])).tolist()
    left, top, width, height = scene.rects.T
    inside = (left <= px) & (px <= left + width) & (top <= py) & (py <= top + height)
    found = np.flatnonzero(inside)
    return int(found[-1]) if len(found) else None


def wire_at(scene: Scene, camera: Camera, x: float, y: float, strands: int = 1) -> int | None:
    """The wire nearest to widget (x, y), by its curve or a lane, within :data:`WIRE_REACH`.

    ``strands`` is how many lanes lie beside each wire.
    """
    reach = WIRE_REACH / camera.zoom + PITCH * (strands - 1)
    px, py = camera.to_scene(np.array([x, y])).tolist()
    near = scene.wires_in(np.array([px - reach, py - reach, px + reach, py + reach]))
    gaps = [GAP + PITCH * place for place in range(strands)]
    found: list[tuple[float, int]] = []
    for wires, courses in scene.courses(near) if len(near) else ():
        points = flatten(camera.ends(courses), STEPS)
        drawn = np.concatenate([points, *(beside(points, gap * camera.unit) for gap in gaps)])
        away = distances(drawn, x, y).reshape(1 + strands, -1).min(axis=0)
        nearest = int(away.argmin())
        found.append((float(away[nearest]), int(wires[nearest])))
    distance, wire = min(found, default=(np.inf, -1))
    return wire if distance <= WIRE_REACH else None


def bend_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The bend nearest to widget (x, y) within :data:`BEND_REACH`; none from afar."""
    if camera.zoom < PLAIN or not len(scene.bends):
        return None
    away = np.hypot(*(camera.to_widget(scene.bends) - (x, y)).T)
    nearest = int(away.argmin())
    return nearest if away[nearest] <= BEND_REACH else None


def note_at(scene: Scene, camera: Camera, x: float, y: float) -> str | None:
    """The topmost note under widget (x, y); of a frame only the line of its title counts."""
    px, py = camera.to_scene(np.array([x, y])).tolist()
    for name, note in reversed(list(scene.page.notes.items())):
        height = min(_FRAME_GRIP, note.height) if note.frame else note.height
        if note.at.x <= px <= note.at.x + note.width and note.at.y <= py <= note.at.y + height:
            return name
    return None


def distances(curves: Floats, x: float, y: float) -> Floats:
    """How far (x, y) is from each of the polylines ``curves`` (m, k, 2): (m,)."""
    start = curves[:, :-1]
    along = curves[:, 1:] - start
    to = np.array([x, y]) - start
    squared = np.maximum(np.einsum("msd,msd->ms", along, along), 1e-12)
    share = np.clip(np.einsum("msd,msd->ms", to, along) / squared, 0.0, 1.0)
    gap = to - share[..., None] * along
    return np.asarray(np.sqrt(np.einsum("msd,msd->ms", gap, gap).min(axis=1)))
