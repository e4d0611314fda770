"""What a canvas keeps from frame to frame, so that a part of it can be painted alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from app.canvas.paint.changed_area import Shown, changed_area, shown_in
from app.canvas.paint.ground import Ground
from app.canvas.paint.wires.labels import WireLabels
from app.canvas.scene.camera import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtCore import QRect, QSize
    from PySide6.QtGui import QRegion

    from app.canvas.paint.wires.labels import Labels
    from app.canvas.scene.arrays import Flags, Floats
    from app.canvas.state.view_state import ViewState

_MOST_PARTS = 400
"""Rectangles of a region, beyond which everything in its bounds is painted."""


class Kept:
    """The ground and the labels of the whole page in view, and the region to be painted."""

    def __init__(self) -> None:
        self.ground = Ground()
        self._labels = WireLabels()
        self._shown: Shown | None = None
        self._size = 0.0, 0.0
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

    def resize(self, size: QSize) -> None:
        """Keep what is seen in a widget of this size."""
        self._size = float(size.width()), float(size.height())

    def visible(self, view: ViewState) -> Floats:
        """Left, top, right and bottom of what is in view, scene units."""
        return view.camera.area(0.0, 0.0, *self._size)

    def labels(self, view: ViewState, budget: float) -> Labels:
        """The labels of all wires in view; see :meth:`WireLabels.of`."""
        return self._labels.of(view, self._size, budget)

    def changed_area(self, view: ViewState, size: QSize, budget: float) -> QRegion | None:
        """The area that differs from what was shown when this was last asked; None for all.

        All of it does where finding out takes longer than ``budget`` seconds, and from afar, where
        whole pages are in view and blocks are drawn without looks.
        """
        self.resize(size)
        if view.camera.zoom < PLAIN:
            self._shown = None
            return None
        before, labels = self._shown, self.labels(view, budget)
        complete = labels.are_complete
        self._shown = shown_in(view, self.visible(view), labels.placed) if complete else None
        if before is None or self._shown is None:
            return None
        return changed_area(before, self._shown)

    def forget(self) -> None:
        """All is painted anew, since something else has changed."""
        self._shown = None

    def touches(self, boxes: Floats) -> Flags:
        """Which of ``boxes`` (k, 4: left, top, right, bottom; widget px) touch the region."""
        low, high = self._parts[:, None, :2], self._parts[:, None, 2:]
        over = (boxes[:, :2] < high) & (boxes[:, 2:] > low)
        return np.asarray(over.all(axis=2).any(axis=0))
