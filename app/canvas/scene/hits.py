"""Finds the port, block, bend, wire or note under the pointer, which section of a wire is near, and
which bends move along with blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import NO_INDICES
from gradwire.app.canvas.scene.camera import PLAIN, Camera
from gradwire.app.canvas.scene.curves import offset
from gradwire.app.canvas.scene.lane_paths import STEPS, lane_offset
from gradwire.runtime.diagram import Point, PortName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.scene.geometry import Bend, Scene
    from gradwire.runtime.diagram import Page

PORT_HIT_RADIUS = 10.0
"""Distance within which a port is hit, widget px."""
SNAP = 20.0
"""Distance within which the open end of a wire snaps to a port or a block, widget px."""
WIRE_HIT_DISTANCE = 6.0
"""Distance within which a wire or its lane is hit, widget px."""
BEND_HIT_RADIUS = 8.0
"""Distance within which a bend is hit, widget px."""
_FRAME_TITLE = 26.0
"""Height of the part of a frame that can be hit, scene units."""


def port_at(
    scene: Scene,
    camera: Camera,
    x: float,
    y: float,
    radius: float = PORT_HIT_RADIUS,
    among: Flags | None = None,
) -> int | None:
    """The port nearest to widget (x, y) within ``radius``; None below zoom :data:`PLAIN`.

    ``among`` (n,) marks the ports that count, all by default.
    """
    if camera.zoom < PLAIN or not len(scene.port_block):
        return None
    (px, py), reach = camera.to_scene(np.array([x, y])).tolist(), (radius + 1.0) / camera.zoom
    blocks = scene.blocks_in(np.array([px - reach, py - reach, px + reach, py + reach]))
    near = scene.ports_of(blocks)
    xs, ys = scene.port_points(near).T
    near = near[(np.abs(xs - px) <= reach) & (np.abs(ys - py) <= reach)]
    near = near if among is None else near[among[near]]
    if not len(near):
        return None
    away = camera.to_widget(scene.port_points(near)) - (x, y)
    squared = np.einsum("pd,pd->p", away, away)
    nearest = int(squared.argmin())
    return int(near[nearest]) if squared[nearest] <= radius * radius else None


def block_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The topmost block under widget (x, y)."""
    return block_near(scene, camera, x, y, 0.0)


def block_near(scene: Scene, camera: Camera, x: float, y: float, radius: float) -> int | None:
    """The block nearest to widget (x, y) within ``radius`` px; of several, the topmost."""
    if not len(scene.rects):
        return None
    point, reach = camera.to_scene(np.array([x, y])), (radius + 1.0) / camera.zoom
    low, high = (point - reach).tolist(), (point + reach).tolist()
    near = scene.blocks_in(np.array([*low, *high]))[::-1]
    if not len(near):
        return None
    corners, sizes = scene.rects[near, :2], scene.rects[near, 2:]
    outside = np.maximum(np.maximum(corners - point, point - corners - sizes), 0.0)
    away = np.hypot(outside[:, 0], outside[:, 1])
    nearest = int(away.argmin())
    return int(near[nearest]) if away[nearest] * camera.zoom <= radius else None


def wire_at(scene: Scene, camera: Camera, x: float, y: float, lanes: int = 1) -> int | None:
    """The wire nearest to widget (x, y), by its curve or one of its ``lanes``."""
    margin = WIRE_HIT_DISTANCE / camera.zoom + lane_offset(lanes - 1) - lane_offset(0)
    px, py = camera.to_scene(np.array([x, y])).tolist()
    near = scene.wires_in(np.array([px - margin, py - margin, px + margin, py + margin]))
    offsets = [lane_offset(position) * camera.unit for position in range(lanes)]
    found: list[tuple[float, int]] = []
    for wires, courses in scene.courses(near) if len(near) else ():
        points = courses.to_widget(camera).flatten(STEPS)
        drawn = np.concatenate([points, *(offset(points, distance) for distance in offsets)])
        away = distances(drawn, x, y).reshape(1 + lanes, -1).min(axis=0)
        nearest = int(away.argmin())
        found.append((float(away[nearest]), int(wires[nearest])))
    distance, wire = min(found, default=(np.inf, -1))
    return wire if distance <= WIRE_HIT_DISTANCE else None


def bend_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The bend nearest to widget (x, y); None beyond its radius, or below zoom :data:`PLAIN`."""
    if camera.zoom < PLAIN or not len(scene.bends):
        return None
    away = np.hypot(*(camera.to_widget(scene.bends) - (x, y)).T)
    nearest = int(away.argmin())
    return nearest if away[nearest] <= BEND_HIT_RADIUS else None


def note_at(scene: Scene, camera: Camera, x: float, y: float) -> str | None:
    """The topmost note under widget (x, y); a frame is hit by its title only."""
    px, py = camera.to_scene(np.array([x, y])).tolist()
    for name, note in reversed(list(scene.page.notes.items())):
        height = min(_FRAME_TITLE, note.height) if note.frame else note.height
        if note.at.x <= px <= note.at.x + note.width and note.at.y <= py <= note.at.y + height:
            return name
    return None


def distances(curves: Floats, x: float, y: float) -> Floats:
    """Distances (m,) of (x, y) from the polylines ``curves`` (m, k, 2)."""
    start = curves[:, :-1]
    along = curves[:, 1:] - start
    to = np.array([x, y]) - start
    squared = np.maximum(np.einsum("msd,msd->ms", along, along), 1e-12)
    share = np.clip(np.einsum("msd,msd->ms", to, along) / squared, 0.0, 1.0)
    gap = to - share[..., None] * along
    return np.asarray(np.sqrt(np.einsum("msd,msd->ms", gap, gap).min(axis=1)))


def sections(scene: Scene, key: str) -> Floats:
    """Points (s, k, 2) along the sections of a wire, from bend to bend; a square wire has one."""
    course = scene.course_of(key)
    points: Floats = course.flatten(STEPS)[0]
    if course.radius is not None:
        return points.reshape(1, -1, 2)
    starts = range(0, len(points) - 1, STEPS)
    return np.stack([points[start : start + STEPS + 1] for start in starts])


def nearest_section(scene: Scene, key: str, at: Floats) -> int:
    """The section of a wire nearest to the scene point ``at`` (2,); 0 ends at the first bend."""
    return int(distances(sections(scene, key), *at.tolist()).argmin())


def surviving(bends: Collection[Bend], before: Page, after: Page) -> Iterator[Bend]:
    """Those of ``bends`` whose wires have as many bends ``after`` an edit as ``before``."""
    for bend in bends:
        target = PortName.parse(bend.wire)
        if len(before.bends.get(target, ())) == len(after.bends.get(target, ())):
            yield bend


def moving_with(scene: Scene, blocks: Indices, selected: Collection[Bend]) -> Indices:
    """The bends that move with ``blocks``: those of wires between them, and those ``selected``."""
    if not len(scene.bends):
        return NO_INDICES
    chosen = np.zeros(len(scene.names), bool)
    chosen[blocks] = True
    inner = np.flatnonzero(chosen[scene.wire_blocks[scene.bend_wire]].all(axis=1))
    own = [number for bend in selected if (number := scene.bend(bend)) is not None]
    return np.union1d(inner, own).astype(np.intp)


def shifted(scene: Scene, bends: Indices, shift: Floats) -> dict[PortName, tuple[Point, ...]]:
    """All bends of the wires of ``bends`` (b,), by target, with those moved by ``shift`` (2,)."""
    places = scene.bends.copy()
    places[bends] += shift
    return {
        PortName.parse(scene.wire_keys[wire]): tuple(
            Point(*point) for point in places[scene.bend_wire == wire].tolist()
        )
        for wire in np.unique(scene.bend_wire[bends]).tolist()
    }
