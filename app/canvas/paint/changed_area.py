"""Finds the part of the widget that looks different with another result, or after a move."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QRegion

from app.canvas.paint.blocks.face_cache import MARGIN
from app.canvas.paint.legend import legend_content
from app.canvas.paint.notes import heights_depend_on_blocks
from app.canvas.paint.port_types import MIN_ZOOM, ROOM
from app.canvas.paint.problems import severities_in
from app.canvas.scene.arrays import distinct
from app.canvas.scene.camera import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.canvas.paint.wires.label_layout import Label
    from app.canvas.scene.arrays import Flags, Floats, Indices
    from app.canvas.state.annotations import Annotations
    from app.canvas.state.looks import Look
    from app.canvas.state.view_state import ViewState
    from runtime.diagram.model import Note, Page

PAD = 2.0
"""Around what has changed, for smoothed edges, widget px."""


class Shown(NamedTuple):
    """What is in view, and where; the scene itself follows edits."""

    view: ViewState
    visible: Floats
    """Left, top, right and bottom of what is in view, scene units."""
    version: int
    """That of the scene, which follows its blocks."""
    page: Page
    slots: object
    """The ports of all blocks."""
    notes: Mapping[str, Note]
    looks: dict[int, Look]
    """Of the blocks in view, by number."""
    rects: Floats
    """Where these blocks are (k, 4)."""


def shown_in(view: ViewState, visible: Floats) -> Shown:
    """What is shown in ``visible``, an area of the scene."""
    scene, annotations = view.scene, view.annotations
    look_of = annotations.look if view.camera.zoom >= NUMBERS else annotations.plain_look
    blocks = scene.blocks_in(visible)
    return Shown(view, visible, scene.version, scene.page, scene.slots, annotations.page.notes,
                 {i: look_of(i) for i in blocks.tolist()}, scene.rects[blocks])  # fmt: skip


def changed_area(
    before: Shown, after: Shown, labels: Collection[Label], wires: Indices
) -> QRegion | None:
    """The area of the widget that may look different, where ``labels`` come or go and ``wires`` of
    a port part elsewhere; None if it is all of it. Both are comparable.
    """
    view, moved = after.view, after.view.scene.moved.since(before.version)
    if moved is None:
        return None
    boxes = [
        _changed_faces(before, after),
        _lane_boxes(view, _changed_wires(before.view.annotations, view.annotations)),
        _lane_boxes(view, distinct(np.concatenate([moved, wires]))),
        np.array([label.box for label in labels]).reshape(-1, 4),
    ]
    if after.version != before.version:
        if heights_depend_on_blocks(view):
            return None
        boxes += [
            view.camera.rows_to_widget(view.scene.moved.bounds_since(before.version)),
            _dependent_faces(after, moved),
        ]
    region, found = QRegion(), np.concatenate(boxes)
    low, high = view.camera.to_widget(after.visible.reshape(2, 2))
    found = found[((found[:, :2] < high + PAD) & (found[:, 2:] > low - PAD)).all(axis=1)]
    for left, top, right, bottom in found.tolist():
        box = QRectF(left, top, right - left, bottom - top)
        region += box.adjusted(-PAD, -PAD, PAD, PAD).toAlignedRect()
    return region


def face_boxes(view: ViewState, rects: Floats, reach: float) -> Floats:
    """Left, top, right and bottom (k, 4) of the faces of blocks at ``rects`` (k, 4) with ``reach``
    px at 100 % around them, and with the types beside their ports, widget px.
    """
    zoom = view.camera.zoom
    low = view.camera.to_widget(rects[:, :2])
    boxes: Floats = np.concatenate([low, low + rects[:, 2:] * zoom], axis=1)
    around = reach * max(zoom, 1.0)
    boxes += (-around, -around, around, around)
    if zoom >= MIN_ZOOM:
        boxes[:, 2] += ROOM * zoom
    return boxes


def are_comparable(before: Shown, after: Shown) -> bool:
    """Whether everything but faces, lanes and labels is known to look the same."""
    one, other, view = before.view.annotations, after.view.annotations, after.view
    return (
        before.slots is after.slots
        and before.page.bends is after.page.bends
        and before.page.styles is after.page.styles
        and before.notes == after.notes
        and not (view.route or view.traced or view.costs or view.computing)
        and not (one.dimmed or other.dimmed)
        and replace(before.view, annotations=other) == view
        and one.page.severities == other.page.severities
        and legend_content(one) == legend_content(other)
    )


def _changed_faces(before: Shown, after: Shown) -> Floats:
    """Boxes of the faces that look different, or are elsewhere."""
    rects = after.view.scene.rects
    pairs = ((i, look, before.looks.get(i)) for i, look in after.looks.items())
    changed = [i for i, look, old in pairs if look is not old and look != old]
    known = np.fromiter(before.looks, np.intp, len(before.looks))
    moved = (rects[known] != before.rects).any(axis=1)
    places = [rects[changed], rects[known[moved]], before.rects[moved]]
    return face_boxes(after.view, np.concatenate(places), MARGIN)


def _dependent_faces(shown: Shown, moved: Indices) -> Floats:
    """Boxes of blocks that have not moved, but where the marks in view or the types beside ports
    may stand elsewhere now.
    """
    view, scene = shown.view, shown.view.scene
    marked = [scene.index[name] for name in severities_in(view)]
    sources = scene.wire_blocks[moved, 0] if view.camera.zoom >= MIN_ZOOM else marked[:0]
    blocks = distinct(np.array([*marked, *sources], np.intp))
    return face_boxes(view, scene.rects[blocks], MARGIN)


def _changed_wires(before: Annotations, after: Annotations) -> Indices:
    """The wires whose lanes are drawn differently."""
    changed: Flags = np.zeros(len(after.total.codes), bool)
    pairs = zip(
        (before.total, *before.lanes), (after.total, *after.lanes), strict=True
    )  # as many as the legend lists
    for one, other in pairs:
        for name in ("codes", "drawn", "widths", "positions", "shared"):
            changed |= getattr(one, name) != getattr(other, name)
    return np.flatnonzero(changed)


def _lane_boxes(view: ViewState, wires: Indices) -> Floats:
    return view.camera.rows_to_widget(view.scene.wire_bounds[wires])
