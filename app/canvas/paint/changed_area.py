"""Finds the part of the widget that looks different with another result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QRegion

from app.canvas.paint.blocks.face_cache import MARGIN
from app.canvas.paint.legend import legend_content
from app.canvas.paint.port_types import MIN_ZOOM, ROOM
from app.canvas.scene.camera import NUMBERS

if TYPE_CHECKING:
    from app.canvas.paint.wires.label_layout import Label
    from app.canvas.scene.arrays import Flags, Floats, Indices
    from app.canvas.state.annotations import Annotations
    from app.canvas.state.looks import Look
    from app.canvas.state.view_state import ViewState

_PAD = 2.0
"""Around what has changed, for smoothed edges, widget px."""


class Shown(NamedTuple):
    """What is in view: its blocks by number, and the labels of its wires."""

    view: ViewState
    version: int
    """That of the scene, which follows its blocks."""
    looks: dict[int, Look]
    labels: tuple[Label, ...]


def shown_in(view: ViewState, visible: Floats, labels: tuple[Label, ...]) -> Shown:
    """What is shown in ``visible``, an area of the scene."""
    annotations = view.annotations
    look_of = annotations.look if view.camera.zoom >= NUMBERS else annotations.plain_look
    blocks = view.scene.blocks_in(visible).tolist()
    return Shown(view, view.scene.version, {i: look_of(i) for i in blocks}, labels)


def changed_area(before: Shown, after: Shown) -> QRegion | None:
    """The area of the widget that may look different; None if it is all of it."""
    view = after.view
    if not _differ_in_numbers_alone(before, after):
        return None
    pairs = ((i, look, before.looks[i]) for i, look in after.looks.items())
    changed = [i for i, look, old in pairs if look is not old and look != old]
    boxes = [
        face_boxes(view, np.array(changed, np.intp), MARGIN),
        _lane_boxes(view, _changed_wires(before.view.annotations, view.annotations)),
        _label_boxes(before.labels, after.labels),
    ]
    region = QRegion()
    for left, top, right, bottom in np.concatenate(boxes).tolist():
        box = QRectF(left, top, right - left, bottom - top)
        region += box.adjusted(-_PAD, -_PAD, _PAD, _PAD).toAlignedRect()
    return region


def face_boxes(view: ViewState, blocks: Indices, reach: float) -> Floats:
    """Left, top, right and bottom (k, 4) of the faces of ``blocks`` with ``reach`` px at 100 %
    around them, and with the types beside their ports, widget px.
    """
    rects, zoom = view.scene.rects[blocks], view.camera.zoom
    low = view.camera.to_widget(rects[:, :2])
    boxes: Floats = np.concatenate([low, low + rects[:, 2:] * zoom], axis=1)
    around = reach * max(zoom, 1.0)
    boxes += (-around, -around, around, around)
    if zoom >= MIN_ZOOM:
        boxes[:, 2] += ROOM * zoom
    return boxes


def _differ_in_numbers_alone(before: Shown, after: Shown) -> bool:
    """Whether everything but faces, lanes and labels is known to look the same."""
    one, other, view = before.view.annotations, after.view.annotations, after.view
    return (
        before.version == after.version
        and before.looks.keys() == after.looks.keys()
        and not (view.route or view.traced or view.costs or view.computing)
        and not (one.dimmed or other.dimmed)
        and replace(before.view, annotations=other) == view
        and one.page.severities == other.page.severities
        and one.page.notes == other.page.notes
        and legend_content(one) == legend_content(other)
    )


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


def _label_boxes(before: tuple[Label, ...], after: tuple[Label, ...]) -> Floats:
    """Those of labels that only one of two pictures shows."""
    changed = () if before is after else {*before} ^ {*after}
    return np.array([label.box for label in changed]).reshape(-1, 4)


def _lane_boxes(view: ViewState, wires: Indices) -> Floats:
    return view.camera.rows_to_widget(view.scene.wire_bounds[wires])
