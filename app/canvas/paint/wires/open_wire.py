"""A wire that is being drawn: one end at a port, the other at the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QColor, QPainter, QPen

from gradwire.app.canvas.paint.drawing import draw_lines
from gradwire.app.canvas.scene.bezier import Courses
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.polylines import strokes

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState


def open_wire(view: ViewState, port: int, end: Floats) -> Courses:
    """The course, in widget px, of a wire between ``port`` and the widget point ``end``."""
    fixed = view.camera.to_widget(view.scene.port_points(np.array([port])))[0]
    pair = (end, fixed) if view.scene.port_is_input[port] else (fixed, end)
    return Courses(np.concatenate(pair)[None, :], scale=view.camera.zoom)


def draw_open_wire(
    painter: QPainter, view: ViewState, port: int, end: Floats, colour: str = "accent"
) -> None:
    """Draw the wire in a colour of the theme, by its name."""
    painter.setPen(QPen(QColor(getattr(view.theme, colour)), 2.0))
    draw_lines(painter, strokes(open_wire(view, port, end).flatten(STEPS)))
