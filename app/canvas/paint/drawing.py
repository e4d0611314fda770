"""Draws arrays of lines and rectangles in one call each, without copying them, and finds places in
the widget.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
import shiboken6
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter, QPen

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState

_HALF = 0.5 + 1e-6
"""What is that little below the middle between two device px is taken to be there, so that it
goes to the same one wherever the page has been panned to.
"""


def draw_lines(painter: QPainter, lines: Floats) -> None:
    """Draw ``lines`` (n, 4) with the painter's pen."""
    if len(lines):
        buffer = np.ascontiguousarray(lines, np.float64)
        start = cast("QLineF", shiboken6.wrapInstance(buffer.ctypes.data, QLineF))
        painter.drawLines(start, len(buffer))


def draw_rects(painter: QPainter, rects: Floats) -> None:
    """Draw ``rects`` (n, 4: left, top, width, height) with the painter's pen and brush."""
    if len(rects):
        buffer = np.ascontiguousarray(rects, np.float64)
        start = cast("QRectF", shiboken6.wrapInstance(buffer.ctypes.data, QRectF))
        painter.drawRects(start, len(buffer))


def widget_rect(view: ViewState, rect: Floats) -> QRectF:
    """A rectangle of the scene (4,: left, top, width, height) in widget px."""
    return QRectF(*view.camera.rects_to_widget(rect[None])[0].tolist())


def box_between(left: float, top: float, right: float, bottom: float) -> QRectF:
    """The rectangle between two corners."""
    return QRectF(left, top, right - left, bottom - top)


def draw_frame(painter: QPainter, box: QRectF, pen: QPen, room: float) -> None:
    """Draw a frame around a face, ``room`` px from it."""
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(-room, -room, room, room), room + 3.0, room + 3.0)


def draw_tag(
    painter: QPainter, box: QRectF, text: str, letters: QFont, colours: tuple[str, str], pen: QPen,
    corner: float,
) -> None:  # fmt: skip
    """Draw a text in a rounded box, in the ``colours`` of the letters and of their ground."""
    ink, ground = colours
    painter.setPen(pen)
    painter.setBrush(QColor(ground))
    painter.drawRoundedRect(box, corner, corner)
    painter.setPen(QColor(ink))
    painter.setFont(letters)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)


def snapped(points: Floats, ratio: float) -> Floats:
    """``points`` in widget px at the nearest device px, of which ``ratio`` make a widget px."""
    return np.asarray(np.floor(points * ratio + _HALF) / ratio)


def nearest(place: float) -> int:
    """The device px nearest to a place between two."""
    return math.floor(place + _HALF)
