"""Where blocks and notes go when they are aligned, spread evenly, or put on the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from app.canvas.input.frames import Load, carried, moving
from app.canvas.input.gestures import GRID
from app.canvas.scene.bends import between
from app.canvas.state.view_state import Picked
from runtime.diagram import Batch, Change, MoveBlocks
from runtime.diagram.model import Point

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats, Scene
    from app.canvas.state.view_state import View
    from runtime.diagram.paths import PortName

Way: TypeAlias = Literal[
    "left", "centre", "right", "top", "middle", "bottom", "across", "down", "grid"
]
"""``across`` and ``down`` spread things with equal gaps; ``grid`` snaps each to the grid."""

_SHARE = {"left": 0.0, "centre": 0.5, "right": 1.0, "top": 0.0, "middle": 0.5, "bottom": 1.0}


def alignment(view: View, way: Way) -> Change | None:
    """Move what is selected, frames with what they hold; None where nothing would move."""
    scene, picked = view.scene, view.picked
    blocks = [name for name in scene.names if name in picked.blocks]
    notes = [name for name in scene.page.notes if name in picked.notes]
    numbers = np.array([scene.index[name] for name in blocks], np.intp)
    of_notes = scene.note_rects()[[name in picked.notes for name in scene.page.notes]]
    rects = np.concatenate([scene.rects[numbers], of_notes.reshape(-1, 4)])
    corners, count = aligned(rects, way), len(blocks)
    places = {
        name: Point(*corner)
        for name, corner, old in zip(
            blocks, corners[:count].tolist(), rects[:count, :2].tolist(), strict=True
        )
        if corner != old
    }
    texts: dict[str, Point] = {}
    bends: dict[PortName, tuple[Point, ...]] = {}
    for name, shift in zip(notes, (corners - rects[:, :2])[count:], strict=True):
        if shift.any():
            part = moving(scene, _lead(scene, name, picked), shift)
            places, texts = {**part.places, **places}, {**texts, **part.notes}
            bends |= part.bends
    if not (places or texts):
        return None
    label = {"across": "Distribute", "down": "Distribute", "grid": "Snap to grid"}
    move = MoveBlocks(places, page=scene.page_name, notes=texts, bends=bends)
    return Batch(label.get(way, "Align"), (move,))


def _lead(scene: Scene, note: str, picked: Picked) -> Load:
    """A note, and of what it holds as a frame that which is not selected itself."""
    load = carried(scene, Picked(notes=frozenset({note})))
    chosen = [i for i in load.blocks.tolist() if scene.names[i] not in picked.blocks]
    notes = {n: v for n, v in load.notes.items() if n == note or n not in picked.notes}
    moved = np.array(chosen, np.intp)
    return Load(moved, notes, between(scene, moved, ()))


def aligned(rects: Floats, way: Way) -> Floats:
    """Top left corners (k, 2) of blocks at ``rects`` (k, 4: left, top, width, height)."""
    corners = rects[:, :2].copy()
    if not len(rects):
        return corners
    if way == "grid":
        return np.asarray(np.round(corners / GRID) * GRID)
    axis = 0 if way in ("left", "centre", "right", "across") else 1
    low, size = rects[:, axis], rects[:, axis + 2]
    if way in ("across", "down"):
        corners[:, axis] = _spread(low, size)
    else:
        share = _SHARE[way]
        lead = low.min() + share * ((low + size).max() - low.min())
        corners[:, axis] = np.round(lead - share * size)
    return corners


def _spread(low: Floats, size: Floats) -> Floats:
    """Equal gaps between the first and the last; those keep their places."""
    order = np.argsort(low + size / 2.0, kind="stable")
    first, last = order[0], order[-1]
    room = low[last] + size[last] - low[first] - size.sum()
    gap = room / max(len(low) - 1, 1)
    placed = low.copy()
    placed[order] = low[first] + np.cumsum(size[order] + gap) - size[order] - gap
    return np.asarray(np.round(placed))
