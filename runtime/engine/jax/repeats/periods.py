"""Stretches of a sequence of numbers that repeat themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_GRAM = 4
"""Neighbours that must be equal for their distance to count as a possible period."""
_MOST = 256
"""Periods that are tried: the distances that are met most often."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Run(NamedTuple):
    """``length`` numbers from ``start`` on, each equal to the one ``period`` before it."""

    start: int
    length: int
    period: int

    @property
    def saved(self) -> int:
        """How many of the numbers are repetitions."""
        return self.length - self.period


def runs(numbers: NDArray[Any], fewest: int) -> list[Run]:
    """The stretches that have one of the likely periods at least ``fewest`` times.

    They may overlap. Time is linear in the numbers, for at most ``_MOST`` periods.
    """
    found = []
    for period in _likely(numbers, fewest):
        differs = np.flatnonzero(numbers[:-period] != numbers[period:])
        ends = np.concatenate(([-1], differs, [len(numbers) - period]))
        for at in np.flatnonzero(np.diff(ends) > (fewest - 1) * period):
            start, stop = int(ends[at]) + 1, int(ends[at + 1])
            found.append(Run(start, stop - start + period, period))
    return found


def _likely(numbers: NDArray[Any], fewest: int) -> list[int]:
    """Distances between equal groups of neighbours, those that are met most often."""
    if len(numbers) < max(fewest, _GRAM + 1):
        return []
    grams = numbers[: len(numbers) - _GRAM + 1].astype(np.uint64)
    for i in range(1, _GRAM):
        grams = grams * _FACTOR + numbers[i : len(numbers) - _GRAM + 1 + i].astype(np.uint64)
    order = np.argsort(grams, kind="stable")
    same = grams[order[1:]] == grams[order[:-1]]
    distances, counts = np.unique(np.diff(order)[same], return_counts=True)
    likely = np.argsort(-counts, kind="stable")[:_MOST]
    return [int(distances[i]) for i in likely if counts[i] >= fewest - 1]
