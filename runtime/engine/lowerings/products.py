"""Matrix products of float32 by machine code, where they are of the size that it is better at.

BLAS libraries are at their best with large squares; products of a batch with a layer's weights,
some hundred rows, are faster by blocks that are as many rows high as the batch divides into. The
order of addition is another than numpy's, whose own depends on its BLAS: results are within
``K·ε·Σ|aᵢₖ·bₖⱼ|`` of the exact product, for K products and ε = 2⁻²⁴, as any order is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from runtime.calculus.primitives.linear import MATMUL
from runtime.engine import native
from runtime.engine.task import PlainTask, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

SMALLEST = 1 << 25
"""Multiplications and additions, of all matrices of a batch, from which a product is compiled."""

SHORTEST = 32
"""Length of an axis under which a block would be mostly border."""

MOST_ROWS = 640
"""Rows whose panels fit into a second-level cache beside what else must be there."""


def products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Let products that fit be computed by machine code; without a compiler all stays as it is."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task)]
    if not chosen or not native.installed():
        return tasks
    replaced: dict[Task, Task] = {task: ProductTask(task) for task in chosen}
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    value = task.value
    if value.primitive is not MATMUL or value.dtype != "float32":
        return False
    rows, depth, columns = *task.inputs[0].shape[-2:], value.shape[-1]
    return (
        2 * value.size * depth >= SMALLEST
        and min(rows, depth, columns) >= SHORTEST
        and rows <= MOST_ROWS
    )


class ProductTask(PlainTask):
    """One product, or as many as there are matrices."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.kernel = native.Product()
        self.in_place = ()
