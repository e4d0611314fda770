"""Computes softmax of float32 along the last axis, and its logarithm, in loops of machine code.

The loops find the largest element of each row; ``e = exp(x − largest)`` and its sum, in float64;
and the quotient, or ``x − largest − log Σ e``. The exponential has the error bound of
``runtime.engine.plan.native.functions``: a softmax is within 8 units in the last place, plus the
rounding of the difference; its logarithm within 2 of the larger one of it and the difference. A
block of rows goes through all loops while it is in cache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.kernels.transposing import contiguous
from runtime.calculus.primitives.reduce import LOG_SOFTMAX, SOFTMAX
from runtime.engine.plan import native, threads
from runtime.engine.plan.native import Operand, Operation, Recipe, compiled
from runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 14
"""Elements from which machine code is faster."""

BLOCK = 1 << 17
"""Elements that go through all loops at a time."""

SHORTEST = 32
"""Elements of a row below which numpy is as fast."""

_LARGEST = Recipe((Operand("float32", True),), (), (), ((0, "largest"),))
_POWERS = Recipe(
    (Operand("float32", True), Operand("float32", False)),
    (Operation("subtract", "float32", (0, 1)), Operation("exp", "float32", (2,))),
    (3,),
    ((3, "sum"),),
)
_SUMS = _POWERS._replace(results=())
_QUOTIENTS = Recipe(
    (Operand("float32", True), Operand("float32", False)),
    (Operation("divide", "float32", (0, 1)),),
    (2,),
)
_LOGARITHMS = Recipe(
    (Operand("float32", True), Operand("float32", False), Operand("float32", False)),
    (Operation("subtract", "float32", (0, 1)), Operation("subtract", "float32", (3, 2))),
    (4,),
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
        value.primitive in _KERNELS
        and value.dtype == "float32"
        and value.attributes["axis"] == len(value.shape) - 1
        and value.size >= LARGE
        and value.shape[-1] >= SHORTEST
    )


class SoftmaxTask(PlainTask):
    """One softmax, or its logarithm."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        self.kernel = _KERNELS[task.value.primitive]


def _in_blocks(work: Callable[[Array, Array], None]) -> Callable[..., None]:
    """A kernel that does work on blocks of rows ``(n, columns)`` of x and ``out``.

    Rows with gaps are copied first.
    """

    def kernel(x: Array, *, out: Array, axis: int) -> None:
        columns = x.shape[-1]
        rows, results = contiguous(x).reshape(-1, columns), out.reshape(-1, columns)
        each = max(1, BLOCK // columns)

        def share(start: int, stop: int) -> None:
            for first in range(start, stop, each):
                block = slice(first, min(first + each, stop))
                work(rows[block], results[block])

        threads.divided(share, len(rows), x.size)

    return kernel


@_in_blocks
def _softmax(x: Array, out: Array) -> None:
    largest = _folded(_LARGEST, x).astype(np.float32)
    total = _folded(_POWERS, x, largest, out).astype(np.float32)
    # In place: each element is read before it is written.
    _go(_QUOTIENTS, out, total, out)


@_in_blocks
def _log_softmax(x: Array, out: Array) -> None:
    largest = _folded(_LARGEST, x).astype(np.float32)
    total = _folded(_SUMS, x, largest)
    with np.errstate(all="ignore"):
        log = np.log(total, out=total).astype(np.float32)
    _go(_LOGARITHMS, x, largest, log, out)


_KERNELS = {SOFTMAX: _softmax, LOG_SOFTMAX: _log_softmax}


def _folded(recipe: Recipe, *arrays: Array) -> Array:
    """The fold of each row."""
    found = np.empty(len(arrays[0]))
    _go(recipe, *arrays, found)
    return found


def _go(recipe: Recipe, *arrays: Array) -> None:
    """Run a kernel on all rows of contiguous arrays."""
    rows, columns = arrays[0].shape
    frame = np.array([(x.__array_interface__["data"][0], x.strides[0]) for x in arrays])
    compiled(recipe).call(frame.ctypes.data, columns, 0, rows)
