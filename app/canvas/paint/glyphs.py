"""Small glyphs on lanes, drawn as lines and not as letters, since fonts may lack them."""

from __future__ import annotations

import math
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap

from gradwire.app.services import typeface
from gradwire.app.services.theme import SMALL, font, text_width

SIZE = 12.0
"""Width and height of a glyph, px at 100 %."""
RADIUS = 9.0
"""Radius of a circle around one, px at 100 %."""


@lru_cache(maxsize=512)
def picture(glyph: str, colour: str, ground: str, unit: float, ratio: float) -> QPixmap:
    """A glyph or text, centred in the pixmap, on a ground of the colour ``ground`` if given."""
    wide = width(glyph)
    pixmap = QPixmap(math.ceil(wide * unit * ratio), math.ceil(SIZE * unit * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(unit, unit)
        draw(painter, glyph, QRectF(0.0, 0.0, wide, SIZE), colour, ground)
    return pixmap


def draw(painter: QPainter, glyph: str, box: QRectF, colour: str, ground: str = "") -> None:
    """Draw a glyph or text in ``box``, on a ground of the colour ``ground`` if given."""
    if ground:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(box, SIZE / 2.0, SIZE / 2.0)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if glyph not in SHAPES:
        painter.setPen(QColor(colour))
        painter.setFont(font(SMALL, bold=True))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), glyph)
        return
    pen = QPen(QColor(colour), 1.1 if glyph in _FINE else 1.6)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.save()
    painter.translate(box.center())
    painter.drawPath(SHAPES[glyph])
    painter.restore()


def draw_round(
    painter: QPainter, glyph: str, at: QPointF, unit: float, pen: QPen, ground: str
) -> None:
    """Draw a glyph in a circle, in the colour of a pen; ``unit`` is widget px per px of style."""
    painter.save()
    painter.translate(at)
    painter.scale(unit, unit)
    painter.setPen(pen)
    painter.setBrush(QColor(ground))
    painter.drawEllipse(QPointF(0.0, 0.0), RADIUS, RADIUS)
    box = QRectF(-SIZE / 2.0, -SIZE / 2.0, SIZE, SIZE)
    draw(painter, glyph, box, pen.color().name())
    painter.restore()


def width(glyph: str) -> float:
    """Width of the ground of a glyph or text, px at 100 %."""
    return SIZE if glyph in SHAPES else _text_width(glyph, typeface.families())


@lru_cache(maxsize=2048)
def _text_width(text: str, families: tuple[str, ...]) -> float:
    return max(SIZE, text_width(text, SMALL, bold=True) + 7.0)


def _strokes(*lines: tuple[float, float, float, float]) -> QPainterPath:
    path = QPainterPath()
    for x0, y0, x1, y1 in lines:
        path.moveTo(x0, y0)
        path.lineTo(x1, y1)
    return path


def _empty_set() -> QPainterPath:
    path = _strokes((-3.6, 4.6, 3.6, -4.6))
    path.addEllipse(QPointF(0.0, 0.0), 3.8, 3.8)
    return path


def _snowflake() -> QPainterPath:
    path = QPainterPath()
    for turn in range(6):
        angle = math.radians(60.0 * turn + 30.0)
        along = QPointF(math.cos(angle), math.sin(angle))
        path.moveTo(0.0, 0.0)
        path.lineTo(along * 5.4)
        for bend in (-0.9, 0.9):
            barb = QPointF(math.cos(angle + bend), math.sin(angle + bend))
            path.moveTo(along * 3.4)
            path.lineTo(along * 3.4 + barb * 1.7)
    return path


def _hatched() -> QPainterPath:
    path = _strokes((-4.0, 0.0, 0.0, -4.0), (-4.0, 4.0, 4.0, -4.0), (0.0, 4.0, 4.0, 0.0))
    path.addRect(-4.5, -4.5, 9.0, 9.0)
    return path


SHAPES = {
    "⊣": _strokes((-5.0, 0.0, 1.5, 0.0), (1.5, -5.0, 1.5, 5.0)),
    "∅": _empty_set(),
    "↛": _strokes(
        (-5.0, 0.0, 5.0, 0.0), (5.0, 0.0, 2.0, -3.0), (5.0, 0.0, 2.0, 3.0), (-2.5, 4.0, 1.5, -4.0)
    ),
    "❄": _snowflake(),
    "▨": _hatched(),
}
_FINE = frozenset("❄▨")
ON_LANE = frozenset("∅↛❄?▨")
"""Glyphs that interrupt the lane; the others end it or stand beside it."""
