"""Draws numbers in right-aligned columns, with brackets around arrays, and charts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from gradwire.app.canvas.paint.drawing import LEAST, legible_size, placed
from gradwire.app.canvas.state.charts import HEIGHT, NOT_FINITE, SPAN, WIDTH, ZERO, Chart, ChartKind
from gradwire.app.services.theme import SMALL, Theme, font, text_width
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import ROW
from gradwire.runtime.flow import ColourRole

if TYPE_CHECKING:
    from gradwire.app.canvas.state.formatting import Cells, FaceSection


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


_BRACKET = 5.0
_WIDE_GAP, _GAP = 9.0, 6.0
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip)
_SLIGHTLY = 0.9
"""Numbers shrink to this scale before they lose digits."""


@dataclass(frozen=True, slots=True)
class CellGrid:
    """Where the cells of a section lie: in px of its letters, scaled by ``scale`` at ``origin``."""

    cells: Cells
    columns: tuple[float, ...]
    """Width of each column."""
    gap: float
    left: float
    """Left edge of the first column."""
    width: float
    origin: QPointF
    """The middle of the left edge of everything, the mark and the brackets included."""
    scale: float
    size: int
    """Pixel size of the letters."""

    def cell(self, row: int, column: int) -> QRectF:
        """The place of a cell before scaling."""
        left = self.left + sum(self.columns[:column]) + self.gap * column
        return QRectF(left, ROW * (row - len(self.cells) / 2.0), self.columns[column], ROW)

    def placed(self, row: int, column: int) -> QRectF:
        """The place of a cell on the face."""
        box = self.cell(row, column)
        return QRectF(self.origin + box.topLeft() * self.scale, box.size() * self.scale)


def draw_section(
    painter: QPainter,
    section: FaceSection,
    place: QRectF,
    theme: Theme,
    *,
    zoom: float,
    stale: bool,
) -> None:
    """Draw a section right-aligned in ``place``, by :func:`grid_of`."""
    if section.chart is not None:
        box = QRectF(place.left(), place.center().y() - HEIGHT / 2.0, WIDTH, HEIGHT)
        draw_chart(painter, section.chart, box, theme)
    grid = grid_of(section, place, zoom)
    if grid is None:
        return
    shown, half = section.readout, ROW * len(grid.cells) / 2.0
    mark = _mark(section, grid.size)
    with placed(painter, *grid.origin.toTuple(), grid.scale):
        painter.setFont(font(grid.size))
        if section.mark:
            painter.setPen(QColor(theme.ink_faint if stale else theme.accent))
            _draw_text(painter, QRectF(0.0, -half, mark - 6.0, 2 * half), section.mark)
        ink = theme.ink_soft if shown.prose else theme.accent if section.mark else theme.ink
        painter.setPen(QPen(QColor(theme.ink_faint if stale else ink), 0.8))
        if shown.bracketed:
            _draw_brackets(painter, mark, grid.width, half)
        for r, row in enumerate(grid.cells):
            for c, text in enumerate(row):
                _draw_text(painter, grid.cell(r, c), text)


def grid_of(section: FaceSection, place: QRectF, zoom: float) -> CellGrid | None:
    """Where the cells of a section lie in ``place``; None without room for any.

    Where room is short there are fewer digits, then smaller letters as far as they are legible at
    ``zoom``, then fewer columns.
    """
    if section.chart is not None:
        place = place.adjusted(WIDTH + 6.0, 0.0, 0.0, 0.0)
    size = legible_size(SMALL, zoom)
    shown = section.readout
    mark = _mark(section, size)
    frame = mark + (2 * _BRACKET if shown.bracketed else 0.0)
    for cells, gap in ((shown.cells, _WIDE_GAP), (shown.cells, _GAP), (shown.short, _GAP)):
        columns = _columns(cells, size)
        width = frame + sum(columns) + gap * (len(columns) - 1)
        if width * _SLIGHTLY <= place.width():
            break
    shrink = min(1.0, max(place.width() / width, LEAST / (size * zoom)))
    if width * shrink > place.width() + 1e-6:
        cells = _fewer(cells, place.width() / shrink - frame, size, prose=shown.prose)
        if not cells:
            return None
        columns = _columns(cells, size)
        width = frame + sum(columns) + gap * (len(columns) - 1)
    left = mark + (_BRACKET if shown.bracketed else 0.0)
    origin = QPointF(place.right() - width * shrink, place.center().y())
    return CellGrid(cells, tuple(columns), gap, left, width, origin, shrink, size)


def _mark(section: FaceSection, size: int) -> float:
    """Width of the mark before the numbers, px of the letters."""
    if not section.mark:
        return 0.0
    return text_width(section.mark, size) + 6.0


def _fewer(cells: Cells, room: float, size: int, *, prose: bool) -> Cells:
    """The columns that fit ``room`` with an ellipsis after them; of prose, the first phrases."""
    if prose:
        fitting = tuple((_beginning(row[0], room, size),) for row in cells)
        enough = all if len(cells[0]) > 1 else any  # some leaves of a tree would seem to be all
        return fitting if enough(row[0] for row in fitting) else ()
    for count in range(len(cells[0]) - 1, 0, -1):
        fewer = tuple((*row[:count], "…") for row in cells)
        if sum(_columns(fewer, size)) + _GAP * count <= room:
            return fewer
    return ()


def _beginning(text: str, room: float, size: int) -> str:
    """As many of the phrases of ``text`` as fit: a number cut in two would mislead."""
    phrases = text.split(" · ")
    beginnings = (" · ".join(phrases[:count]) for count in range(len(phrases), 0, -1))
    return next((part for part in beginnings if text_width(part, size) <= room), "")


def _columns(cells: Cells, size: int) -> list[float]:
    return [max(text_width(cell, size) for cell in column) for column in zip(*cells, strict=True)]


def _draw_text(painter: QPainter, place: QRectF, text: str) -> None:
    painter.drawText(place, _RIGHT, text)


def _draw_brackets(painter: QPainter, left: float, right: float, half: float) -> None:
    for corners in _brackets(left, right, half):
        painter.drawPolyline(corners)


@lru_cache(maxsize=512)
def _brackets(left: float, right: float, half: float) -> tuple[list[QPointF], ...]:
    """The corners of both."""
    upper, lower = -half + 2.5, half - 2.5
    return tuple(
        [
            QPointF(x + inward, upper),
            QPointF(x, upper),
            QPointF(x, lower),
            QPointF(x + inward, lower),
        ]
        for x, inward in ((left, 2.5), (right, -2.5))
    )
