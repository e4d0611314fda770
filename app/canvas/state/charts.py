"""Arrays as small charts: image, heatmap, sparkline or histogram.

A chart is a value of at most some 1,300 bytes, so that equal faces share a picture.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

WIDTH, HEIGHT = 40, 32
"""Size of a chart, px at 100 %, and so the largest number of columns and rows."""
BINS = 20
_MAX_COUNTED = 50_000
"""Largest number of values that a histogram counts."""
_SMALLEST_IMAGE = 8
_CHANNELS = (1, 3)
NOT_FINITE, ZERO, SPAN = 0, 128, 127
"""Levels of a heatmap or line: not finite, zero, and from zero to the largest size."""


class ChartKind(Enum):
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

    kind: ChartKind
    shape: tuple[int, ...]
    levels: bytes

    @property
    def array(self) -> NDArray[np.uint8]:
        """The levels in their shape."""
        return np.frombuffer(self.levels, np.uint8).reshape(self.shape)


def chart(array: Array) -> Chart | None:
    """The chart of an array; None for a small or non-numeric one.

    An image is the first of a batch: (n, c, h, w), (n, h, w, c), (c, h, w) or (h, w, c) with one
    or three channels, or (n, h, w) without negative numbers; at least 8 × 8. Other arrays of two
    axes are heatmaps, of one axis lines, and of more histograms.
    """
    if array.size < 5 or array.dtype.kind not in "fiub":
        return None
    picture = _as_image(array)
    if picture is not None:
        return _packed(ChartKind.IMAGE, _shades(_sampled(picture)))
    if array.ndim == 2:
        return heatmap(array)
    if array.ndim == 1:
        return _packed(ChartKind.LINE, _signed(_sampled(array[None, :]))[0])
    return _packed(ChartKind.BARS, _histogram(array))


def heatmap(table: Array, most: int | None = None) -> Chart:
    """A table of two axes as a heatmap, whatever its size; of at most so many rows and columns."""
    sampled = _sampled(table) if most is None else _sampled(table, most, most)
    return _packed(ChartKind.HEAT, _signed(sampled))


def _packed(kind: ChartKind, levels: NDArray[np.uint8]) -> Chart:
    return Chart(kind, levels.shape, levels.tobytes())


def _as_image(array: Array) -> Array | None:
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


def _sampled(array: Array, height: int = HEIGHT, width: int = WIDTH) -> NDArray[np.float64]:
    """At most ``height`` × ``width`` of the array's rows and columns, evenly chosen."""
    rows = np.linspace(0, array.shape[0] - 1, min(array.shape[0], height)).round().astype(int)
    columns = np.linspace(0, array.shape[1] - 1, min(array.shape[1], width)).round().astype(int)
    return np.asarray(array[rows][:, columns], np.float64)


def _signed(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    finite = np.isfinite(values)
    largest = float(np.abs(values[finite]).max(initial=0.0)) or 1.0
    scaled = ZERO + SPAN * (np.where(finite, values, 0.0) / largest)
    return np.where(finite, np.round(scaled), NOT_FINITE).astype(np.uint8)


def _shades(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    finite = np.where(np.isfinite(values), values, 0.0)
    finite = finite / (float(np.abs(finite).max()) or 1.0)
    low, high = float(finite.min()), float(finite.max())
    return np.round(255.0 * (finite - low) / ((high - low) or 1.0)).astype(np.uint8)


def _histogram(array: Array) -> NDArray[np.uint8]:
    flat = array.ravel()[:: max(1, array.size // _MAX_COUNTED)].astype(np.float64)
    flat = flat[np.isfinite(flat)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 0.0)
    if not flat.size or not np.isfinite(high - low):
        return np.zeros(BINS, np.uint8)
    # Not np.histogram: it refuses a range that has no room for the edges of its bins.
    places = BINS * ((flat - low) / ((high - low) or 1.0))
    counts = np.bincount(np.minimum(places.astype(int), BINS - 1), minlength=BINS)
    return np.asarray(np.round(255.0 * counts / counts.max()), np.uint8)
