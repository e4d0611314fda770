"""The frame of a picture: axes with ticks and numbers, and a line of remarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPen

from app.canvas.paint.legible import legible_size
from app.services.colours import contrast
from app.services.theme import SMALL, font
from runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter

    from app.services.theme import Theme
    from runtime.views.axes import Axis, Floats

_TICK = 3.0
_GAP = 3.0
_LEAST = 60.0
"""Least width and height of a picture that has axes, widget px."""
_LOUD, _FAINT = 3.0, 0.3
"""Lines of a grid with more contrast than this are drawn with this opacity."""


@dataclass(frozen=True)
class Frame:
    """Where values lie on a face: ``box`` is what the axes span, scene units."""

    box: QRectF
    x: Axis
    y: Axis

    def places(self, points: Floats) -> list[QPointF]:
        """Points (n, 2) on the face; those that lie beyond the axes are left out."""
        across, up = self.x.shares(points[:, 0]), self.y.shares(points[:, 1])
        with np.errstate(invalid="ignore"):
            inside = (across >= 0.0) & (across <= 1.0) & (up >= 0.0) & (up <= 1.0)
        x = self.box.left() + self.box.width() * across[inside]
        y = self.box.bottom() - self.box.height() * up[inside]
        return [QPointF(*place) for place in zip(x.tolist(), y.tolist(), strict=True)]


def letters(zoom: float) -> QFont:
    """The letters beside axes."""
    return font(legible_size(SMALL - 1, zoom))


def draw_remarks(
    painter: QPainter, notes: tuple[str, ...], box: QRectF, theme: Theme, zoom: float
) -> QRectF:
    """Draw what is not shown in a line at the lower end of ``box``; the rest of the box."""
    used = letters(zoom)
    height = QFontMetricsF(used).height()
    if not notes or box.height() < 4.0 * height:
        return box
    painter.setFont(used)
    painter.setPen(QColor(theme.warning))
    line = QRectF(box.left(), box.bottom() - height, box.width(), height)
    text = QFontMetricsF(used).elidedText(
        "⚠ " + " · ".join(notes), Qt.TextElideMode.ElideRight, box.width()
    )
    painter.drawText(line, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
    return box.adjusted(0.0, 0.0, 0.0, -height - 1.0)


def draw_axes(
    painter: QPainter, x: Axis, y: Axis, box: QRectF, theme: Theme, zoom: float, name: str = ""
) -> Frame:
    """Draw axes at the edges of ``box`` as far as there is room; the frame inside them.

    ``name`` is that of the x axis.
    """
    used = letters(zoom)
    metrics = QFontMetricsF(used)
    if min(box.width(), box.height()) * zoom < _LEAST:
        return Frame(box, x, y)
    rows = max(2, int(box.height() / (2.2 * metrics.height())))
    beside = [(tick, number(tick, 3)) for tick in y.ticks(min(rows, 6))]
    wide = max((metrics.horizontalAdvance(text) for _, text in beside), default=0.0)
    inner = box.adjusted(
        wide + _TICK + _GAP, 0.5 * metrics.height() - 2.0, -2.0, -metrics.height() - _TICK
    )
    columns = max(2, int(inner.width() / max(1.0, metrics.horizontalAdvance("−0.0000"))))
    below = [(tick, number(tick, 3)) for tick in x.ticks(min(columns, 7))]
    frame = Frame(inner, x, y)
    painter.setFont(used)
    _draw_grid(painter, frame, [tick for tick, _ in below], [tick for tick, _ in beside], theme)
    painter.setPen(QColor(theme.ink_soft))
    middle = Qt.AlignmentFlag.AlignVCenter
    for share, (_, text) in zip(y.shares([t for t, _ in beside]).tolist(), beside, strict=True):
        at = inner.bottom() - inner.height() * share
        place = QRectF(box.left(), at - 10.0, wide + 0.5, 20.0)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | middle), text)
    end = inner.right()
    if name:
        end -= metrics.horizontalAdvance(name) + _GAP
        place = QRectF(inner.left(), inner.bottom() + _TICK, inner.width(), metrics.height())
        painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | middle), name)
    for share, (_, text) in zip(x.shares([t for t, _ in below]).tolist(), below, strict=True):
        at, half = inner.left() + inner.width() * share, metrics.horizontalAdvance(text) / 2.0
        at = max(at, inner.left() + half - _TICK - _GAP)
        at = min(at, box.right() - half) if not name else at
        if at + half <= end + 0.5 or not name:
            place = QRectF(
                at - half - 1.0, inner.bottom() + _TICK, 2 * half + 2.0, metrics.height()
            )
            painter.drawText(place, int(Qt.AlignmentFlag.AlignHCenter | middle), text)
    return frame


def draw_border(painter: QPainter, box: QRectF, theme: Theme) -> None:
    """Draw a thin line around a picture."""
    painter.setPen(QPen(QColor(theme.hairline), 0.8))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(box)


def _draw_grid(
    painter: QPainter, frame: Frame, across: list[float], up: list[float], theme: Theme
) -> None:
    """Draw ticks outside the frame and faint lines inside it."""
    box = frame.box
    columns = [box.left() + box.width() * share for share in frame.x.shares(across).tolist()]
    rows = [box.bottom() - box.height() * share for share in frame.y.shares(up).tolist()]
    line = QColor(theme.hairline)
    if contrast(theme.hairline, theme.canvas) > _LOUD:
        line.setAlphaF(_FAINT)
    painter.setPen(QPen(line, 0.6))
    painter.drawLines([QLineF(x, box.top(), x, box.bottom()) for x in columns])
    painter.drawLines([QLineF(box.left(), y, box.right(), y) for y in rows])
    painter.setPen(QPen(QColor(theme.ink_faint), 0.8))
    painter.drawLines([QLineF(x, box.bottom(), x, box.bottom() + _TICK) for x in columns])
    painter.drawLines([QLineF(box.left() - _TICK, y, box.left(), y) for y in rows])
