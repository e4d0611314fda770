"""Keeps the picture of what lies behind the faces while only numbers change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPixmap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.app.canvas.state.view_state import ViewState

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
