"""Compiles sums, largest and smallest elements along an axis: the ``fast`` extra.

numpy takes a few elements at a time where rows, or what is behind an axis, are short. Those of tiny
arrays are compiled where they are next to other machine code. Elements that lie side by side are
added a vector at a time; others in order, and then the sums of some hundred.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.reduce import MAX, MIN, SUM
from gradwire.runtime.engine.plan.copies.small import CALLS, LARGEST, merged, places
from gradwire.runtime.engine.plan.jobs import Call, Job, Joinable, cuts
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.small.folding import FOLD, folded_across, folded_along
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 9
"""Elements from which machine code is faster even by itself."""

SLICED = 4
"""Lengths of rows up to which numpy is as fast, as it adds up their slices."""

LONGEST = 1 << 12
"""Elements of a row up to which a vector of sums has no larger errors than numpy's pairs."""


def small_folds(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace sums and extremes by tasks that may be machine code."""
    return [FoldTask(task.value, task.inputs) if _fits(task) else task for task in tasks]


def _fits(task: Task) -> TypeGuard[PlainTask]:
    if type(task) is not PlainTask or task.value.primitive not in (SUM, MAX, MIN):
        return False
    source = task.inputs[0]
    is_float = source.dtype == task.value.dtype and source.dtype in ("float32", "float64")
    return is_float and source.size > 0


class FoldTask(PlainTask):
    """One sum or extreme."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, if numpy would not take long a job only among others."""
        value, source, out = self.value, arrays[self.inputs[0]], arrays[self.value]
        make = partial(folding, value.primitive.name, source, out, value.attributes["axes"])
        if _is_slow(self) and (job := make()) is not None:
            return [job]
        steps = super().bind(arrays)
        if source.size > LARGEST or len(steps) != 1:
            return steps
        return [Joinable(steps[0], make)]


def _is_slow(task: PlainTask) -> bool:
    """Whether numpy takes longer by itself."""
    shape, axes = task.inputs[0].shape, task.value.attributes["axes"]
    is_sliced = task.value.primitive is SUM and axes[-1] == len(shape) - 1 and shape[-1] <= SLICED
    return task.inputs[0].size >= LARGE and not is_sliced


def folding(how: str, source: Array, out: Array, axes: Sequence[int]) -> Job | None:
    """The job that folds some axes of an array, which ``out`` has with length 1; None if that is
    no fold of one axis of elements of which neighbours, or those of others, lie side by side.
    """
    rest = [i for i in range(source.ndim) if i not in axes]
    folded = merged([source.shape[i] for i in axes], source.transpose(*axes, *rest))
    lines, over = source.transpose(*rest, *axes), out.transpose(*rest, *axes)
    whole = merged([source.shape[i] for i in rest], lines, over)
    levels, step = folded[-1]
    if folded[-2][0] > 1:
        return _one_by_one(how, source, out, axes)
    if int(np.prod([n for n, *_ in whole[:-2]])) > CALLS:
        return None
    size, lanes = source.itemsize, machine.lanes() * 4 // source.itemsize
    if whole[-1][1:] == [size, size] and (whole[-1][0] > 1 or step != size):
        kernel = folded_across(how, source.dtype.name, lanes)
    elif step == size and (how != "sum" or levels <= LONGEST):
        kernel = folded_along(how, source.dtype.name, lanes)
    else:
        return None
    (rows, *row), (columns, *column) = whole[-2:]
    frames = [
        machine.frame(
            FOLD,
            source=place[0],
            out=place[1],
            source_row=row[0],
            out_row=row[1],
            levels=levels,
            level=step,
            columns=columns,
            source_column=column[0],
            out_column=column[1],
        )
        for place in places(whole[:-2], source, out)
    ]
    ranges = cuts(rows, source.size)
    parts = [[Call(kernel.call, machine.address(f), 0, *each) for f in frames] for each in ranges]
    return Job(parts, source.size, kept=(source, out, frames))


def _one_by_one(how: str, source: Array, out: Array, axes: Sequence[int]) -> Job | None:
    """The last axis first, and then the others."""
    *rest, last = sorted(axes)
    inner = np.empty([1 if i == last else n for i, n in enumerate(source.shape)], source.dtype)
    first = folding(how, source, inner, [last]) if source.shape[last] > 1 else None
    second = folding(how, inner, out, rest)
    if first is None or second is None:
        return None
    return Job([[*first.calls, *second.calls]], first.work, kept=(first, second))
