"""Arrays as small pictures on a face: image, heatmap, sparkline or histogram.

A chart is a value of at most some 1,300 bytes, so that equal faces still share a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from runtime.flow.words.states import ColourRole

if TYPE_CHECKING:
    from app.services.theme import Theme

WIDTH, HEIGHT = 40, 32
"""Size of a chart, px at 100 %, and the most columns and rows that it shows."""
BINS = 20
_MOST = 50_000
"""Numbers that a histogram looks at, at most."""
_SMALLEST_IMAGE = 8
_CHANNELS = (1, 3)
_NOT_FINITE, _ZERO, _SPAN = 0, 128, 127


class Kind(Enum):
    """How an array is drawn."""

    IMAGE = auto()
    HEAT = auto()
    LINE = auto()
    BARS = auto()


@dataclass(frozen=True, slots=True)
class Chart:
    """Rows of levels, one byte each (three for a coloured image).

    Of a heatmap or line 128 is zero, 1 and 255 are the largest size, 0 is not finite. Of an image
    and a histogram 0 … 255 are least to most.
    """

    kind: Kind
    shape: tuple[int, ...]
    levels: bytes

    @property
    def array(self) -> NDArray[np.uint8]:
        """The levels in their shape."""
        return np.frombuffer(self.levels, np.uint8).reshape(self.shape)


def chart(array: NDArray[Any]) -> Chart | None:
    """The chart of an array; None of one that is better told in numbers.

    An image is the first of a batch: (n, c, h, w), (n, h, w, c), (c, h, w) or (h, w, c) with one
    or three channels, or (n, h, w) without negative numbers; at least 8 × 8. Other arrays of two
    axes are heatmaps, of one axis lines, and of more histograms.
    """
    if array.size < 5 or array.dtype.kind not in "fiub":
        return None
    picture = _as_image(array)
    if picture is not None:
        return _made(Kind.IMAGE, _shades(_sampled(picture)))
    if array.ndim == 2:
        return _made(Kind.HEAT, _signed(_sampled(array)))
    if array.ndim == 1:
        return _made(Kind.LINE, _signed(_sampled(array[None, :]))[0])
    return _made(Kind.BARS, _histogram(array))


def _made(kind: Kind, levels: NDArray[np.uint8]) -> Chart:
    return Chart(kind, levels.shape, levels.tobytes())


def _as_image(array: NDArray[Any]) -> NDArray[Any] | None:
    """(h, w) or (h, w, 3) of what is shaped like an image."""
    several = array.ndim == 4
    if several:
        array = array[0]
    if array.ndim != 3:
        return None
    channels = {array.shape[0], array.shape[2]} & {*_CHANNELS}
    if not channels and not several and min(array.shape[1:]) >= _SMALLEST_IMAGE:
        return None if (array[0] < 0).any() else array[0]
    if array.shape[0] in _CHANNELS:
        array = np.moveaxis(array, 0, -1)
    if array.shape[2] not in _CHANNELS or min(array.shape[:2]) < _SMALLEST_IMAGE:
        return None
    return array[:, :, 0] if array.shape[2] == 1 else array


def _sampled(array: NDArray[Any]) -> NDArray[np.float64]:
    """At most HEIGHT × WIDTH of the array's rows and columns, evenly chosen."""
    rows = np.linspace(0, array.shape[0] - 1, min(array.shape[0], HEIGHT)).round().astype(int)
    columns = np.linspace(0, array.shape[1] - 1, min(array.shape[1], WIDTH)).round().astype(int)
    return np.asarray(array[rows][:, columns], np.float64)


def _signed(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    finite = np.isfinite(values)
    largest = float(np.abs(values[finite]).max(initial=0.0)) or 1.0
    scaled = _ZERO + _SPAN * np.where(finite, values, 0.0) / largest
    return np.where(finite, np.round(scaled), _NOT_FINITE).astype(np.uint8)


def _shades(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    finite = np.where(np.isfinite(values), values, 0.0)
    low, high = float(finite.min()), float(finite.max())
    return np.round(255.0 * (finite - low) / ((high - low) or 1.0)).astype(np.uint8)


def _histogram(array: NDArray[Any]) -> NDArray[np.uint8]:
    flat = array.ravel()[:: max(1, array.size // _MOST)].astype(np.float64)
    flat = flat[np.isfinite(flat)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 0.0)
    if not flat.size or not np.isfinite(high - low):
        return np.zeros(BINS, np.uint8)
    # Not np.histogram: it refuses a range that has no room for the edges of its bins.
    places = BINS * ((flat - low) / ((high - low) or 1.0))
    counts = np.bincount(np.minimum(places.astype(int), BINS - 1), minlength=BINS)
    return np.asarray(np.round(255.0 * counts / counts.max()), np.uint8)


def draw_chart(painter: QPainter, shown: Chart, box: QRectF, theme: Theme) -> None:
    """Draw a chart into ``box``."""
    painter.save()
    if shown.kind in (Kind.IMAGE, Kind.HEAT):
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        negative = theme.lanes[ColourRole.LARGE]
        image = _image(shown, theme.accent, theme.canvas, negative, theme.error)
        place = _fitted(image, box) if shown.kind is Kind.IMAGE else box
        painter.drawImage(place, image)
    elif shown.kind is Kind.LINE:
        _draw_line(painter, shown.array, box, theme)
    else:
        _draw_bars(painter, shown.array, box, theme)
    painter.restore()


def _fitted(image: QImage, box: QRectF) -> QRectF:
    scale = min(box.width() / image.width(), box.height() / image.height())
    size = QPointF(image.width() * scale, image.height() * scale)
    corner = box.center() - size / 2.0
    return QRectF(corner, corner + size)


@lru_cache(maxsize=256)
def _image(shown: Chart, positive: str, zero: str, negative: str, bad: str) -> QImage:
    levels = shown.array
    if shown.kind is Kind.IMAGE:
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
    size = np.abs(np.arange(256) - _ZERO)[:, None] / _SPAN
    far = np.where(np.arange(256)[:, None] >= _ZERO, ends[0], ends[2])
    colours = np.clip(ends[1] + (far - ends[1]) * size, 0.0, 255.0)
    colours[_NOT_FINITE] = _rgb(bad)
    return np.asarray(np.round(colours), np.uint8)


def _rgb(name: str) -> NDArray[np.float64]:
    colour = QColor(name)
    return np.array([colour.red(), colour.green(), colour.blue()], np.float64)


def _draw_line(painter: QPainter, levels: NDArray[np.uint8], box: QRectF, theme: Theme) -> None:
    heights = box.center().y() - box.height() / 2.0 * (levels.astype(float) - _ZERO) / _SPAN
    across = np.linspace(box.left(), box.right(), len(levels))
    painter.setPen(QPen(QColor(theme.hairline), 0.8))
    painter.drawLine(QLineF(box.left(), box.center().y(), box.right(), box.center().y()))
    painter.setPen(QPen(QColor(theme.ink_soft), 1.2))
    known = levels != _NOT_FINITE
    points = zip(across[known].tolist(), heights[known].tolist(), strict=True)
    painter.drawPolyline([QPointF(x, y) for x, y in points])


def _draw_bars(painter: QPainter, levels: NDArray[np.uint8], box: QRectF, theme: Theme) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.ink_soft))
    step = box.width() / len(levels)
    for i, height in enumerate((levels / 255.0 * box.height()).tolist()):
        left = box.left() + i * step
        painter.drawRect(QRectF(left, box.bottom() - height, 0.85 * step, height))
