"""Tables of which a step moves only the rows that were looked up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.norms import square_sum, sum_of_squares
from gradwire.runtime.training.iterations.protocols import Sizes

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.training.optimisers.arithmetic import Arithmetic


class SparseTable:
    """A variable whose gradient has few rows, for methods that a gradient of 0 leaves idle.

    A step costs as much as these rows: what the other rows have is known from the steps before,
    unless ``reset`` says that they may have other values.
    """

    def __init__(
        self,
        path: str,
        values: Array,
        slots: Mapping[str, Array],
        lr: float,
        weight_decay: float,
    ) -> None:
        self.path = path
        self.values = values
        self.slots = slots
        """The optimiser's state, in arrays of the table's shape."""
        self.lr = lr
        self.weight_decay = weight_decay
        self.gradient: SparseRows
        """The gradient of a pass, or of those that make one update."""
        self._is_known = False
        self._squares: NDArray[np.float64] | None = None
        """The sum of the squares of each row, once somebody asked for sizes."""

    def reset(self) -> None:
        """The table may have other values than the last update left."""
        self._is_known, self._squares = False, None

    def update(self, arithmetic: Arithmetic, count: int, lr: float) -> float:
        """Move the rows; returns a sum of squares that is finite if all of the table is, unless it
        overflows.
        """
        rows = self.gradient.rows
        moved, *state = (array[rows] for array in (self.values, *self.slots.values()))
        slots = {name: array.reshape(-1) for name, array in zip(self.slots, state, strict=True)}
        arithmetic.update(
            moved.reshape(-1),
            self.gradient.values.reshape(-1),
            slots,
            count=count,
            lr=lr,
            weight_decay=self.weight_decay,
        )
        for array, new in zip((self.values, *self.slots.values()), (moved, *state), strict=True):
            array[rows] = new
        if self._squares is not None:
            self._squares[rows] = _row_squares(moved)
        known, self._is_known = self._is_known, True
        return sum_of_squares((moved if known else self.values).reshape(-1))

    def sizes(self) -> Sizes:
        """The sizes of the table and its gradient."""
        if self._squares is None:
            self._squares = _row_squares(self.values)
        values, gradient = self._squares.sum(), square_sum(self.gradient)
        return Sizes([self.path], [self.values.size], np.array([values]), np.array([gradient]))


def _row_squares(rows: Array) -> NDArray[np.float64]:
    flat = rows.reshape(len(rows), -1)
    found: NDArray[np.float64] = np.einsum("ij,ij->i", flat, flat, dtype=np.float64)
    return found
