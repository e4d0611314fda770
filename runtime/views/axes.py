"""Axes: ranges that hold all values, shares along them, and round ticks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats = NDArray[np.float64]
_MARGIN = 0.05
"""Room beyond the outermost values, as a share of their range."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values, from ``low`` to ``high`` > ``low``; on a logarithmic axis both are > 0."""

    low: float
    high: float
    log: bool = False
    whole: bool = False
    """Whether only whole numbers are ticks."""

    def shares(self, values: object) -> Floats:
        """Where values lie, 0 at the low end and 1 at the high one; NaN where they can't lie."""
        found = np.asarray(values, np.float64)
        with np.errstate(all="ignore"):
            if self.log:
                low, high = math.log(self.low), math.log(self.high)
                found = (np.log(np.where(found > 0, found, np.nan)) - low) / (high - low)
            else:
                found = (found - self.low) / (self.high - self.low)
        return np.asarray(found, np.float64)

    def ticks(self, most: int) -> list[float]:
        """At most ``most`` round values on the axis; powers of ten if they fit."""
        if most < 1:
            return []
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            powers = range(first, last + 1, max(1, math.ceil((last - first + 1) / most)))
            if len(powers) > 1:
                return [10.0**power for power in powers]
        ticks = _round_values(self.low, self.high, most)
        return [tick for tick in ticks if tick == round(tick)] if self.whole else ticks


def _round_values(low: float, high: float, most: int) -> list[float]:
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (factor * size for factor in _STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [round(number * step, 12) + 0.0 for number in range(first, last + 1)]
    return []


def axis_around(
    arrays: Iterable[object],
    low: float | None = None,
    high: float | None = None,
    *,
    log: bool = False,
    margin: float = _MARGIN,
) -> Axis:
    """An axis from ``low`` to ``high``; where one is None, all finite values of the arrays fit.

    With neither values nor ends it is −1 … 1, or 0.1 … 10 if logarithmic.
    """
    least, most = math.inf, -math.inf
    for array in arrays:
        known = np.asarray(array, np.float64)
        known = known[np.isfinite(known) & ((known > 0) | (not log))]
        if known.size:
            least, most = min(least, float(known.min())), max(most, float(known.max()))
    if least > most:
        least, most = (0.1, 10.0) if log else (-1.0, 1.0)
        margin = 0.0
    if log:
        room = (most / least) ** margin if most > least else 10.0
        return _ordered(low or least / room, high or most * room, log=True)
    room = margin * (most / 2.0 - least / 2.0) * 2.0 if most > least else abs(most) or 1.0
    return _ordered(least - room if low is None else low, most + room if high is None else high)


def _ordered(low: float, high: float, *, log: bool = False) -> Axis:
    """The axis between two ends in any order; of equal ends, one with some room around."""
    low, high = min(low, high), max(low, high)
    limit = float(np.finfo(np.float64).max) / 8.0
    low, high = max(low, -limit), min(high, limit)
    if log and low <= 0.0:
        high = high if high > 0.0 else 10.0
        low = high / 1e3
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        room = 0.5 * abs(low) or 1.0
        return Axis(low / 2.0, high * 2.0, log) if log else Axis(low - room, high + room)
    return Axis(low, high, log)
