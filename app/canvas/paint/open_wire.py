"""A wire with one end in the hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.paint.lanes import STEPS
from app.canvas.scene.bezier import flatten
from app.canvas.scene.polylines import draw_lines, strokes

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats
    from app.canvas.state.view_state import View


def loose_wire(view: View, port: int, end: Floats) -> Floats:
    """Ends (1, 4), in widget px, of a wire from ``port`` to the widget point ``end`` (2,)."""
    fixed = view.camera.to_widget(view.scene.port_points(np.array([port])))[0]
    pair = (end, fixed) if view.scene.port_is_input[port] else (fixed, end)
    return np.concatenate(pair)[None, :]


def draw_loose_wire(painter: QPainter, view: View, port: int, end: Floats, colour: str) -> None:
    """Draw it in a colour of the theme, by name."""
    painter.setPen(QPen(QColor(getattr(view.theme, colour)), 2.0))
    draw_lines(painter, strokes(flatten(loose_wire(view, port, end), STEPS)))
