"""Pictures as text, for a terminal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.views.colours import FIRST, LAST, NOT_FINITE
from gradwire.runtime.views.pictures import (
    FieldPicture,
    HistogramPicture,
    ImagePicture,
    Picture,
    PlotPicture,
    ScatterPicture,
)

WIDTH, HEIGHT = 40, 12
"""Characters of a sketch at most."""
_BARS = "▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
_CLASSES = "ox+*sd%#"
_BAD, _GAP = "!", " "


def sketch(picture: Picture) -> str:
    """A picture in at most 40 × 12 characters; empty for nothing to draw.

    ``!`` is what is not finite. Shades go from blank to full, classes are ``o``, ``x``, ``+``, ….
    """
    match picture:
        case HistogramPicture():
            return _bars(picture.y.shares(picture.counts))
        case PlotPicture():
            lines = (line for line in picture.lines if len(line.values) > 1)
            return "\n".join(
                f"{_bars(picture.y.shares(_thin(line.values, WIDTH)))} {line.name}"
                for line in lines
            )
        case ScatterPicture():
            return _scattered(picture)
        case ImagePicture() if picture.pixels.ndim == 2:
            return _shaded(picture.pixels, picture.gaps)
        case FieldPicture() if picture.scale == "classes":
            return _text(_grid(_classes(), _sampled(picture.levels)))
        case FieldPicture():
            return _shaded(picture.levels)
    return ""


def _bars(shares: NDArray[np.float64]) -> str:
    """A character for each share, 0 … 1, at most ``WIDTH``."""
    thin = _thin(shares, WIDTH)
    known = np.isfinite(thin)
    at = np.clip(np.where(known, thin, 0.0) * len(_BARS), 0, len(_BARS) - 1).astype(int)
    return "".join(_BARS[i] if ok else _BAD for i, ok in zip(at, known, strict=True))


def _thin(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    if len(values) <= most:
        return values
    return np.asarray(values[np.linspace(0, len(values) - 1, most).astype(int)])


def _shaded(levels: NDArray[np.uint8], gaps: NDArray[np.bool_] | None = None) -> str:
    found = _grid(_shades(), _sampled(levels))
    if gaps is not None:
        found[_sampled(gaps)] = _GAP
    return _text(found)


def _scattered(picture: ScatterPicture) -> str:
    canvas = np.full((HEIGHT, WIDTH), " ")
    for marks in picture.marks:
        across, up = picture.x.shares(marks.points[:, 0]), picture.y.shares(marks.points[:, 1])
        with np.errstate(invalid="ignore"):
            inside = (across >= 0) & (across <= 1) & (up >= 0) & (up <= 1)
        column = np.minimum((across[inside] * WIDTH).astype(int), WIDTH - 1)
        row = np.minimum(((1.0 - up[inside]) * HEIGHT).astype(int), HEIGHT - 1)
        if marks.levels is None or marks.scale != "classes":
            canvas[row, column] = "×" if marks.crosses else "•"
        else:
            canvas[row, column] = _classes()[marks.levels[inside]]
    return _text(canvas)


def _sampled(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """At most so many rows and columns, evenly chosen; a character is twice as high as wide."""
    rows, columns = array.shape
    across = min(WIDTH, max(1, 2 * columns))
    down = min(HEIGHT, rows)
    row = np.minimum((np.arange(down) + 0.5) * rows / down, rows - 1).astype(int)
    column = np.minimum((np.arange(across) + 0.5) * columns / across, columns - 1).astype(int)
    return np.asarray(array[row][:, column])


def _shades() -> NDArray[np.str_]:
    """A character for each level."""
    share = (np.arange(256) - FIRST) / (LAST - FIRST)
    at = np.clip(share * len(_SHADES), 0, len(_SHADES) - 1).astype(int)
    found: NDArray[np.str_] = np.array([*_SHADES])[at]
    found[NOT_FINITE] = _BAD
    return found


def _classes() -> NDArray[np.str_]:
    found: NDArray[np.str_] = np.array([*_CLASSES])[(np.arange(256) - FIRST) % len(_CLASSES)]
    found[NOT_FINITE] = _BAD
    return found


def _grid(characters: NDArray[np.str_], levels: NDArray[np.generic]) -> NDArray[np.str_]:
    return np.asarray(characters[levels.astype(int)])


def _text(characters: NDArray[np.str_]) -> str:
    return "\n".join("".join(row) for row in characters)
