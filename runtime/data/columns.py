"""Columns of a source, and how the rows of a port are prepared from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.errors import RunError
from gradwire.blocks.nearest import did_you_mean

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.library.data import Column
    from gradwire.blocks.values import Array

Index: TypeAlias = NDArray[np.int64]

KEPT = 2**28
"""Bytes up to which a port's rows are prepared once and kept; larger ones are prepared by batch."""
CHUNK = 2**14
"""Rows that are read at once where all rows are read."""


class DataTable(Protocol):
    """Named columns of one number of rows, in memory or in a file."""

    @property
    def count(self) -> int:
        """Number of rows."""

    def row_shape(self, name: str) -> Shape:
        """The shape of one row of a column; raises RunError for a column that is missing."""

    def take(self, name: str, rows: Index | slice) -> Array:
        """Rows of a column, in the column's own dtype; of texts, their number in ``texts``."""

    def texts(self, name: str) -> tuple[str, ...] | None:
        """The texts of a column, each once; None for a column of numbers."""

    def place(self, name: str, row: int) -> str:
        """Where a row of a column is, for messages: a line of a file."""


class Arrays:
    """Columns that are arrays of equal length, in memory or mapped from a file."""

    def __init__(self, arrays: Mapping[str, Array], source: str = "") -> None:
        self.arrays = arrays
        self._source = source

    @property
    def count(self) -> int:
        """Number of rows."""
        return min((len(array) for array in self.arrays.values()), default=0)

    def row_shape(self, name: str) -> Shape:
        """The shape of one row of a column."""
        return self.arrays[name].shape[1:]

    def take(self, name: str, rows: Index | slice) -> Array:
        """Rows of a column."""
        return self.arrays[name][rows]

    def texts(self, name: str) -> tuple[str, ...] | None:
        """None: arrays have numbers."""
        return None

    def place(self, name: str, row: int) -> str:
        """Where a row of a column is."""
        return f"{self._source}row {row} of {name!r}"


class ColumnScale:
    """Mean and standard deviation of each number of a row."""

    def __init__(self, mean: Array, std: Array) -> None:
        self.mean = mean
        self.std = std

    def applied(self, rows: Array) -> Array:
        """The rows in float64, with mean 0 and standard deviation 1; constants become 0."""
        return (rows - self.mean) / np.where(self.std > 0, self.std, 1.0)


class Preparation:
    """Makes the rows of one port from the columns that it joins."""

    def __init__(self, port: str, column: Column, table: DataTable) -> None:
        self.port = port
        self.column = column
        self.scale: ColumnScale | None = None
        self._table = table
        self._names = column.of or (port,)
        self.row_shape = column.row_shape([table.row_shape(name) for name in self._names])
        self._codes = {name: self._coded(name) for name in self._names}
        self._kept: Array | None = None

    def _coded(self, name: str) -> Array | None:
        """The label of each text of a column, -1 for none; None for a column of numbers."""
        texts, labels = self._table.texts(name), self.column.labels
        if texts is None:
            if labels:
                raise RunError(
                    f"Port {self.port!r} has labels, but its column {name!r} has numbers.",
                    next_step="Remove the labels.",
                )
            return None
        if not labels:
            raise RunError(
                f"Column {name!r} has texts.",
                expected="numbers",
                got=", ".join(repr(text)[:40] for text in texts[:3]),
                next_step=f"List them as labels of port {self.port!r}: {list(texts[:10])}.",
            )
        number = {label: i for i, label in enumerate(labels)}
        return np.array([number.get(text, -1) for text in texts], dtype=np.int64)

    def keep(self, report: Callable[[float], object] = lambda fraction: None) -> None:
        """Prepare all rows now if they take little memory; how far it is is reported."""
        count, dtype = self._table.count, np.dtype(self.column.dtype)
        if self._kept is not None or count * math.prod(self.row_shape) * dtype.itemsize > KEPT:
            return
        kept = np.empty((count, *self.row_shape), dtype)
        for first in range(0, count, CHUNK):
            report(first / count)
            rows = slice(first, min(first + CHUNK, count))
            kept[rows] = self._prepared(rows)
        report(1.0)
        self._kept = kept

    def take(self, rows: Index) -> Array:
        """These rows of the port; raises RunError with the place of what doesn't fit."""
        return self._prepared(rows) if self._kept is None else self._kept[rows]

    def numbers(self, rows: Index | slice) -> Array:
        """The columns joined, in their own dtype."""
        parts = []
        for name in self._names:
            part = self._table.take(name, rows)
            codes = self._codes[name]
            if codes is not None:
                part = codes[part]
                self._require(part >= 0, name, rows, part, "one of the labels")
            parts.append(self._fitting(part, name, rows))
        if len(parts) > 1:
            flat = [part.reshape(len(part), -1) for part in parts]
            return np.concatenate(flat, axis=1)
        return parts[0]

    def _prepared(self, rows: Index | slice) -> Array:
        numbers = self.numbers(rows)
        if self.scale is not None:
            numbers = self.scale.applied(numbers)
        if self.column.one_hot:
            numbers = _one_hot(numbers.astype(np.int64), self.column.one_hot)
        shaped = numbers.reshape(len(numbers), *self.row_shape)
        return np.ascontiguousarray(shaped, dtype=self.column.dtype)

    def _fitting(self, part: Array, name: str, rows: Index | slice) -> Array:
        """The numbers of a column if the port's dtype, or its classes, hold them."""
        if self.column.one_hot:
            classes = self.column.one_hot
            whole = part == np.floor(part) if part.dtype.kind == "f" else True
            fits = (part >= 0) & (part < classes) & whole
            self._require(fits, name, rows, part, f"a class from 0 to {classes - 1}")
        elif not np.can_cast(part.dtype, self.column.dtype, "same_kind"):
            self._require(_holds(part, self.column.dtype), name, rows, part, self.column.dtype)
        elif not np.can_cast(part.dtype, self.column.dtype):
            self._require(_in_range(part, self.column.dtype), name, rows, part, self.column.dtype)
        return part

    def _require(
        self, fits: Array, name: str, rows: Index | slice, part: Array, expected: str
    ) -> None:
        """Raise RunError with the place of the first row that does not fit."""
        if np.all(fits):
            return
        first = tuple(int(i) for i in np.argwhere(~fits)[0])
        row = first[0] + rows.start if isinstance(rows, slice) else int(rows[first[0]])
        texts = self._table.texts(name)
        got = repr(part[first].item())
        if texts is not None:
            code = int(self._table.take(name, np.array([row]))[0])
            got = repr(texts[code])[:80]
        raise RunError(
            f"{self._table.place(name, row)} does not fit port {self.port!r}.",
            expected=expected,
            got=got,
            next_step=None if texts is None else did_you_mean(texts[code], self.column.labels),
        )


def measured(column: Preparation, chunks: Iterable[tuple[slice, NDArray[np.bool_]]]) -> ColumnScale:
    """Mean and standard deviation of the training rows, in float64.

    Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample
    Variances", 1979.
    """
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for chunk, trained in chunks:
        rows = column.numbers(chunk)[trained].astype(np.float64)
        if not len(rows):
            continue
        here, between = rows.mean(axis=0), 0.0
        total = count + len(rows)
        if count:
            between = (here - mean) ** 2 * (count * len(rows) / total)
        squares = squares + ((rows - here) ** 2).sum(axis=0) + between
        mean = mean + (here - mean) * (len(rows) / total)
        count = total
    return ColumnScale(mean, np.sqrt(squares / max(1, count)))


def _one_hot(labels: Index, classes: int) -> Array:
    made = np.zeros((*labels.shape, classes), dtype=np.float32)
    np.put_along_axis(made, labels[..., None], 1, axis=-1)
    return made


def _holds(part: Array, dtype: str) -> Array:
    """Which numbers an integer or boolean dtype holds exactly."""
    if dtype == "bool":
        return np.isin(part, (0, 1))
    whole: Array = part == np.floor(part)
    return whole & _in_range(part, dtype)


def _in_range(part: Array, dtype: str) -> Array:
    """Which numbers are in the range of a dtype; NaN and infinities are in that of floats."""
    if np.dtype(dtype).kind == "f":
        return np.logical_or(~np.isfinite(part), np.abs(part) <= np.finfo(dtype).max)
    limits = np.iinfo(dtype)
    if part.dtype.kind != "f":
        return np.logical_and(part >= limits.min, part <= limits.max)
    # The largest int64 is no float, but one more is.
    return np.logical_and(part >= limits.min, part < float(limits.max) + 1)
