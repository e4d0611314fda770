"""What a canvas keeps from frame to frame, so that a part of it can be painted alone."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, cast

import numpy as np
from PySide6.QtCore import QPoint, QRect

from gradwire.app.canvas.paint.changed_area import (
    PAD,
    ShownArea,
    are_comparable,
    changed_area,
    face_boxes,
    shown_in,
)
from gradwire.app.canvas.paint.ground import Ground
from gradwire.app.canvas.paint.wires.labels import WireLabels
from gradwire.app.canvas.scene.camera import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtCore import QSize
    from PySide6.QtGui import QRegion

    from gradwire.app.canvas.paint.wires.label_layout import WireLabel
    from gradwire.app.canvas.paint.wires.labels import Labels
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.state.view_state import ViewState

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
