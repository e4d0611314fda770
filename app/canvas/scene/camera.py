"""The camera: zoom and offset that map the scene to the widget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats

MAX_ZOOM = 8.0
MIN_ZOOM = 0.02
PLAIN = 0.3
"""Below this zoom blocks are rectangles and wires straight lines."""
NUMBERS = 0.6
"""From this zoom on, faces show numbers and port names."""


@dataclass(frozen=True, slots=True)
class Camera:
    """``widget = zoom · scene + (x, y)``, in widget px."""

    zoom: float = 1.0
    x: float = 0.0
    y: float = 0.0

    @property
    def unit(self) -> float:
        """Widget px per px of line style: grows with the zoom, within limits."""
        return min(max(self.zoom, 0.45), 4.0)

    def to_widget(self, points: Floats) -> Floats:
        """Scene points (…, 2) in widget px."""
        return points * self.zoom + (self.x, self.y)

    def to_scene(self, points: Floats) -> Floats:
        """Widget points (…, 2) in scene units."""
        return (points - (self.x, self.y)) / self.zoom

    def rows_to_widget(self, rows: Floats) -> Floats:
        """Rows of points (m, 2 p), such as waypoints of wires, in widget px."""
        return np.asarray(rows * self.zoom + (self.x, self.y) * (rows.shape[1] // 2))

    def rects_to_widget(self, rects: Floats) -> Floats:
        """Rectangles (k, 4: left, top, width, height) in widget px."""
        shown = self.rows_to_widget(rects)
        shown[:, 2:] = rects[:, 2:] * self.zoom
        return shown

    def area(self, left: float, top: float, width: float, height: float) -> Floats:
        """Left, top, right, bottom of the scene behind a rectangle of the widget."""
        corners = np.array([[left, top], [left + width, top + height]])
        return self.to_scene(corners).ravel()

    def panned(self, dx: float, dy: float) -> Camera:
        """The camera moved by widget px."""
        return replace(self, x=self.x + dx, y=self.y + dy)

    def revealing(
        self,
        bounds: Floats,
        width: float,
        height: float,
        margin: float = 24.0,
        *,
        roughly: bool = False,
    ) -> Camera:
        """The camera panned until ``bounds`` (left, top, right, bottom) are visible in a widget of
        this size, ``margin`` px from its edges.

        Bounds too large for it are centred; with ``roughly``, any visible part suffices.
        """
        left, top, right, bottom = self.to_widget(bounds.reshape(2, 2)).ravel().tolist()
        dx = _shift(left, right, margin, width - margin, roughly=roughly)
        dy = _shift(top, bottom, margin, height - margin, roughly=roughly)
        return self.panned(dx, dy) if dx or dy else self

    def zoomed(self, zoom: float, x: float, y: float) -> Camera:
        """The camera at ``zoom``, within limits; the scene point at widget (x, y) stays there."""
        zoom = min(max(zoom, MIN_ZOOM), MAX_ZOOM)
        ratio = zoom / self.zoom
        return Camera(zoom, x - (x - self.x) * ratio, y - (y - self.y) * ratio)

    @classmethod
    def fitting(
        cls,
        bounds: Floats,
        width: float,
        height: float,
        margin: float = 40.0,
        least: float = 0.0,
        most: float = 1.0,
    ) -> Camera:
        """A camera that centres ``bounds`` (left, top, right, bottom), at a zoom within limits."""
        left, top, right, bottom = bounds.tolist()
        zoom = min(
            max(width - 2 * margin, 1.0) / max(right - left, 1.0),
            max(height - 2 * margin, 1.0) / max(bottom - top, 1.0),
            most,
        )
        zoom = min(max(zoom, least, MIN_ZOOM), MAX_ZOOM)
        return cls(
            zoom, (width - zoom * (left + right)) / 2.0, (height - zoom * (top + bottom)) / 2.0
        )


def _shift(low: float, high: float, least: float, most: float, *, roughly: bool) -> float:
    if high - low <= most - least:
        return max(least - low, 0.0) + min(most - high, 0.0)
    in_sight = low < most and high > least
    return 0.0 if roughly and in_sight else (least + most - low - high) / 2.0
