"""Draws the slider of a number: a track, how far the number is along it, and a knob."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPen

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.state.looks import SliderLook
    from gradwire.app.services.theme import Theme

KNOB = 4.5
"""Radius of the knob, px at 100 %."""
_TRACK = 3.0


def draw_slider(
    painter: QPainter, slider: SliderLook, place: QRectF, theme: Theme, *, stale: bool = False
) -> None:
    """Draw a slider across ``place``; the knob of a number outside the limits is hollow."""
    track = track_of(place)
    middle, knob = track.center().y(), track.left() + slider.share * track.width()
    ink = QColor(theme.ink_faint if stale else theme.accent if slider.is_inside else theme.warning)
    for end, colour in ((track.right(), theme.hairline), (knob, ink)):
        pen = QPen(QColor(colour), _TRACK)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawLine(QPointF(track.left(), middle), QPointF(end, middle))
    painter.setPen(QPen(ink, 1.5))
    painter.setBrush(ink if slider.is_inside else QColor(theme.canvas))
    painter.drawEllipse(QPointF(knob, middle), KNOB, KNOB)


def track_of(place: QRectF) -> QRectF:
    """Where the middle of the knob may stand in a place."""
    return place.adjusted(KNOB, 0.0, -KNOB, 0.0)
