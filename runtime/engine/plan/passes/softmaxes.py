"""Computes softmax of float32 along the last axis in three loops of machine code.

The loops find the largest element of each row; ``e = exp(x − largest)`` and its sum, in float64;
and the quotient. The exponential has the error bound of ``runtime.engine.plan.native.functions``:
results are within 8 units in the last place, plus the rounding of the difference.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.primitives.reduce import SOFTMAX
from runtime.engine.plan import native, threads
from runtime.engine.plan.native import Operand, Operation, Recipe, compiled
from runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 16
"""Elements from which compiling a softmax is worthwhile."""

SHORTEST = 32
"""Elements of a row below which numpy is as fast."""

_LARGEST = Recipe((Operand("float32", True),), (), (), ((0, "largest"),))
_POWERS = Recipe(
    (Operand("float32", True), Operand("float32", False)),
    (Operation("subtract", "float32", (0, 1)), Operation("exp", "float32", (2,))),
    (3,),
    ((3, "sum"),),
)
_QUOTIENTS = Recipe(
    (Operand("float32", True), Operand("float32", False)),
    (Operation("divide", "float32", (0, 1)),),
    (2,),
)


def softmaxes(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large softmaxes by machine code, if a compiler is installed."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task)]
    if not chosen or not native.installed():
        return tasks
    replaced: dict[Task, Task] = {task: SoftmaxTask(task) for task in chosen}
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        value.primitive is SOFTMAX
        and value.dtype == "float32"
        and value.attributes["axis"] == len(value.shape) - 1
        and value.size >= LARGE
        and value.shape[-1] >= SHORTEST
    )


class SoftmaxTask(PlainTask):
    """One softmax."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.kernel = _softmax


def _softmax(x: Array, *, out: Array, axis: int) -> None:
    """Write the softmax of x to ``out``; rows with gaps are copied first."""
    x = np.ascontiguousarray(x)
    columns = x.shape[-1]
    rows = x.size // columns
    step = 4 * columns
    found = np.empty(rows)
    _go(_LARGEST, [(x, step), (found, 8)], rows, columns)
    largest = found.astype(np.float32)
    _go(_POWERS, [(x, step), (largest, 4), (out, step), (found, 8)], rows, columns)
    total = found.astype(np.float32)
    # In place: each element is read before it is written.
    _go(_QUOTIENTS, [(out, step), (total, 4), (out, step)], rows, columns)


def _go(recipe: Recipe, arrays: list[tuple[Array, int]], rows: int, columns: int) -> None:
    frame = np.array([(x.__array_interface__["data"][0], step) for x, step in arrays])
    kernel, place = compiled(recipe), frame.ctypes.data
    threads.divided(
        lambda start, stop: kernel.call(place, columns, start, stop), rows, rows * columns
    )
