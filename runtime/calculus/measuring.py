"""Arrays in short, so that many can be compared without keeping them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

ROW = 4096
_GOLDEN = 0.618
"""Its multiples, modulo 1, never repeat."""


@cache
def row_weights() -> Array:
    """What each number of a row is weighed by."""
    draw = np.random.default_rng(7)
    return draw.uniform(0.5, 1.0, ROW) * np.where(draw.random(ROW) < 0.5, -1.0, 1.0)


class Measured(NamedTuple):
    """An array in short: two that are equal measure the same, others hardly ever."""

    elements: int
    """The number of elements."""
    size: float
    """The root mean square of what is finite."""
    projection: float
    """What is finite, weighed by place and added up; NaN where that would have taken a copy."""
    wild: tuple[int, int, int]
    """How many are NaN, ∞ and −∞."""

    @property
    def shown(self) -> float:
        """The root mean square, or the number of a single element."""
        nan, above, below = self.wild
        if nan or (above and below):
            return math.nan
        if above or below:
            return math.inf if above or self.elements > 1 else -math.inf
        return self.projection / float(row_weights()[0]) if self.elements == 1 else self.size

    def apart(self, theirs: Measured, least: float) -> float:
        """How far this differs, relative to their size, or to ``least``; ∞ where not all of the
        same are finite.
        """
        if (self.elements, self.wild) != (theirs.elements, theirs.wild):
            return math.inf
        projected = abs(self.projection - theirs.projection) / (4.0 * math.sqrt(self.elements or 1))
        both = abs(self.size - theirs.size), 0.0 if math.isnan(projected) else projected
        return max(both) / max(theirs.size, least, 1e-30)

    def is_apart(self, theirs: Measured, within: float, least: float) -> bool:
        """Whether this differs by more than ``within``, relative to their size, or to ``least``."""
        return self.apart(theirs, least) > within


def measured(array: Array) -> Measured:
    """An array in short; takes about as long as adding it up three times."""
    flat = np.asarray(array).reshape(-1)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float64)
    wild = 0, 0, 0
    with np.errstate(all="ignore"):
        if not np.isfinite(flat.sum()):
            of_each = np.isnan(flat), np.isposinf(flat), np.isneginf(flat)
            wild = int(of_each[0].sum()), int(of_each[1].sum()), int(of_each[2].sum())
            flat = np.where(np.isfinite(flat), flat, 0)
        end = flat.size // ROW * ROW
        weights = row_weights().astype(flat.dtype)
        rows = flat[:end].reshape(-1, ROW) @ weights
        rows = np.append(rows, flat[end:] @ weights[: flat.size - end])
        return Measured(flat.size, _size(flat), added_up(rows), wild)


def added_up(rows: Array) -> float:
    """The projection of an array from those of its rows."""
    return float(rows @ (1.0 + _GOLDEN * np.arange(rows.size)[::-1] % 1.0))


def _size(flat: Array) -> float:
    """The root mean square; squares neither overflow nor underflow."""
    peak = float(np.abs(flat).max(initial=0.0))
    if not peak:
        return 0.0
    unit = flat / peak
    return peak * math.sqrt(float(unit @ unit) / flat.size)
