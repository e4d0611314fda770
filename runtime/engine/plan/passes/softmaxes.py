"""Computes softmax of float32 along the last axis, and its logarithm, in loops of machine code.

The loops find the largest element of each row; ``e = exp(x − largest)`` and its sum, in float64;
and the quotient, or ``x − largest − log Σ e``. The exponential has the error bound of
``gradwire.runtime.engine.plan.native.functions``: a softmax is within 8 units in the last place,
plus the rounding of the difference; its logarithm within 2 of the larger one of it and the
difference. A block of rows goes through all loops while it is in cache.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, SOFTMAX
from gradwire.runtime.engine.plan.copies.transposed import copying
from gradwire.runtime.engine.plan.jobs import Call, Job, cuts
from gradwire.runtime.engine.plan.native import Operand, Operation, Recipe, address, compiled
from gradwire.runtime.engine.plan.native.logarithms import logarithms
from gradwire.runtime.engine.plan.native.machine import library
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 14
"""Elements from which machine code is faster."""

BLOCK = 1 << 17
"""Elements that go through all loops at a time."""

SHORTEST = 32
"""Elements of a row below which numpy is as fast."""

_X, _OF_ROW = Operand("float32", 1), Operand("float64", 0)
_LARGEST = Recipe((_X,), (), (), ((0, "largest"),))
_POWERS = Recipe(
    (_X, _OF_ROW),
    (
        Operation("cast", "float32", (1,)),
        Operation("subtract", "float32", (0, 2)),
        Operation("exp", "float32", (3,)),
    ),
    (4,),
    ((4, "sum"),),
)
_SUMS = _POWERS._replace(results=())
_QUOTIENTS = Recipe(
    (_X, _OF_ROW),
    (Operation("cast", "float32", (1,)), Operation("divide", "float32", (0, 2))),
    (3,),
)
_DIFFERENCES = Recipe(
    (_X, _OF_ROW, _OF_ROW),
    (
        Operation("cast", "float32", (1,)),
        Operation("cast", "float32", (2,)),
        Operation("subtract", "float32", (0, 3)),
        Operation("subtract", "float32", (5, 4)),
    ),
    (6,),
)


def softmaxes(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large softmaxes by machine code."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task)]
    if not chosen:
        return tasks
    replaced: dict[Task, Task] = {task: SoftmaxTask(task) for task in chosen}
    return [replaced.get(task, task) for task in tasks]


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        value.primitive in (SOFTMAX, LOG_SOFTMAX)
        and value.dtype == "float32"
        and value.attributes["axis"] == len(value.shape) - 1
        and value.size >= LARGE
        and value.shape[-1] >= SHORTEST
    )


class SoftmaxTask(PlainTask):
    """One softmax, or its logarithm."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        return [partial(self.filling(arrays), arrays[self.value])]

    def filling(self, arrays: Arrays) -> Callable[[Array], None]:
        """The kernels, in any array like the value."""
        return Rows(arrays[self.inputs[0]], self.value.primitive is LOG_SOFTMAX)


class Rows:
    """Computes the softmax of each row of ``x``, or its logarithm, in any array of its shape.

    Where elements of ``x`` don't lie in order, it is copied first.
    """

    def __init__(self, x: Array, is_logarithm: bool) -> None:
        straight = x if x.flags.c_contiguous else np.empty(x.shape, x.dtype)
        self._straighten = None if straight is x else copying(x, straight)
        rows = straight.reshape(-1, x.shape[-1])
        count, columns = rows.shape
        largest, totals = np.empty((2, count))
        given, most, total = ((address(a), a.strides[0]) for a in (rows, largest, totals))
        out = 0, rows.strides[0]
        if is_logarithm:
            stages = [
                (compiled(_LARGEST), [given, most]),
                (compiled(_SUMS), [given, most, total]),
                (logarithms(), [(library("log"), total[0])]),
                (compiled(_DIFFERENCES), [given, most, total, out]),
            ]
        else:
            stages = [
                (compiled(_LARGEST), [given, most]),
                (compiled(_POWERS), [given, most, out, total]),
                # In place: each element is read before it is written.
                (compiled(_QUOTIENTS), [out, total, out]),
            ]
        self._frames = [np.array(places) for _, places in stages]
        self._target = 0
        each, work = max(1, BLOCK // columns), x.size * len(stages)
        kernels = [
            (kernel.call, address(frame))
            for (kernel, _), frame in zip(stages, self._frames, strict=True)
        ]
        parts = [
            [
                Call(kernel, place, columns, first, min(first + each, stop))
                for first in range(start, stop, each)
                for kernel, place in kernels
            ]
            for start, stop in cuts(count, work)
        ]
        self._job = Job(parts, work, kept=(rows, largest, totals))

    def __call__(self, out: Array) -> None:
        """Compute in ``out``, whose elements lie in order."""
        target = address(out)
        if target != self._target:
            for frame in self._frames:
                frame[:, 0][frame[:, 0] == self._target] = target
            self._target = target
        if self._straighten is not None:
            self._straighten()
        self._job()
