"""Points in a plane: a colour and a form for each class, shades, and crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainterPath, QPen, QPolygonF

from gradwire.app.canvas.paint.views.colours import class_colour, over_field, table_of
from gradwire.app.canvas.paint.views.frames import ValueFrame, letters
from gradwire.runtime.views import FIRST, NOT_FINITE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QPainter

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.views import PointMarks

_SHADES = 24
"""Shades that points are drawn in at most."""
_FORMS = 4
"""Forms: a disc, a square, a triangle, a diamond."""
_FEW = 300
"""Points up to which they are drawn large."""


def draw_marks(
    painter: QPainter,
    marks: Sequence[PointMarks],
    frame: ValueFrame,
    theme: Theme,
    *,
    field: bool = False,
) -> None:
    """Draw marks inside a frame, each with a rim that sets it off from what is below.

    Over a ``field`` they are stronger than the same colours of the field.
    """
    painter.save()
    painter.setClipRect(frame.box, Qt.ClipOperation.IntersectClip)
    for each in marks:
        size = 6.0 if len(each.points) <= _FEW else 4.0
        if each.crosses:
            _draw_crosses(painter, frame.places(each.points), size, theme)
            continue
        for form, colour, chosen in _groups(each, theme, field=field):
            _draw_form(painter, form, frame.places(each.points[chosen]), size, colour, theme)
    painter.restore()


def draw_classes(
    painter: QPainter,
    labels: Sequence[str],
    box: QRectF,
    theme: Theme,
    zoom: float,
    *,
    field: bool = False,
) -> None:
    """Name the classes in the upper right corner of a picture, if there are few."""
    used = letters(zoom)
    metrics = QFontMetricsF(used)
    line = metrics.height()
    wide = max((metrics.horizontalAdvance(label) for label in labels), default=0.0) + 14.0
    if (
        not 1 < len(labels) <= 8
        or wide > 0.4 * box.width()
        or line * len(labels) > box.height() / 2
    ):
        return
    ground = QColor(theme.canvas)
    ground.setAlphaF(0.8)
    place = QRectF(box.right() - wide - 3.0, box.top() + 3.0, wide, line * len(labels) + 2.0)
    painter.fillRect(place, ground)
    painter.setFont(used)
    for number, label in enumerate(labels):
        middle = place.top() + 1.0 + (number + 0.5) * line
        at = QPointF(place.left() + 6.0, middle)
        colour = _class_ink(number, theme, field=field)
        _draw_form(painter, number % _FORMS, [at], 6.0, colour, theme)
        painter.setPen(QColor(theme.ink))
        text = QRectF(place.left() + 12.0, middle - line / 2.0, wide - 12.0, line)
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), label)


def _class_ink(number: int, theme: Theme, *, field: bool) -> QColor:
    colour = class_colour(number, theme)
    return over_field(colour, theme) if field else colour


def _groups(
    marks: PointMarks, theme: Theme, *, field: bool
) -> Iterator[tuple[int, QColor, np.ndarray]]:
    """Form, colour and which of the points (n,) of each class or shade."""
    count = len(marks.points)
    if marks.levels is None:
        yield 0, _class_ink(0, theme, field=field), np.ones(count, bool)
        return
    if marks.scale == "classes":
        for level in np.unique(marks.levels).tolist():
            number = level - FIRST
            yield number % _FORMS, _class_ink(number, theme, field=field), marks.levels == level
        return
    table = table_of("sequential", theme)
    bands = np.where(
        marks.levels == NOT_FINITE, -1, (marks.levels.astype(int) - FIRST) * _SHADES // 255
    )
    for band in np.unique(bands).tolist():
        chosen = bands == band
        level = NOT_FINITE if band < 0 else FIRST + int((band + 0.5) * 254 / _SHADES)
        yield 0, QColor(*table[level].tolist()), chosen


def _draw_form(
    painter: QPainter, form: int, points: list[QPointF], size: float, colour: QColor, theme: Theme
) -> None:
    rim = QColor(theme.canvas)
    if form == 0:
        painter.setPen(QPen(rim, 0.8))
        painter.setBrush(colour)
        for at in points:
            painter.drawEllipse(at, 0.5 * size + 0.4, 0.5 * size + 0.4)
        return
    if form == 1:
        many = QPolygonF(points)
        for width, ink in ((size + 1.6, rim), (size, colour)):
            pen = QPen(ink, width)
            pen.setCapStyle(Qt.PenCapStyle.SquareCap)
            painter.setPen(pen)
            painter.drawPoints(many)
        return
    half = 0.62 * size
    corners = (
        [(0, -1), (0.95, 0.75), (-0.95, 0.75)] if form == 2 else [(0, -1), (1, 0), (0, 1), (-1, 0)]
    )
    path = QPainterPath()
    for at in points:
        path.addPolygon(QPolygonF([at + QPointF(x * half, y * half) for x, y in corners]))
        path.closeSubpath()
    painter.setPen(QPen(rim, 0.8))
    painter.setBrush(colour)
    painter.drawPath(path)


def _draw_crosses(painter: QPainter, points: list[QPointF], size: float, theme: Theme) -> None:
    half = 0.5 * size
    lines = []
    for at in points:
        x, y = at.x(), at.y()
        lines += [
            QLineF(x - half, y - half, x + half, y + half),
            QLineF(x - half, y + half, x + half, y - half),
        ]
    for width, colour in ((2.8, theme.canvas), (1.4, theme.ink)):
        painter.setPen(QPen(QColor(colour), width))
        painter.drawLines(lines)
