"""Compiles large matrix products to machine code: the ``fast`` extra.

For processors with registers of 8 or 16 float32, which multiply and add at once: a library of
products leaves time on the table, as it packs both operands, and cuts the result into tiles of one
size. A product takes terms in an order of its own, the same for all elements and whatever the
number of threads, so results differ from the library's by rounding. Where there are few rows, as
of an example or some that go through a large layer, or few terms, as in the gradient of its weights
then, see ``few_rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.products.few_rows import FewRows, FewTerms
from gradwire.runtime.engine.plan.passes.products.multiplication import (
    Multiplication,
    is_along,
    is_regular,
    is_short,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 18
"""Multiplications in one matrix from which machine code is faster where it must turn the right
operand; where not, it takes more of them.
"""

FEWEST = 16
"""Rows, and terms, from which such machine code is faster."""

FEW = range(1, FEWEST), range(2, 9)
"""Rows, and terms, of which there is other code, for long and for short vectors."""

MOST = 1 << 16
"""Elements of the largest matrix from which machine code for fewer rows or terms is faster; see
also ``_is_quick``.
"""

HUGE = 1 << 21
"""Elements of a matrix from which code for few rows is faster also for a single row, and for more
of them where nothing need be turned, as it fetches ahead.
"""

NARROW = 32
"""Columns from which machine code is faster where it need not turn the right operand. With short
vectors, half as many suffice, and are needed always.
"""

WIDE = 8
"""Float32 in a register from which machine code is faster."""


def native_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large matrix products by machine code."""
    replaced: dict[Task, Task] = {
        task: ProductTask(task)
        for task in tasks
        if isinstance(task, PlainTask) and task.value.primitive is MATMUL and _fits(task)
    }
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    left, right = (x.shape for x in task.inputs)
    if len(left) < 2 or len(right) < 2:
        return False
    size = left[-2], left[-1], right[-1]
    if len(left) == len(right) == 2 and (_has_few_rows(*size) or _has_few_terms(*size)):
        return is_supported(task.value.dtype)
    return may_be_faster(task.value.dtype, *size)


def may_be_faster(dtype: str, rows: int, terms: int, columns: int) -> bool:
    """Whether machine code may be faster at a product: there is a compiler, and much to do."""
    is_large = _is_wide(rows, terms, columns) and rows * columns * terms >= LARGE
    return is_large and is_supported(dtype)


def _is_wide(rows: int, terms: int, columns: int) -> bool:
    """Whether there are as many of each as tiles need."""
    return rows >= FEWEST and columns >= 8 and terms >= FEWEST


def is_supported(dtype: str) -> bool:
    """Whether there is machine code for a product of such matrices."""
    floats = dtype in ("float32", "float64")
    return floats and native.installed() and machine.lanes() >= WIDE and machine.fuses()


def _has_few_rows(rows: int, terms: int, columns: int) -> bool:
    """Whether the left operand has too few rows for tiles, and the right one is large."""
    least = HUGE if rows == 1 else MOST
    is_large = columns >= FEWEST and terms * columns >= least
    return is_large and rows in FEW[is_short()]


def _has_few_terms(rows: int, terms: int, columns: int) -> bool:
    """Whether few terms make up each element of a large result."""
    is_large = rows >= FEWEST and columns >= FEWEST and rows * columns >= MOST
    return is_large and 0 < terms <= FEW[is_short()][-1]


class ProductTask(PlainTask):
    """Products of matrices."""

    divides_products = True
    writes_columns = True

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.in_place = ()
        self.writes_rows = True

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; by numpy, which copies first, where the result overwrites an operand."""
        out, left, right = arrays[self.value], *(arrays[x] for x in self.inputs)
        if any(np.may_share_memory(out, x) for x in (left, right)):
            return [partial(np.matmul, left, right, out)]
        return [self.multiplying(left, right, out)]

    def multiplying(self, left: Array, right: Array, out: Array) -> Step:
        """The step that computes them in other memory."""
        return multiplying(left, right, out)

    def filling(self, arrays: Arrays) -> Callable[[Array], None]:
        """What computes the value in new memory."""
        left, right = (arrays[x] for x in self.inputs)
        return _filling(left, right, self.value.shape)


def multiplying(left: Array, right: Array, out: Array) -> Step:
    """The step that computes ``left @ right`` in other memory, where that ``may_be_faster``."""
    if not is_along(out, -1):  # columns may lie side by side: (a b)ᵀ = bᵀ aᵀ
        out, left, right = (x.swapaxes(-1, -2) for x in (out, right, left))
    if not is_along(out, -1):
        return partial(np.matmul, left, right, out)
    filling = _filling(left, right, out.shape)
    return partial(filling, out) if isinstance(filling, partial) else filling.into(out)


def _filling(
    left: Array, right: Array, shape: Shape
) -> Multiplication | FewRows | FewTerms | partial[None]:
    """Machine code, or numpy where elements of the operands lie irregularly, or where it is as
    fast.
    """
    few = _for_few(left, right)
    if few is not None:
        return few(left, right)
    if _suits_tiles(left, right):
        return Multiplication(left, right, shape)
    return partial(np.matmul, left, right)


def goes_by_tiles(left: Array, right: Array) -> bool:
    """Whether a ``Multiplication`` is what computes a product of these operands."""
    return _for_few(left, right) is None and _suits_tiles(left, right)


def _for_few(left: Array, right: Array) -> type[FewRows | FewTerms] | None:
    """What computes a product of few rows or terms, if it has so few."""
    if left.ndim != 2 or right.ndim != 2:
        return None
    size = left.shape[-2], left.shape[-1], right.shape[-1]
    is_huge = right.size >= HUGE and len(left) <= 2 * FEWEST and is_along(right, -1)
    is_huge = is_huge and not is_short()
    is_slow = _has_few_rows(*size) and not _is_quick(left, right)
    if (is_huge or is_slow) and (is_along(right, -1) or is_along(right, -2)):
        return FewRows
    return FewTerms if _has_few_terms(*size) else None


def _suits_tiles(left: Array, right: Array) -> bool:
    columns: int = right.shape[-1]
    rows, terms = left.shape[-2:]
    if not is_regular(left, right) or not _is_wide(rows, terms, columns):
        return False
    if is_short():
        return columns >= NARROW // 2
    return not is_along(right, -1) or _is_worthwhile(left, right)


def _is_quick(left: Array, right: Array) -> bool:
    """Whether the library has quick code for few rows, as it has for matrices of such a size with
    long vectors.
    """
    if is_short():
        return False
    return right.size < 2 * MOST and (is_along(right, -1) or len(left) < 6)


def _is_worthwhile(left: Array, right: Array) -> bool:
    """Whether machine code is faster though nothing need be turned."""
    columns: int = right.shape[-1]
    rows, terms = left.shape[-2:]
    return columns >= NARROW and rows * terms * columns > LARGE
