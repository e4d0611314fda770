"""Draws charts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from gradwire.app.canvas.state.charts import NOT_FINITE, SPAN, ZERO, Chart, ChartKind
from gradwire.runtime.flow import ColourRole

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


def draw_chart(painter: QPainter, chart: Chart, box: QRectF, theme: Theme) -> None:
    """Draw a chart into ``box``."""
    painter.save()
    if chart.kind in (ChartKind.IMAGE, ChartKind.HEAT):
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        negative = theme.lanes[ColourRole.LARGE]
        image = _image(chart, theme.accent, theme.canvas, negative, theme.error)
        place = _fitted(image, box) if chart.kind is ChartKind.IMAGE else box
        painter.drawImage(place, image)
    elif chart.kind is ChartKind.LINE:
        _draw_line(painter, chart.array, box, theme)
    else:
        _draw_bars(painter, chart.array, box, theme)
    painter.restore()


def _fitted(image: QImage, box: QRectF) -> QRectF:
    scale = min(box.width() / image.width(), box.height() / image.height())
    size = QPointF(image.width() * scale, image.height() * scale)
    corner = box.center() - size / 2.0
    return QRectF(corner, corner + size)


@lru_cache(maxsize=256)
def _image(chart: Chart, positive: str, zero: str, negative: str, bad: str) -> QImage:
    levels = chart.array
    if chart.kind is ChartKind.IMAGE:
        colours = levels if levels.ndim == 3 else np.repeat(levels[:, :, None], 3, axis=2)
    else:
        colours = _scale(positive, zero, negative, bad)[levels]
    data = np.ascontiguousarray(colours)
    height, width = data.shape[:2]
    made = QImage(data.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    return made.copy()


def _scale(positive: str, zero: str, negative: str, bad: str) -> NDArray[np.uint8]:
    """Colours (256, 3) of the levels of a heatmap."""
    ends = [_rgb(name) for name in (positive, zero, negative)]
    size = np.abs(np.arange(256) - ZERO)[:, None] / SPAN
    far = np.where(np.arange(256)[:, None] >= ZERO, ends[0], ends[2])
    colours = np.clip(ends[1] + (far - ends[1]) * size, 0.0, 255.0)
    colours[NOT_FINITE] = _rgb(bad)
    return np.asarray(np.round(colours), np.uint8)


def _rgb(name: str) -> NDArray[np.float64]:
    colour = QColor(name)
    return np.array([colour.red(), colour.green(), colour.blue()], np.float64)


def _draw_line(painter: QPainter, levels: NDArray[np.uint8], box: QRectF, theme: Theme) -> None:
    heights = box.center().y() - box.height() / 2.0 * (levels.astype(float) - ZERO) / SPAN
    across = np.linspace(box.left(), box.right(), len(levels))
    painter.setPen(QPen(QColor(theme.hairline), 0.8))
    painter.drawLine(QLineF(box.left(), box.center().y(), box.right(), box.center().y()))
    painter.setPen(QPen(QColor(theme.ink_soft), 1.2))
    known = levels != NOT_FINITE
    points = zip(across[known].tolist(), heights[known].tolist(), strict=True)
    painter.drawPolyline([QPointF(x, y) for x, y in points])


def _draw_bars(painter: QPainter, levels: NDArray[np.uint8], box: QRectF, theme: Theme) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.ink_soft))
    step = box.width() / len(levels)
    for i, height in enumerate((levels / 255.0 * box.height()).tolist()):
        left = box.left() + i * step
        painter.drawRect(QRectF(left, box.bottom() - height, 0.85 * step, height))
