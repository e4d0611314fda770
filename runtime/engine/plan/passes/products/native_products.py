"""Compiles large matrix products to machine code: the ``fast`` extra.

For processors with registers of 8 or 16 float32, which multiply and add at once: a library of
products leaves time on the table, as it packs both operands, and cuts the result into tiles of one
size. A product takes terms in an order of its own, the same for all elements and whatever the
number of threads, so results differ from the library's by rounding.

Small products are compiled where a plan has many: a call of a library from Python takes longer than
such a product. Machine code is called in a row, together with what is elementwise in between, so
that a network of narrow layers, or one that is evaluated for each step of a solver, becomes few
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.compiler.computing import contiguous, product
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


LARGE = 1 << 17
"""Multiplications from which machine code is worth compiling."""

WIDE = 8
"""Float32 in a register from which machine code is faster."""

FEWEST = 32
"""Products from which compiling them is worthwhile."""

DIFFERENT = 8
"""Kinds of products that a plan may have: compiling each takes about a tenth of a second."""


def native_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large matrix products by machine code."""
    return [
        ProductTask(task)
        if isinstance(task, PlainTask) and is_product(task.value) and _fits(task.value)
        else task
        for task in tasks
    ]


def small_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace small products where there are many that are alike, if there is a compiler."""
    products = [task for task in tasks if is_small_product(task)]
    if not FEWEST <= len(products) or len(set(map(_kind, products))) > DIFFERENT:
        return tasks
    return [ProductTask(task) if is_small_product(task) else task for task in tasks]


def is_small_product(task: Task) -> TypeGuard[PlainTask]:
    """Whether a task is a product of matrices that may be compiled where there are many."""
    if type(task) is not PlainTask or not is_product(task.value):
        return False
    work = work_of(task.value)
    return work > 0 and not is_large(work)


def _kind(task: PlainTask) -> Hashable:
    """What decides how a product is compiled, but for how operands lie that are other views."""
    shapes = (x.shape for x in task.inputs)
    return task.value.dtype, *shapes, *(x.primitive is PERMUTE for x in task.inputs)


def is_product(value: Value) -> bool:
    """Whether a value is a product of matrices for which there may be machine code."""
    is_whole = value.primitive is MATMUL and min(len(x.shape) for x in value.inputs) > 1
    return is_whole and is_supported(value.dtype)


def _fits(value: Value) -> bool:
    """Whether machine code is faster: a matrix by a vector is read once, as fast by the library."""
    is_by_vector = len(value.shape) == 2 and 1 in value.shape
    return is_large(work_of(value)) and not is_by_vector


def work_of(value: Value) -> int:
    """The multiplications of a product."""
    return value.size * value.inputs[0].shape[-1]


def is_large(work: int) -> bool:
    """Whether so many multiplications are worth compiling by themselves."""
    return work >= LARGE


def is_supported(dtype: str) -> bool:
    """Whether there is machine code for a product of such matrices."""
    floats = dtype in ("float32", "float64")
    return floats and native.installed() and machine.lanes() >= WIDE and machine.fuses()


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
        return [multiplying(left, right, out)]

    def filling(self, arrays: Arrays) -> Callable[[Array], Any]:
        """What computes the value in new memory."""
        left, right = (arrays[x] for x in self.inputs)
        shape = self.value.shape
        found = product(left, right, shape, contiguous(shape, left.itemsize))
        return found or partial(np.matmul, left, right)


def multiplying(left: Array, right: Array, out: Array) -> Step:
    """The step that computes ``left @ right`` in other memory; by numpy where neither rows nor
    columns of that lie contiguously.
    """
    found = product(left, right, out.shape, out.strides)
    return partial(np.matmul, left, right, out) if found is None else found.into(out)
