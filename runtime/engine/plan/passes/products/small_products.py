"""Compiles small matrix products where a plan has many: the ``fast`` extra.

A call of a library from Python takes longer than such a product. Machine code is called in a row,
together with what is elementwise in between, so that a network of narrow layers, or one that is
evaluated for each step of a solver, becomes few calls. Sums of columns lie between products where
a bias is learnt: they are products by a row of ones, with terms added in the order of numpy. See
``native_products`` for the order of the terms of others.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from math import prod
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.reduce import SUM
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.products.multiplication import (
    Multiplication,
    is_regular,
    tile_rows,
)
from gradwire.runtime.engine.plan.passes.products.native_products import (
    ProductTask,
    is_supported,
    multiplying,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGEST = 1 << 17
"""Multiplications up to which a product takes about as long as its call from Python."""

FEWEST = 32
"""Products from which compiling them is worthwhile."""

DIFFERENT = 8
"""Kinds of products that a plan may have: compiling each takes about a tenth of a second."""


def small_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace small products, and sums of columns, where there are many that are alike.

    Does nothing without a compiler.
    """
    products = [task for task in tasks if is_small_product(task)]
    if not FEWEST <= len(products) or len(set(map(_kind, products))) > DIFFERENT:
        return tasks
    return [
        SmallProductTask(task)
        if is_small_product(task)
        else ColumnSumTask(task)
        if _is_sum(task)
        else task
        for task in tasks
    ]


def is_small_product(task: Task) -> TypeGuard[PlainTask]:
    """Whether a task is a product of matrices that may be compiled where there are many."""
    if type(task) is not PlainTask or task.value.primitive is not MATMUL:
        return False
    left, right = (x.shape for x in task.inputs)
    return min(len(left), len(right)) > 1 and _is_small(task, task.value.size * left[-1])


def _is_sum(task: Task) -> TypeGuard[PlainTask]:
    """Whether a task adds the rows of a matrix."""
    if type(task) is not PlainTask or task.value.primitive is not SUM:
        return False
    source = task.inputs[0]
    is_whole = len(source.shape) == 2 and task.value.attributes["axes"] == (0,)
    return is_whole and source.dtype == task.value.dtype and _is_small(task, source.size)


def _is_small(task: PlainTask, work: int) -> bool:
    return 0 < work <= LARGEST and is_supported(task.value.dtype)


def _kind(task: PlainTask) -> Hashable:
    """What decides how a product is compiled, but for how operands lie that are other views."""
    left, right = task.inputs
    turned = left.primitive is PERMUTE, right.primitive is PERMUTE
    ends_narrow = 0 < right.shape[-1] % (2 * machine.lanes()) <= machine.lanes()
    return task.value.dtype, tile_rows(left.shape[-2]), ends_narrow, *turned


class SmallProductTask(ProductTask):
    """Products of small matrices."""

    def multiplying(self, left: Array, right: Array, out: Array) -> Step:
        """The step that computes them in other memory."""
        if out.strides[-1] == out.itemsize and is_regular(left, right):
            return Multiplication(left, right, out.shape).into(out)
        return multiplying(left, right, out)


class ColumnSumTask(PlainTask):
    """The sum of the rows of a matrix."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.in_place = ()

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; by numpy, where neither rows nor columns lie side by side."""
        out, source = arrays[self.value], arrays[self.inputs[0]]
        row = out.reshape(1, prod(out.shape))
        if not (is_regular(source) and np.may_share_memory(row, out)):
            return super().bind(arrays)
        ones = np.ones((1, len(source)), source.dtype)
        return [Multiplication(ones, source, row.shape).into(row)]
