"""Finds the part of the widget that looks different with another result, or after an edit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtGui import QRegion

from gradwire.app.canvas.paint.blocks.face_cache import MARGIN
from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.paint.legend import legend_content
from gradwire.app.canvas.paint.notes import heights_depend_on_blocks
from gradwire.app.canvas.paint.port_types import MIN_ZOOM, ROOM
from gradwire.app.canvas.paint.problems import severities_in
from gradwire.app.canvas.scene.arrays import NO_INDICES, distinct
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.app.canvas.paint.wires.label_layout import WireLabel
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import Note, Page

PAD = 2.0
"""Around what has changed, for smoothed edges, widget px."""


@by_identity
class ShownArea(NamedTuple):
    """What is in view, and where; the scene itself follows edits."""

    view: ViewState
    visible: Floats
    """Left, top, right and bottom of what is in view, scene units."""
    version: int
    """That of the scene, which follows its blocks."""
    page: Page
    wire_keys: list[str]
    notes: Mapping[str, Note]
    looks: dict[str, Look]
    """Of the blocks in view, by name."""
    rects: Floats
    """Where these blocks are (k, 4)."""


def shown_in(view: ViewState, visible: Floats) -> ShownArea:
    """What is shown in ``visible``, an area of the scene."""
    scene, annotations = view.scene, view.annotations
    look_of = annotations.look if view.camera.zoom >= NUMBERS else annotations.plain_look
    blocks = scene.blocks_in(visible)
    looks = {scene.names[i]: look_of(i) for i in blocks.tolist()}
    notes = annotations.page.notes
    return ShownArea(
        view, visible, scene.version, scene.page, scene.wire_keys, notes, looks, scene.rects[blocks]
    )


def changed_area(
    before: ShownArea, after: ShownArea, labels: Collection[WireLabel], wires: Indices
) -> QRegion | None:
    """The area of the widget that may look different, where ``labels`` come or go and ``wires`` of
    a port part elsewhere; None if it is all of it. Both are comparable.
    """
    view, moved = after.view, after.view.scene.moved.since(before.version)
    kept = _kept_wires(before, after)
    if moved is None or kept is None:
        return None
    boxes = [
        _changed_faces(before, after),
        _lane_boxes(view, _changed_wires(before.view.annotations, view.annotations, *kept)),
        _lane_boxes(view, distinct(np.concatenate([moved, wires]))),
        np.array([label.box for label in labels]).reshape(-1, 4),
    ]
    if after.version != before.version:
        if heights_depend_on_blocks(view):
            return None
        boxes += [
            view.camera.rows_to_widget(view.scene.moved.bounds_since(before.version)),
            _dependent_faces(before, after, moved),
        ]
    region, found = QRegion(), np.concatenate(boxes)
    low, high = view.camera.to_widget(after.visible.reshape(2, 2))
    found = found[((found[:, :2] < high + PAD) & (found[:, 2:] > low - PAD)).all(axis=1)]
    for sides in found.tolist():
        region += box_between(*sides).adjusted(-PAD, -PAD, PAD, PAD).toAlignedRect()
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


def are_comparable(before: ShownArea, after: ShownArea) -> bool:
    """Whether everything but faces, lanes and labels is known to look the same."""
    one, other, view = before.view.annotations, after.view.annotations, after.view
    selection = before.view.selection._replace(blocks=view.selection.blocks)
    return (
        _are_in_order(before.looks, after.looks)
        and before.page.bends is after.page.bends
        and before.page.styles is after.page.styles
        and before.notes == after.notes
        and not (view.route or view.traced or view.costs or view.computing)
        and not (one.dimmed or other.dimmed)
        and replace(before.view, annotations=other, selection=selection) == view
        and one.page.severities == other.page.severities
        and legend_content(one) == legend_content(other)
    )


def _are_in_order(before: Collection[str], after: Collection[str]) -> bool:
    """Whether those of two collections of blocks that both have are painted in the same order."""
    one, other = {*before}, {*after}
    return [name for name in before if name in other] == [name for name in after if name in one]


def _kept_wires(before: ShownArea, after: ShownArea) -> tuple[Indices, Indices] | None:
    """The numbers that wires had (k,) which are still there, and those that they have now (k,);
    None if these are not known.
    """
    scene = after.view.scene
    if before.wire_keys is scene.wire_keys:
        same = np.arange(len(scene.wire_keys))
        return same, same
    known = scene.renumbered
    if known is None or known.wire_keys is not before.wire_keys:
        return None
    wires = known.edit.wires
    now = np.flatnonzero(wires.before >= 0)
    return wires.before[now], now


def _changed_faces(before: ShownArea, after: ShownArea) -> Floats:
    """Boxes of the faces that look different, are elsewhere, or have come or gone, and of those
    that were selected or are no more.
    """
    scene, looks = after.view.scene, after.looks
    pairs = ((name, look, before.looks.get(name)) for name, look in looks.items())
    changed = {name for name, look, old in pairs if look is not old and look != old}
    changed |= before.view.selection.blocks ^ after.view.selection.blocks
    here = np.array([scene.index[name] for name in changed & scene.index.keys()], np.intp)
    known = np.array([scene.index.get(name, -1) for name in before.looks], np.intp)
    stays = known >= 0
    moved = ~stays
    moved[stays] = (scene.rects[known[stays]] != before.rects[stays]).any(axis=1)
    places = [scene.rects[here], scene.rects[known[moved & stays]], before.rects[moved]]
    return face_boxes(after.view, np.concatenate(places), MARGIN)


def _dependent_faces(before: ShownArea, after: ShownArea, moved: Indices) -> Floats:
    """Boxes of blocks that have not moved, but where the marks in view, if any block has, or the
    types beside ports may stand elsewhere now.
    """
    view, scene = after.view, after.view.scene
    stay = [*before.looks] == [*after.looks] and np.array_equal(before.rects, after.rects)
    marked = [] if stay else [scene.index[name] for name in severities_in(view)]
    sources = scene.wire_blocks[moved, 0] if view.camera.zoom >= MIN_ZOOM else []
    blocks = distinct(np.array([*marked, *sources], np.intp))
    return face_boxes(view, scene.rects[blocks], MARGIN)


def _changed_wires(before: Annotations, after: Annotations, was: Indices, now: Indices) -> Indices:
    """The wires whose lanes are drawn differently, among those numbered ``now`` (k,) that were
    numbered as ``was`` says (k,).
    """
    if before is after and was is now:
        return NO_INDICES
    changed: Flags = np.zeros(len(now), bool)
    lanes = zip((before.total, *before.lanes), (after.total, *after.lanes), strict=True)
    pairs = (  # as many as the legend lists
        (getattr(one, name), getattr(other, name))
        for one, other in lanes
        for name in ("codes", "drawn", "widths", "positions", "shared")
    )
    for old, new in pairs:
        if was is not now or old is not new:
            changed |= old[was] != new[now]
    return now[changed]


def _lane_boxes(view: ViewState, wires: Indices) -> Floats:
    return view.camera.rows_to_widget(view.scene.wire_bounds[wires])
