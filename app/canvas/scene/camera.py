"""From scene to widget: zoom and offset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats

NEAREST = 8.0
FARTHEST = 0.02
PLAIN = 0.3
"""Below this zoom blocks are rectangles and wires straight lines."""
NUMBERS = 0.6
"""From this zoom on faces show numbers and names of ports."""


@dataclass(frozen=True, slots=True)
class Camera:
    """``widget = zoom · scene + (x, y)``, in widget px."""

    zoom: float = 1.0
    x: float = 0.0
    y: float = 0.0

    @property
    def unit(self) -> float:
        """Widget px per px of line style: grows with the zoom, but stays visible."""
        return min(max(self.zoom, 0.45), 4.0)

    def to_widget(self, points: Floats) -> Floats:
        """Scene points (…, 2) in widget px."""
        return points * self.zoom + (self.x, self.y)

    def to_scene(self, points: Floats) -> Floats:
        """Widget points (…, 2) in scene units."""
        return (points - (self.x, self.y)) / self.zoom

    def ends(self, ends: Floats) -> Floats:
        """Ends or courses of wires (m, 2 p) in widget px."""
        return np.asarray(ends * self.zoom + (self.x, self.y) * (ends.shape[1] // 2))

    def area(self, left: float, top: float, width: float, height: float) -> Floats:
        """The scene's left, top, right, bottom under a rectangle of the widget."""
        corners = np.array([[left, top], [left + width, top + height]])
        return self.to_scene(corners).ravel()

    def panned(self, dx: float, dy: float) -> Camera:
        """Moved by widget px."""
        return replace(self, x=self.x + dx, y=self.y + dy)

    def zoomed(self, zoom: float, x: float, y: float) -> Camera:
        """At ``zoom``, within limits, with the scene point under widget (x, y) kept there."""
        zoom = min(max(zoom, FARTHEST), NEAREST)
        ratio = zoom / self.zoom
        return Camera(zoom, x - (x - self.x) * ratio, y - (y - self.y) * ratio)

    @classmethod
    def fitting(
        cls, bounds: Floats, width: float, height: float, margin: float = 40.0, most: float = 1.0
    ) -> Camera:
        """Shows ``bounds`` (left, top, right, bottom) centred in width × height, up to ``most``."""
        left, top, right, bottom = bounds.tolist()
        zoom = min(
            max(width - 2 * margin, 1.0) / max(right - left, 1.0),
            max(height - 2 * margin, 1.0) / max(bottom - top, 1.0),
            most,
        )
        zoom = min(max(zoom, FARTHEST), NEAREST)
        return cls(
            zoom,
            (width - zoom * (left + right)) / 2.0,
            (height - zoom * (top + bottom)) / 2.0,
        )
