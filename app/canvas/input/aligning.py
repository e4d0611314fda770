"""Aligning, distributing, and snapping blocks and notes to the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from gradwire.app.canvas.input.frames import MoveSet, move_change, move_set
from gradwire.app.canvas.input.gestures.base import GRID
from gradwire.app.canvas.scene.bends import moving_with
from gradwire.app.canvas.state.view_state import Selection
from gradwire.runtime.diagram import Batch, Change, MoveBlocks, Point

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import PortName

Alignment: TypeAlias = Literal[
    "left", "centre", "right", "top", "middle", "bottom", "across", "down", "grid"
]
"""``across`` and ``down`` distribute with equal gaps; ``grid`` snaps to the grid."""

_SHARE = {"left": 0.0, "centre": 0.5, "right": 1.0, "top": 0.0, "middle": 0.5, "bottom": 1.0}


def alignment(view: ViewState, way: Alignment) -> Change | None:
    """Align the selection, moving frames with their contents; None if nothing would move."""
    scene, selection = view.scene, view.selection
    blocks = [name for name in scene.names if name in selection.blocks]
    notes = [name for name in scene.page.notes if name in selection.notes]
    numbers = np.array([scene.index[name] for name in blocks], np.intp)
    of_notes = scene.note_rects()[[name in selection.notes for name in scene.page.notes]]
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
            part = move_change(scene, _with_note(scene, name, selection), shift)
            places, texts = {**part.places, **places}, {**texts, **part.notes}
            bends |= part.bends
    if not (places or texts):
        return None
    label = {"across": "Distribute", "down": "Distribute", "grid": "Snap to grid"}
    move = MoveBlocks(places, page=scene.page_name, notes=texts, bends=bends)
    return Batch(label.get(way, "Align"), (move,))


def _with_note(scene: Scene, note: str, selection: Selection) -> MoveSet:
    """A note or frame, with the contents of the frame that are not selected themselves."""
    moved = move_set(scene, Selection(notes=frozenset({note})))
    chosen = [i for i in moved.blocks.tolist() if scene.names[i] not in selection.blocks]
    notes = {n: v for n, v in moved.notes.items() if n == note or n not in selection.notes}
    blocks = np.array(chosen, np.intp)
    return MoveSet(blocks, notes, moving_with(scene, blocks, ()))


def aligned(rects: Floats, way: Alignment) -> Floats:
    """New corners (k, 2) of items at ``rects`` (k, 4: left, top, width, height)."""
    corners = rects[:, :2].copy()
    if not len(rects):
        return corners
    if way == "grid":
        return np.asarray(np.round(corners / GRID) * GRID)
    axis = 0 if way in ("left", "centre", "right", "across") else 1
    low, size = rects[:, axis], rects[:, axis + 2]
    if way in ("across", "down"):
        corners[:, axis] = _distributed(low, size)
    else:
        share = _SHARE[way]
        line = low.min() + share * ((low + size).max() - low.min())
        corners[:, axis] = np.round(line - share * size)
    return corners


def _distributed(low: Floats, size: Floats) -> Floats:
    """Positions with equal gaps; the first and last item stay in place."""
    order = np.argsort(low + size / 2.0, kind="stable")
    first, last = order[0], order[-1]
    room = low[last] + size[last] - low[first] - size.sum()
    gap = room / max(len(low) - 1, 1)
    placed = low.copy()
    placed[order] = low[first] + np.cumsum(size[order] + gap) - size[order] - gap
    return np.asarray(np.round(placed))
