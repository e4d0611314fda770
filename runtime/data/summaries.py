"""What the columns of a data set have: least, largest and mean number, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.data.columns import CHUNK

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.data.columns import DataTable
    from gradwire.runtime.data.rows import DataRows

TEXT = "text"
"""The dtype of a column of texts."""


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A column of a source, over all of its rows; the numbers leave out what is missing.

    They are None for texts, and where everything is missing.
    """

    name: str
    dtype: str
    row_shape: Shape
    missing: int
    """How many numbers are NaN, or texts empty."""
    least: float | None = None
    largest: float | None = None
    mean: float | None = None


def summarised(
    rows: DataRows, superseded: Callable[[], bool] = lambda: False
) -> tuple[ColumnSummary, ...] | None:
    """Each column that a data set uses, read by chunks; None once it is superseded.

    Files that are larger than memory are never read as a whole.
    """
    names = [name for port, c in rows.block.provided.items() for name in c.of or (port,)]
    found = []
    for place, name in enumerate(dict.fromkeys(names)):
        running = _Running()
        for first in range(0, rows.count, CHUNK):
            if superseded():
                return None
            rows.report((place + first / rows.count) / len(names))
            chunk = slice(first, min(first + CHUNK, rows.count))
            running.add(rows.table.take(name, chunk), rows.table.texts(name))
        found.append(running.summary(name, rows.table))
    rows.report(1.0)
    return tuple(found)


class _Running:
    """Numbers over the chunks so far; the mean by the formula of Chan, Golub and LeVeque."""

    def __init__(self) -> None:
        self.dtype = ""
        self.missing = self.count = 0
        self.least, self.largest, self.mean = np.inf, -np.inf, 0.0

    def add(self, chunk: Array, texts: tuple[str, ...] | None) -> None:
        if texts is not None:
            self.dtype = TEXT
            self.missing += int(np.isin(chunk, [i for i, t in enumerate(texts) if not t]).sum())
            return
        self.dtype = chunk.dtype.name
        known = chunk[~np.isnan(chunk)] if chunk.dtype.kind == "f" else chunk.reshape(-1)
        self.missing += chunk.size - known.size
        if not known.size:
            return
        self.least = min(self.least, float(known.min()))
        self.largest = max(self.largest, float(known.max()))
        self.count += known.size
        with np.errstate(all="ignore"):
            here = float(known.mean(dtype=np.float64))
            self.mean += (here - self.mean) * (known.size / self.count)

    def summary(self, name: str, table: DataTable) -> ColumnSummary:
        about = name, self.dtype, table.row_shape(name), self.missing
        if not self.count:
            return ColumnSummary(*about)
        return ColumnSummary(*about, self.least, self.largest, self.mean)
