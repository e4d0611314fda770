"""Where several blocks go when they are aligned, spread evenly, or put on the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from app.canvas.gestures import GRID
from runtime.diagram import Batch, Change, MoveBlocks
from runtime.diagram.model import Point

if TYPE_CHECKING:
    from app.canvas.geometry import Floats
    from app.canvas.shown import View

Way: TypeAlias = Literal[
    "left", "centre", "right", "top", "middle", "bottom", "across", "down", "grid"
]
"""``across`` and ``down`` spread blocks with equal gaps; ``grid`` snaps each to the grid."""

_SHARE = {"left": 0.0, "centre": 0.5, "right": 1.0, "top": 0.0, "middle": 0.5, "bottom": 1.0}


def alignment(view: View, way: Way) -> Change | None:
    """Move the selected blocks; None where none of them would move."""
    scene = view.scene
    chosen = [i for i, name in enumerate(scene.names) if name in view.selected]
    rects = scene.rects[chosen]
    corners = aligned(rects, way)
    moved = {
        scene.names[i]: Point(*corner)
        for i, corner, old in zip(chosen, corners.tolist(), rects[:, :2].tolist(), strict=True)
        if corner != old
    }
    if not moved:
        return None
    label = {"across": "Distribute", "down": "Distribute", "grid": "Snap to grid"}
    return Batch(label.get(way, "Align"), (MoveBlocks(moved, page=scene.page_name),))


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
