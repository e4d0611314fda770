"""Compiles small matrix products where a plan has many: the ``fast`` extra.

A call of a library from Python takes longer than such a product. Machine code is called in a row,
together with what is elementwise in between, so that a network of narrow layers, or one that is
evaluated for each step of a solver, becomes few calls.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, TypeGuard

from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.plan.passes.products.native_products import (
    ProductTask,
    is_large,
    is_product,
    work_of,
)
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

FEWEST = 32
"""Products from which compiling them is worthwhile."""

DIFFERENT = 8
"""Kinds of products that a plan may have: compiling each takes about a tenth of a second."""


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
