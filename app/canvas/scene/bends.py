"""Bends of wires: which section of a wire is near, which bends move along with blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import NO_INDICES
from gradwire.app.canvas.scene.hits import distances
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.runtime.diagram import Point, PortName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Bend, Scene
    from gradwire.runtime.diagram import Page


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
