"""A wire with one end in the hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.courses import flatten
from app.canvas.curves import draw_lines, strokes
from app.canvas.lanes import STEPS

if TYPE_CHECKING:
    from app.canvas.geometry import Floats
    from app.canvas.shown import View


def loose_wire(view: View, port: int, end: Floats) -> Floats:
    """Ends (1, 4), in widget px, of a wire from ``port`` to the widget point ``end`` (2,)."""
    fixed = view.camera.to_widget(view.scene.port_points(np.array([port])))[0]
    pair = (end, fixed) if view.scene.port_is_input[port] else (fixed, end)
    return np.concatenate(pair)[None, :]


def draw_loose_wire(painter: QPainter, view: View, port: int, end: Floats, colour: str) -> None:
    """Draw it in a colour of the theme, by name."""
    painter.setPen(QPen(QColor(getattr(view.theme, colour)), 2.0))
    draw_lines(painter, strokes(flatten(loose_wire(view, port, end), STEPS)))
