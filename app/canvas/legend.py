"""The legend: every state of a lane as it is drawn, with its name."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas import glyphs, lanes
from app.canvas.lanes import CODES, STYLES, Bundle
from app.theme import SMALL, Theme, font

_ROW = 20.0
_SAMPLE = 74.0
_PAD = 12.0
_MARKS = {"PARTIAL": "37 %", "ZERO": "0", "FAINT": "▽", "FLOOD": "▲", "NONFINITE": "NaN"}


def legend_size() -> QSizeF:
    """Width and height of the legend, px at 100 %."""
    metrics = QFontMetricsF(font(SMALL))
    words = max(metrics.horizontalAdvance(style.title) for style in STYLES.values())
    return QSizeF(2 * _PAD + _SAMPLE + 10.0 + words, 2 * _PAD + _ROW * len(STYLES) - 4.0)


def paint_legend(painter: QPainter, corner: QPointF, theme: Theme) -> None:
    """Draw the legend with its top left at ``corner``."""
    size = legend_size()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(corner)
    painter.setPen(QPen(QColor(theme.hairline), 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(QRectF(QPointF(0.5, 0.5), size), 5.0, 5.0)
    for row, (name, style) in enumerate(STYLES.items()):
        y = _PAD + _ROW * row + 4.0
        _paint_sample(painter, name, y, theme)
        painter.setFont(font(SMALL))
        painter.setPen(QColor(theme.ink))
        place = QRectF(_PAD + _SAMPLE + 10.0, y - 8.0, size.width(), _ROW)
        flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, int(flags), style.title)
    painter.restore()


def _paint_sample(painter: QPainter, name: str, y: float, theme: Theme) -> None:
    style = STYLES[name]
    left, right = _PAD - 4.0, _PAD + _SAMPLE
    ends = np.array([[left, y, right, y]])
    bundle = Bundle(ends, np.array([CODES[name]], np.int8), np.array([2.4]))
    lanes.draw_curves(painter, bundle, theme, 1.0)
    colour, lane = theme.lane(name).name(), y + lanes.GAP
    if sign := style.glyph or _MARKS.get(name, ""):
        width = glyphs.width(sign)
        box = QRectF((left + right - width) / 2.0, lane - glyphs.SIZE / 2.0, width, glyphs.SIZE)
        glyphs.draw(painter, sign, box, colour, theme.canvas)
    if style.cut:
        box = QRectF(right - 15.0, lane - glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
        halo = theme.canvas if style.cut in glyphs.ON_LANE else ""
        glyphs.draw(painter, style.cut, box, colour, halo)
