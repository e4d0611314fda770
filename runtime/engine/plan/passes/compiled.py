"""Compiles sums, largest and smallest elements, and running sums: the ``fast`` extra.

numpy takes a few elements at a time where rows, or what is behind an axis, are short, and waits for
each addition of a running sum before it begins the next. What is tiny is compiled where it is next
to other machine code. Running sums have the bits of numpy. Sums don't depend on what is beside
them; long ones are added in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.computing import (
    LARGE,
    compiles,
    computation,
    contiguous,
)
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]


def compiled(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace what the compiler knows by tasks that may be machine code."""
    return [
        CompiledTask(task.value, task.inputs)
        if type(task) is PlainTask and compiles(task.value)
        else task
        for task in tasks
    ]


class CompiledTask(PlainTask):
    """One value; by numpy where that is faster."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step; of a few elements it is a job only among others."""
        source, out = arrays[self.inputs[0]], arrays[self.value]
        steps = super().bind(arrays)
        if np.may_share_memory(source, out):
            return steps

        def job() -> Job | None:
            found = computation(self.value, source, out.strides)
            return None if found is None else found.into(out)

        if source.size < LARGE:
            return [Joinable(steps[0], job)] if len(steps) == 1 else steps
        made = job()
        return steps if made is None else [made]

    def filling(self, arrays: Arrays) -> Callable[[Array], Any]:
        """What computes the value in new memory."""
        source = arrays[self.inputs[0]]
        strides = contiguous(self.value.shape, source.itemsize)
        return computation(self.value, source, strides) or super().filling(arrays)
