"""What a canvas keeps from frame to frame, so that a part of it can be painted alone.

That is the picture of what lies behind the faces, and what was shown, to find what looks different.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPixmap, QRegion

from gradwire.app.canvas.paint.blocks.face_cache import MARGIN
from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.paint.highlights import MIN_ZOOM, ROOM, severities_in
from gradwire.app.canvas.paint.legend import legend_content
from gradwire.app.canvas.paint.notes import heights_depend_on_blocks
from gradwire.app.canvas.paint.wires.labels import WireLabels
from gradwire.app.canvas.scene.arrays import NO_INDICES, distinct
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

    from gradwire.app.canvas.paint.wires.labels import Labels, WireLabel
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import Note, Page

_SMALL = 0.01
"""Share of a widget for which no picture is made."""


class Ground:
    """The picture of frames and wires. It is made when they stay the same for two frames.

    So a page that is panned or zoomed, where it changes with every frame, costs nothing more. When
    only lanes change, as with a number that is dragged, it is made at once: most numbers that
    follow change no lane, and would have the same wires drawn a second time. A small part that is
    painted, as under the mini-map after an edit, is drawn without it, which takes far less.
    """

    def __init__(self) -> None:
        self._size = QSize()
        self._ratio = 1.0
        self._key: GroundKey | None = None
        self.picture: QPixmap | None = None
        """What frames and wires look like, once that is known to stay."""

    def begin(self, size: QSize, ratio: float) -> None:
        """Start a frame of a widget of this size, with ``ratio`` device px per widget px."""
        if size != self._size or ratio != self._ratio:
            self._size, self._ratio, self._key = size, ratio, None

    def paint(
        self,
        painter: QPainter,
        view: ViewState,
        area: QRectF,
        share: float,
        draw: Callable[[QPainter, QRectF], None],
    ) -> None:
        """Paint ``area``: from the picture if there is one, or else by ``draw``.

        ``share`` is how much of the widget is painted in it.
        """
        key = ground_key(view)
        before, self._key = self._key, key
        if key != before:
            self.picture = None
        is_new = before is None or key.rest != before.rest
        if is_new or (self.picture is None and share < _SMALL):
            draw(painter, area)
            return
        if self.picture is None:
            self.picture = self._drawn(draw)
        ratio = self._ratio
        part = QRectF(area.topLeft() * ratio, area.size() * ratio)
        painter.drawPixmap(area, self.picture, part)

    def _drawn(self, draw: Callable[[QPainter, QRectF], None]) -> QPixmap:
        picture = QPixmap(self._size * self._ratio)
        picture.setDevicePixelRatio(self._ratio)
        picture.fill(Qt.GlobalColor.transparent)
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            draw(painter, QRectF(0.0, 0.0, self._size.width(), self._size.height()))
        return picture


class DrawnLanes:
    """Equal for lanes that are drawn alike; nothing is compared where they are the same objects."""

    __hash__ = None  # type: ignore[assignment]  # what is drawn alike need not hash alike

    def __init__(self, lanes: tuple[Lanes, ...]) -> None:
        self._lanes = lanes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DrawnLanes) or len(self._lanes) != len(other._lanes):
            return False
        return all(map(_drawn_alike, self._lanes, other._lanes))


def _drawn_alike(one: Lanes, other: Lanes) -> bool:
    return one is other or all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("drawn", "codes", "widths", "positions")
    )


class GroundKey(NamedTuple):
    """What the picture of frames and wires depends on."""

    lanes: DrawnLanes
    """The states, widths and positions of the lanes."""
    rest: Hashable
    """Everything else."""


def ground_key(view: ViewState) -> GroundKey:
    """Equal for view states whose frames and wires look the same."""
    scene, annotations = view.scene, view.annotations
    lanes = DrawnLanes((annotations.total, *annotations.lanes))
    known = view.annotations.page.notes
    notes = tuple(known.values()), tuple(view.dragged_notes.items())
    wire = view.selection.wire
    return GroundKey(lanes, (
        scene, scene.version, view.camera, view.theme, annotations.dimmed, notes,
        view.selection.notes, wire, view.phase if wire else 0.0, view.hidden_wire,
    ))  # fmt: skip


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


_MOST_PARTS = 400
"""Rectangles of a region, beyond which everything in its bounds is painted."""
_AROUND = 24.0
"""How far from a face what belongs to it may be painted, px at 100 %."""


class FrameCache:
    """The ground and the labels of the whole page in view, and the region to be painted."""

    def __init__(self) -> None:
        self.ground = Ground()
        self._labels = WireLabels()
        self._placed: tuple[WireLabel, ...] = ()
        """The labels that were painted last, or will be."""
        self._skipped: set[WireLabel] = set()
        """Labels that have come or gone since the whole was painted, outside of what was."""
        self._reforked: set[int] = set()
        """Wires that part from others of their ports elsewhere since then."""
        self._is_whole = True
        """Whether all in view is painted."""
        self._shown: ShownArea | None = None
        self._size = 0.0, 0.0
        self.share = 1.0
        """How much of the widget is painted."""
        self._parts: Floats = np.zeros((0, 4))
        """Left, top, right and bottom of the rectangles of the region, widget px."""

    def begin(self, region: QRegion, size: QSize, ratio: float) -> None:
        """Start to paint ``region`` of a widget of this size, ``ratio`` device px per widget px."""
        self.ground.begin(size, ratio)
        self.resize(size)
        whole = region.rectCount() > _MOST_PARTS
        parts = [region.boundingRect()] if whole else list(cast("Iterable[QRect]", region))
        corners = [(r.left(), r.top(), r.right() + 1, r.bottom() + 1) for r in parts]
        self._parts = np.array(corners, np.float64).reshape(-1, 4)
        bounds = region.boundingRect()
        self._is_whole = region.rectCount() == 1 and bounds.contains(QRect(QPoint(), size))
        painted = (self._parts[:, 2:] - self._parts[:, :2]).prod(axis=1).sum()
        self.share = float(painted) / max(size.width() * size.height(), 1)

    def resize(self, size: QSize) -> None:
        """Keep what is seen in a widget of this size."""
        self._size = float(size.width()), float(size.height())

    def visible(self, view: ViewState) -> Floats:
        """Left, top, right and bottom of what is in view, scene units."""
        return view.camera.area(0.0, 0.0, *self._size)

    def labels(self, view: ViewState, budget: float) -> Labels:
        """The labels of all wires in view; see :meth:`WireLabels.of`."""
        labels = self._labels.of(view, self._size, budget)
        changed, wires = self._changed(labels), view.scene.changed_forks()
        if self._is_whole:
            self._skipped, self._reforked = set(), set()
            return labels
        boxes = np.array([label.box for label in changed]).reshape(-1, 4)
        self._skipped.update(compress(changed, ~self._contains(boxes)))
        bounds = view.camera.rows_to_widget(view.scene.wire_bounds[wires])
        self._reforked.update(wires[~self._contains(bounds)].tolist())
        return labels

    def _changed(self, labels: Labels) -> list[WireLabel]:
        """The labels that have come or gone since this was last asked."""
        before, self._placed = self._placed, labels.placed
        return [] if before is labels.placed else [*{*before} ^ {*labels.placed}]

    def remember(self, view: ViewState, size: QSize, version: int | None = None) -> None:
        """Know what is shown now, or about to be, before it changes; with a ``version`` of the
        scene, what was shown then, since which only wires have moved.
        """
        self.resize(size)
        is_near = view.camera.zoom >= PLAIN
        shown = shown_in(view, self.visible(view)) if is_near else None
        self._shown = shown if shown is None or version is None else shown._replace(version=version)

    def changed_area(self, view: ViewState, size: QSize, budget: float) -> QRegion | None:
        """The area that differs from what was shown when this was last asked; None for all.

        All of it does where finding out takes longer than ``budget`` seconds, and from afar, where
        whole pages are in view and blocks are drawn without looks.
        """
        before = self._shown
        self.remember(view, size)
        if before is None or self._shown is None or not are_comparable(before, self._shown):
            self._skipped, self._reforked = set(), set()  # all is painted
            return None
        labels = self._labels.of(view, self._size, budget)
        if self._reforked and before.wire_keys is not self._shown.wire_keys:
            self._skipped, self._reforked = set(), set()
            return None  # they were numbered otherwise
        changed, self._skipped = self._skipped.union(self._changed(labels)), set()
        wires = self._reforked.union(view.scene.changed_forks().tolist())
        self._reforked = set()
        if not labels.are_complete:
            self._shown = None
            return None
        reforked = np.fromiter(wires, np.intp, len(wires))
        return changed_area(before, self._shown, changed, reforked)

    def forget(self) -> None:
        """All is painted anew, since something else has changed."""
        self._shown = None

    def blocks(self, view: ViewState, blocks: Indices) -> Indices:
        """Those of ``blocks`` of which something may be seen in the region."""
        return blocks[self.touches(face_boxes(view, view.scene.rects[blocks], _AROUND))]

    def wires(self, view: ViewState, wires: Indices) -> Indices:
        """Those of ``wires`` that may be seen in the region."""
        return wires[self.touches(view.camera.rows_to_widget(view.scene.wire_bounds[wires]))]

    def _contains(self, boxes: Floats) -> Flags:
        """Which of ``boxes`` (k, 4: left, top, right, bottom; widget px) lie in the region."""
        low, high = self._parts[:, None, :2] + PAD, self._parts[:, None, 2:] - PAD
        inside = (boxes[:, :2] >= low) & (boxes[:, 2:] <= high)
        return np.asarray(inside.all(axis=2).any(axis=0))

    def touches(self, boxes: Floats) -> Flags:
        """Which of ``boxes`` (k, 4: left, top, right, bottom; widget px) touch the region."""
        low, high = self._parts[:, None, :2], self._parts[:, None, 2:]
        over = (boxes[:, :2] < high) & (boxes[:, 2:] > low)
        return np.asarray(over.all(axis=2).any(axis=0))
