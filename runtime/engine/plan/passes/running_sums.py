"""Compiles running sums along the last axis to machine code: the ``fast`` extra.

numpy waits for each addition before it begins the next; here many rows go side by side. Elements
are added in the same order, so results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.reduce import CUMULATIVE_SUM
from gradwire.runtime.engine.plan.jobs import divided
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.running_sums import RUNNING_SUMS
from gradwire.runtime.engine.plan.native.running_sums import running_sums as kernel
from gradwire.runtime.engine.plan.tasks import PlainTask

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, Step, Task

Array = NDArray[Any]

LARGE = 1 << 11
"""Elements from which machine code is faster."""

ROWS, COLUMNS = 4, 4
"""Rows, and elements of one, from which it is: fewer leave most of a register empty."""

EACH = 2
"""What ``jobs`` counts as the work on one element."""


def running_sums(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace running sums of many rows."""
    return [
        RunningSumsTask(task.value, task.inputs)
        if isinstance(task, PlainTask) and _fits(task.value)
        else task
        for task in tasks
    ]


def _fits(value: Value) -> bool:
    if value.primitive is not CUMULATIVE_SUM or value.attributes["axis"] != len(value.shape) - 1:
        return False
    columns = value.shape[-1]
    large = value.size >= LARGE and columns >= COLUMNS and value.size >= ROWS * columns
    return large and value.dtype in ("float32", "float64")


class RunningSumsTask(PlainTask):
    """Running sums of rows; by the kernel where elements of a row lie apart."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        x, out = arrays[self.inputs[0]], arrays[self.value]
        is_plain = out.flags.c_contiguous and not np.may_share_memory(x, out)
        return [partial(RunningSums(x), out)] if is_plain and _suits(x) else super().bind(arrays)

    def filling(self, arrays: Arrays) -> Callable[[Array], Any]:
        """What computes the value in new memory."""
        x = arrays[self.inputs[0]]
        return RunningSums(x) if _suits(x) else super().filling(arrays)


def _suits(x: Array) -> bool:
    """Whether neighbours in a row lie side by side, in either order."""
    return abs(x.strides[-1]) == x.itemsize


class RunningSums:
    """Computes the running sums of the same array in any contiguous one."""

    def __init__(self, x: Array) -> None:
        lanes, columns = machine.lanes() * 4 // x.itemsize, x.shape[-1]
        rows = _rows(x)
        places = np.stack([rows, np.arange(rows.size) * columns * x.itemsize], axis=1)
        bands = -(-rows.size // lanes)
        places = np.pad(places, ((0, bands * lanes - rows.size), (0, 0)), "edge")
        self._frame = machine.frame(
            RUNNING_SUMS, source=x, target=0, places=places, columns=columns
        )
        self._target = RUNNING_SUMS.index("target")
        how = kernel(x.dtype.name, lanes, x.strides[-1] < 0)
        self._job = divided(how, self._frame, bands, EACH * x.size, (x, places))

    def __call__(self, out: Array) -> None:
        """Compute them in this array."""
        self._frame[self._target] = machine.address(out)
        self._job()


def _rows(x: Array) -> NDArray[np.int64]:
    """Bytes from the first row to each."""
    found = np.zeros(x.shape[:-1], np.int64)
    for axis, (length, step) in enumerate(zip(x.shape[:-1], x.strides[:-1], strict=True)):
        found += (np.arange(length) * step).reshape(-1, *(1,) * (x.ndim - 2 - axis))
    return found.reshape(-1)
