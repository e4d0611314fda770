"""Inserting a block into a wire: which wire lies under it, and the change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.bends import nearest_section
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.polylines import Polylines
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
    WIDTH,
    Batch,
    BendWire,
    Change,
    Connect,
    Point,
    PortName,
    apply,
    block_height,
    ports,
)

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene

_SAMPLES = 200
"""Points of a wire at which it is checked whether it runs through a rectangle."""
_INSET = 0.2
"""Share of a block's size that a wire must reach into the block."""


def wire_under(scene: Scene, rect: Floats, block: str | None = None) -> str | None:
    """Key of the wire that runs most centrally through ``rect`` (left, top, width, height).

    Wires of ``block`` itself are left out.
    """
    left, top, width, height = rect.tolist()
    margin = np.array([_INSET * width, _INSET * height])
    low = np.array([left, top]) + margin
    high = np.array([left + width, top + height]) - margin
    near = scene.wires_in(np.concatenate([low, high]))
    own = scene.index.get(block or "", -1)
    near = near[(scene.wire_blocks[near] != own).all(axis=1)]
    found: list[tuple[float, int]] = []
    for wires, courses in scene.courses(near) if len(near) else ():
        points = Polylines(courses.flatten(STEPS)).evenly(_SAMPLES)
        away = np.abs(points - (low + high) / 2.0) / (high - low)
        distance = away.max(axis=2).min(axis=1)
        nearest = int(distance.argmin())
        found.append((float(distance[nearest]), int(wires[nearest])))
    least, wire = min(found, default=(np.inf, -1))
    return scene.wire_keys[wire] if least <= 0.5 else None


def splice(
    scene: Scene, first: Change, name: str, inward: str, outward: str, wire: str
) -> Batch | None:
    """``first``, which places block ``name``, then the block inserted into ``wire`` by two ports.

    Bends before the block stay on the wire to it, the others on the wire from it. None if the
    block does not fit there.
    """
    target = PortName.parse(wire)
    source = scene.page.wires.get(target)
    if source is None or not (inward and outward):
        return None
    page, middle = scene.page_name, PortName(name, inward)
    joined = Batch(
        f"Insert {name} into the wire to {target}",
        (
            first,
            Connect(source, middle, page=page),
            Connect(PortName(name, outward), target, page=page),
        ),
    )
    try:
        after = apply(scene.diagram, joined).after
    except ChangeError:
        return None
    if bends := scene.page.bends.get(target, ()):
        x, y = after.pages[page].layout.get(name, Point(0.0, 0.0))
        centre = np.array([x + WIDTH / 2.0, y + block_height(1) / 2.0])
        before = nearest_section(scene, wire, centre)
        halves = (BendWire(middle, bends[:before], page), BendWire(target, bends[before:], page))
        return replace(joined, changes=(*joined.changes, *halves))
    return joined


def free_ports(scene: Scene, name: str) -> tuple[str, str]:
    """The first input and the first output of a block; both empty if it has a wire."""
    page = scene.page
    if page.ends.inward.get(name) or page.ends.outward.get(name):
        return "", ""
    own = ports(scene.diagram, scene.page_name, name)
    literals = page.blocks[name].literals
    inputs = sorted(own.inputs or own.free, key=lambda port: port in literals)
    return next(iter(inputs), ""), next(iter(own.outputs), "")
