"""Curves over millions of steps in bounded memory: numbers become ranges where they are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.data.files.csv_text import csv_text

Floats = NDArray[np.float64]
_FIRST = 64
"""Points for which there is room at first."""
CAPACITY = 4096
"""Points that a curve keeps at most; beyond, neighbours become one point with a range."""

MOST = 2000
"""Curves that a recording has at most."""
_FINE = 64
"""Curves with all of their points; further ones have the eighth part."""


@by_identity
class Points(NamedTuple):
    """The points of a curve, in the order of steps; arrays of one length.

    A point stands for one or more numbers: the last of their steps, their mean, and the least and
    the largest of those that are finite. Each is NaN where all of them are.
    """

    steps: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats

    def upto(self, step: int) -> Points:
        """The points that end at a step or before."""
        end = int(np.searchsorted(self.steps, step, side="right"))
        return Points(self.steps[:end], self.mean[:end], self.low[:end], self.high[:end])

    def smoothed(self, weight: float) -> Floats:
        """The exponential moving average of the means, without its bias towards the start.

        ``weight`` is the share of the average that remains at each point, 0 … 1 without 1.
        Numbers that are not finite are left out, and stay as they are. Source of the correction:
        Kingma & Ba 2015, section 3.
        """
        if weight <= 0.0:
            return self.mean
        smooth, average, total = self.mean.copy(), 0.0, 0.0
        for place, value in enumerate(self.mean.tolist()):
            if np.isfinite(value):
                average = weight * average + (1.0 - weight) * value
                total = weight * total + (1.0 - weight)
                smooth[place] = average / total
        return smooth


class Curve:
    """A number by step, appended to without end.

    The first ``capacity`` numbers are kept one by one. Whenever there are more points, each two
    neighbours become one, so that a point stands for 2, 4, 8, … numbers, whose least and largest
    are never lost.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = max(2, capacity - capacity % 2)
        self._columns = np.empty((5, min(_FIRST, self._capacity)))
        """Rows: last step, sum, least, largest, and how many numbers were finite."""
        self._size = 0
        self.bucket = 1
        """How many numbers a point stands for."""
        self._filling = 0
        """How many numbers the last point has so far."""
        self.last = float("nan")
        """The number appended last."""
        self.count = 0
        """How many numbers were appended."""

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """The memory of its points."""
        return self._columns.nbytes

    def append(self, step: int, value: float) -> None:
        """Append the number of a step; steps only grow."""
        self.last = value
        self.count += 1
        if self._filling == 0:
            if self._size == self._capacity:
                self._halve()
            elif self._size == self._columns.shape[1]:
                self._grow()
            self._size += 1
            self._columns[:, self._size - 1] = step, 0.0, np.nan, np.nan, 0.0
        column = self._columns[:, self._size - 1]
        column[0] = step
        if np.isfinite(value):
            column[1] += value
            column[2] = value if column[4] == 0.0 else min(column[2], value)
            column[3] = value if column[4] == 0.0 else max(column[3], value)
            column[4] += 1.0
        self._filling = (self._filling + 1) % self.bucket

    def widen(self, low: float, high: float) -> None:
        """Let the last point reach from ``low`` to ``high`` as well."""
        column = self._columns[:, self._size - 1]
        column[2], column[3] = np.fmin(column[2], low), np.fmax(column[3], high)

    def extend(self, steps: Sequence[int], values: ArrayLike) -> None:
        """Append the numbers of several steps."""
        for step, value in zip(steps, np.asarray(values, float).tolist(), strict=True):
            self.append(step, value)

    def points(self) -> Points:
        """Copies of the points so far."""
        steps, total, low, high, count = self._columns[:, : self._size].copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / count
        return Points(steps.astype(np.int64), mean, low, high)

    def copy(self, upto: int | None = None) -> Curve:
        """A copy, without the points that end after the step ``upto``."""
        made = Curve(self._capacity)
        made._columns = self._columns.copy()
        made.bucket, made._size, made._filling = self.bucket, self._size, self._filling
        made.last, made.count = self.last, self.count
        if upto is not None:
            kept = int(np.searchsorted(self._columns[0, : self._size], upto, side="right"))
            if kept < self._size:
                made._size, made._filling = kept, 0
                made.count = kept * self.bucket
                made.last = float(made.points().mean[-1]) if kept else float("nan")
        return made

    def _grow(self) -> None:
        room = min(self._capacity, 2 * self._size)
        columns = np.empty((5, room))
        columns[:, : self._size] = self._columns
        self._columns = columns

    def _halve(self) -> None:
        """Make one point of each two neighbours."""
        first, second = self._columns[:, ::2], self._columns[:, 1::2]
        half = self._capacity // 2
        joined = np.empty((5, half))
        joined[0] = second[0]
        joined[1] = first[1] + second[1]
        joined[2] = np.fmin(first[2], second[2])
        joined[3] = np.fmax(first[3], second[3])
        joined[4] = first[4] + second[4]
        self._columns[:, :half] = joined
        self._size, self.bucket = half, self.bucket * 2


class CurveRecording:
    """The curves of one run, by name, in bounded memory.

    Names are those of the columns of a ``History``: ports for losses and watched values,
    ``lr/NAME`` and ``grad_norm/NAME`` for optimisers. Others may be added. Threads may append and
    read at the same time.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.losses: tuple[str, ...] = ()
        """The names of the curves that are losses."""
        self.step = 0
        """The last step that has a number."""
        self.left_out = 0
        """How many curves there was no room for."""
        self._curves: dict[str, Curve] = {}
        self._refused: set[str] = set()
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the curves, in the order in which they began."""
        return tuple(self._curves)

    @property
    def nbytes(self) -> int:
        """The memory of all points."""
        with self._lock:
            return sum(curve.nbytes for curve in self._curves.values())

    def add(
        self,
        step: int,
        numbers: Mapping[str, float | None],
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        """Append the numbers of a step; None is the same as not being there.

        Of a number that is the mean of several ``ranges`` has the least and the largest.
        """
        with self._lock:
            self.step = max(self.step, step)
            for name, number in numbers.items():
                if number is None:
                    continue
                curve = self._curves.get(name) or self._begin(name)
                if curve is not None:
                    curve.append(step, number)
                    if ranges and name in ranges:
                        curve.widen(*ranges[name])

    def points(self, name: str) -> Points:
        """The points of a curve; raises KeyError if there is none of that name."""
        with self._lock:
            return self._curves[name].points()

    def series(self, name: str) -> tuple[NDArray[np.int64], Floats]:
        """The steps and means of a curve, as ``History.series`` has them."""
        points = self.points(name)
        return points.steps, points.mean

    def last(self, name: str) -> float | None:
        """The last number of a curve; None without one."""
        curve = self._curves.get(name)
        return None if curve is None or not len(curve) else curve.last

    def copy(self, name: str, upto: int) -> CurveRecording:
        """A recording that goes on from a step of this one."""
        made = CurveRecording(name)
        with self._lock:
            made.step, made.left_out = min(upto, self.step), self.left_out
            made._refused, made.losses = set(self._refused), self.losses
            made._curves = {name: curve.copy(upto) for name, curve in self._curves.items()}
        return made

    def table(self) -> tuple[list[str], dict[int, dict[str, float]]]:
        """All columns, and by step the numbers in them: the means of points and, where a point
        stands for several numbers, the least and the largest in columns of their own.
        """
        columns: list[str] = []
        rows: dict[int, dict[str, float]] = {}
        for name in self.names:
            points = self.points(name)
            parts = {name: points.mean}
            if np.any(points.low < points.high):
                parts |= {f"{name} least": points.low, f"{name} largest": points.high}
            for column, numbers in parts.items():
                columns.append(column)
                for step, number in zip(points.steps.tolist(), numbers.tolist(), strict=True):
                    rows.setdefault(step, {})[column] = number
        return columns, rows

    def _begin(self, name: str) -> Curve | None:
        count = len(self._curves)
        if count >= MOST:
            self._refused.add(name)
            self.left_out = len(self._refused)
            return None
        made = self._curves[name] = Curve(CAPACITY if count < _FINE else CAPACITY // 8)
        return made


def csv_of(recordings: Sequence[CurveRecording]) -> str:
    """The text of a CSV file: a line for each run and step that has numbers; see ``table``."""
    tables = [(recording.name, *recording.table()) for recording in recordings]
    columns = list(dict.fromkeys(name for _, names, _ in tables for name in names))
    lines: list[list[str | float | None]] = [["run", "step", *columns]]
    for name, _, rows in tables:
        for step in sorted(rows):
            lines.append([name, step, *map(rows[step].get, columns)])
    return csv_text(lines)
