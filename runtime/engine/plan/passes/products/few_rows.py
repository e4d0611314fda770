"""Products of a few rows with a large matrix, and of few terms that fill one, by machine code.

A library packs the large matrix first, which takes several times as long as reading it. Each
element has its terms added in an order of its own, the same whatever the number of threads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.jobs import ROOM, Call, Job, cuts
from gradwire.runtime.engine.plan.native import Kernel, machine
from gradwire.runtime.engine.plan.native.products.few_rows import (
    FEW_ROWS,
    MOST_ROWS,
    PANEL,
    ROWS_AT_ONCE,
    by_columns,
    by_lines,
    columns_at_once,
    of_few_terms,
    scratch_bytes,
)

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]

PAGE = 1 << 12
"""Bytes between rows that share places in the first-level cache: rows that are all needed at once
are copied if they are apart by a multiple of so many.
"""

LINE = 64
"""Bytes by which the rows of such a copy are further apart."""

EACH = 16
"""Multiplications that take as long as what ``jobs`` counts as the work on one element."""


class _Few(ABC):
    """Computes a product of the same operands in any array of the result's shape, whose rows must
    lie contiguously.
    """

    def __init__(self, left: Array, right: Array) -> None:
        self._copies: list[Step] = []
        self._left, self._right = left, right
        self._dtype = left.dtype.name
        self._lanes = machine.lanes() * 4 // left.itemsize
        self._frames: list[tuple[NDArray[np.int64], int]] = []
        """The frames of all calls, and the first row of the result that each computes."""
        parts = self._parts()
        work = len(left) * right.size // EACH
        room = scratch_bytes(min(len(left), MOST_ROWS), left.shape[1], left.itemsize)
        kept = self._frames, self._left, self._right
        self._job = Job(parts, work, room, kept)
        self._target = 0

    def __call__(self, out: Array) -> None:
        """Compute the product in ``out``."""
        if machine.address(out) != self._target:
            self._aim(out)
        for copy in self._copies:
            copy()
        self._job()

    def into(self, out: Array) -> Step:
        """The step that computes the product in ``out``, which must live as long as it."""
        self._aim(out)
        return partial(self, out) if self._copies else self._job

    @abstractmethod
    def _parts(self) -> list[list[Call]]:
        """The calls, in parts that threads may share."""

    def _aim(self, out: Array) -> None:
        self._target = machine.address(out)
        for numbers, row in self._frames:
            numbers[FEW_ROWS.index("out")] = self._target + row * out.strides[0]
            numbers[FEW_ROWS.index("out_row")] = out.strides[0]

    def _calls(
        self, kernel: Kernel, units: int, left: Array, right_row: int, row: int = 0
    ) -> list[list[Call]]:
        """The calls of a kernel for some rows of the left operand, the first of which is given."""
        numbers = machine.frame(
            FEW_ROWS,
            left=left,
            left_row=left.strides[0],
            left_next=left.strides[1],
            right=self._right,
            right_row=right_row,
            out=0,
            out_row=0,
            rows=len(left),
            columns=self._right.shape[1],
            terms=left.shape[1],
        )
        self._frames.append((numbers, row))
        work = len(left) * self._right.size // EACH
        place = machine.address(numbers)
        return [[Call(kernel.call, place, ROOM, *cut)] for cut in cuts(units, work)]

    def _apart(self, x: Array) -> Array:
        """An array whose rows lie contiguously, and don't share places in the cache."""
        if x.strides[1] == x.itemsize and (x.strides[0] % PAGE or len(x) == 1):
            return x
        columns = x.shape[1] + (LINE // x.itemsize if x.shape[1] * x.itemsize % PAGE == 0 else 0)
        copy: Array = np.empty((len(x), columns), x.dtype)[:, : x.shape[1]]
        self._copies.append(partial(np.copyto, copy, x))
        return copy


class FewRows(_Few):
    """A product of few rows; rows or columns of the right operand must lie contiguously."""

    def _parts(self) -> list[list[Call]]:
        columns, lines = self._right.shape[1], self._right.strides[1] == self._right.itemsize
        if not lines:
            self._left = self._apart(self._left)
        count = math.ceil(len(self._left) / MOST_ROWS)
        found: list[list[Call]] = []
        for i in range(count):
            first, last = (len(self._left) * x // count for x in (i, i + 1))
            some, how = self._left[first:last], (self._dtype, self._lanes, last - first)
            if lines:
                kernel, units = by_lines(*how), -(-columns // PANEL)
                found += self._calls(kernel, units, some, self._right.strides[0], first)
            else:
                kernel, units = by_columns(*how), -(-columns // columns_at_once(last - first))
                found += self._calls(kernel, units, some, self._right.strides[1], first)
        return found


class FewTerms(_Few):
    """A product of few terms."""

    def _parts(self) -> list[list[Call]]:
        self._right = self._apart(self._right)
        kernel = of_few_terms(self._dtype, self._lanes, self._left.shape[1])
        units = -(-len(self._left) // ROWS_AT_ONCE)
        return self._calls(kernel, units, self._left, self._right.strides[0])
