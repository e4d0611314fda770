"""The rows of an open data set: their split, and the batch of every step, in each port's dtype."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.runtime.data.columns import CHUNK, DataTable, Index, Preparation, measured
from gradwire.runtime.data.order import EPOCH, SPLIT, permuted
from gradwire.runtime.data.progress import report

if TYPE_CHECKING:
    from gradwire.blocks.block import OpenShape, Shape
    from gradwire.blocks.library.data import Dataset
    from gradwire.blocks.values import Array

Phase: TypeAlias = Literal["training", "validation"]
PHASES: tuple[Phase, ...] = ("training", "validation")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """What one port of an open data set gives: a leaf that gets a new array at each step."""

    rows: DataRows
    port: str
    kind: ClassVar[str] = "data"

    @property
    def open_shape(self) -> OpenShape:
        """The shape of what may be fed in its place: rows, as many as wanted."""
        return (None, *self.shape("training")[1:])

    @property
    def leaf_dtype(self) -> str:
        """Name of the dtype of the leaf."""
        return self.rows.dtype(self.port)

    def shape(self, phase: Phase) -> Shape:
        """The shape of the batches."""
        return self.rows.shape(self.port, phase)

    def changes(self, phase: Phase) -> bool:
        """Whether the batches of two steps may differ."""
        return self.rows.moment(0, phase) != self.rows.moment(1, phase)

    def batch(self, step: int, phase: Phase) -> Array:
        """The batch of a step; see ``DataRows.batch``."""
        return self.rows.batch(self.port, step, phase)


class DataRows:
    """An open data set. Everything is a pure function of the block, the data and the step.

    Raises RunError if the data does not have what the block asks for.
    """

    def __init__(self, block: Dataset, table: DataTable) -> None:
        self.block = block
        self.table = table
        self.count = table.count
        self.validation_count = block.validation_rows(self.count)
        self.training_count = self.count - self.validation_count
        self._require_rows()
        self._columns = {
            port: Preparation(port, column, table) for port, column in block.provided.items()
        }
        self._drawn: dict[Phase, tuple[int, Index]] = {}
        self._batches: dict[tuple[str, Phase], tuple[int, Array]] = {}

    def report(self, fraction: float) -> None:
        """Say how far the reading of all rows is; a listener may raise to cancel it."""
        if self.block.is_file:
            report(PureWindowsPath(self.block.path).name, fraction)

    def _require_rows(self) -> None:
        for phase in PHASES:
            count, batch = self._total(phase), self._asked(phase)
            if batch > count and (count or phase == "training"):
                raise RunError(
                    f"A {phase} batch is larger than there are {phase} rows.",
                    expected=f"a batch of at most {count:,}",
                    got=f"{batch:,}",
                    next_step="Make the batch smaller, or 0 for all rows.",
                )
        if not self.training_count:
            raise RunError(
                "There is no row to train on.",
                expected="at least one row that is not for validation",
                got=f"{self.count:,} rows, {self.validation_count:,} of them for validation",
            )

    def _total(self, phase: Phase) -> int:
        return self.training_count if phase == "training" else self.validation_count

    def _asked(self, phase: Phase) -> int:
        return self.block.batch if phase == "training" else self.block.validation_batch

    def batch_size(self, phase: Phase) -> int:
        """Rows of each batch; 0 if there is no row for validation."""
        return self._asked(phase) or self._total(phase)

    def batches(self, phase: Phase) -> float:
        """Batches of an epoch, which is one pass over the rows; not always a whole number."""
        exact = self._total(phase) / max(1, self.batch_size(phase))
        return math.floor(exact) if self.block.last_batch == "drop" else exact

    def streams(self) -> dict[str, Stream]:
        """What each port gives, by its name."""
        return {port: Stream(self, port) for port in self._columns}

    def shape(self, port: str, phase: Phase) -> Shape:
        """The shape of a port's batches."""
        return (self.batch_size(phase), *self._columns[port].row_shape)

    def dtype(self, port: str) -> str:
        """The dtype of a port."""
        return self._columns[port].column.dtype

    def moment(self, step: int, phase: Phase) -> int:
        """A number that is equal for two steps only if their batches are equal."""
        return 0 if self.batch_size(phase) == self._total(phase) else step

    def batch(self, port: str, step: int, phase: Phase) -> Array:
        """The batch of a port at a step, shape ``shape(port, phase)``; not to be modified.

        Calls for one moment return the same array. Raises RunError for numbers that the port's
        dtype or classes don't hold, with their place.
        """
        moment = self.moment(step, phase)
        kept = self._batches.get((port, phase))
        if kept is None or kept[0] != moment:
            self._prepare(port)
            kept = moment, self._columns[port].take(self.rows(step, phase))
            self._batches[port, phase] = kept
        return kept[1]

    def _prepare(self, port: str) -> None:
        """Measure what the port's rows are standardised by, and keep the rows if they are few."""
        column = self._columns[port]
        if column.column.standardise and column.scale is None:
            column.scale = measured(column, self.training_chunks())
        column.keep(self.report)

    def rows(self, step: int, phase: Phase) -> Index:
        """The rows of the batch of a step, numbered from 0 as they are in the source."""
        moment = self.moment(step, phase)
        kept = self._drawn.get(phase)
        if kept is None or kept[0] != moment:
            positions = self._training(moment) if phase == "training" else self._validation(moment)
            kept = moment, self._split(positions)
            self._drawn[phase] = kept
        return kept[1]

    def _training(self, step: int) -> Index:
        """The training rows of a step, numbered among the training rows."""
        size, total = self.batch_size("training"), self.training_count
        if size == total:
            return np.arange(total)
        if self.block.last_batch == "drop":
            epoch, number = divmod(step, total // size)
            return self._ordered(epoch, number * size, size)
        epoch, first = divmod(step * size, total)
        here = self._ordered(epoch, first, min(size, total - first))
        if here.size == size:
            return here
        return np.concatenate([here, self._ordered(epoch + 1, 0, size - here.size)])

    def _ordered(self, epoch: int, first: int, size: int) -> Index:
        positions = np.arange(first, first + size)
        if not self.block.shuffle:
            return positions
        return permuted(positions, self.training_count, self.block.seed, EPOCH, epoch)

    def _validation(self, step: int) -> Index:
        """The validation rows of a step, numbered after the training rows."""
        size, total = self.batch_size("validation"), self.validation_count
        first = step % max(1, math.ceil(total / max(1, size))) * size
        return self.training_count + (first + np.arange(size)) % max(1, total)

    def _split(self, positions: Index) -> Index:
        """Rows of the source, given positions in which training comes before validation."""
        if not self.block.shuffle or not self.validation_count:
            return positions
        return permuted(positions, self.count, self.block.seed, SPLIT)

    def training_chunks(self) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        """All rows in the order of the source, by chunks, and which of them are for training."""
        trained = np.ones(self.count, dtype=bool)
        for first in range(self.training_count, self.count, CHUNK):
            positions = np.arange(first, min(first + CHUNK, self.count))
            trained[self._split(positions)] = False
        for first in range(0, self.count, CHUNK):
            self.report(first / self.count)
            chunk = slice(first, min(first + CHUNK, self.count))
            yield chunk, trained[chunk]
        self.report(1.0)
