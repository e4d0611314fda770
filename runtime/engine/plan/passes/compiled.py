"""Compiles sums, largest and smallest elements, running sums, and what copies small arrays to join
or embed them: the ``fast`` extra.

numpy takes a few elements at a time where rows, or what is behind an axis, are short, and waits for
each addition of a running sum before it begins the next. What is tiny is compiled where it is next
to other machine code. Running sums have the bits of numpy. Sums don't depend on what is beside
them; long ones are added in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.shape import CONCAT, EMBED
from gradwire.runtime.engine.compiler.computing import (
    LARGE,
    compiles,
    computation,
    contiguous,
)
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.tasks import LARGEST, Arrays, PlainTask, Step, Task, copies

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


MOST = 128
"""Arrays up to which joining them by machine code is worth the time to write the calls."""


def compiled(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace what the compiler knows by tasks that may be machine code."""
    return [_machine_code(task) if type(task) is PlainTask else task for task in tasks]


def _machine_code(task: PlainTask) -> PlainTask:
    value = task.value
    if compiles(value):
        return CompiledTask(value, task.inputs)
    is_small = 0 < value.size <= LARGEST and value.dtype in ("float32", "float64")
    copies_small = is_small and value.primitive in (CONCAT, EMBED) and len(task.inputs) <= MOST
    return SmallCopyTask(value, task.inputs) if copies_small else task


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

    def filling(self, arrays: Arrays) -> Callable[[Array], object]:
        """What computes the value in new memory."""
        source = arrays[self.inputs[0]]
        strides = contiguous(self.value.shape, source.itemsize)
        return computation(self.value, source, strides) or super().filling(arrays)


class SmallCopyTask(PlainTask):
    """Arrays joined along an axis, or one within equal elements."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        steps, out = super().bind(arrays), arrays[self.value]
        parts = [
            (target, arrays[x]) for target, x in zip(self._places(out), self.inputs, strict=True)
        ]
        parts = [pair for pair in parts if pair[0].size]
        if self.value.primitive is EMBED:
            parts.insert(0, (out, np.full_like(out, self.value.attributes["fill"], order="C")))
        if len(steps) != 1 or any(np.may_share_memory(out, x) for _, x in parts):
            return steps
        return [Joinable(steps[0], partial(copies, parts))]

    def _places(self, out: Array) -> list[Array]:
        attributes = self.value.attributes
        if self.value.primitive is EMBED:
            return [out[attributes["index"]]]
        before, starts = (slice(None),) * attributes["axis"], (0, *attributes["ends"])
        return [out[*before, a:b] for a, b in zip(starts, attributes["ends"], strict=False)]
