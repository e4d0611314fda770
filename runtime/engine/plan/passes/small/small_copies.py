"""Compiles joining and embedding of small arrays next to other machine code: the ``fast`` extra."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.shape import CONCAT, EMBED
from gradwire.runtime.engine.plan.copies.small import LARGEST, copies
from gradwire.runtime.engine.plan.jobs import Joinable
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]


def small_copies(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace what copies small arrays by tasks that may be machine code."""
    return [SmallCopyTask(task.value, task.inputs) if _fits(task) else task for task in tasks]


def _fits(task: Task) -> TypeGuard[PlainTask]:
    if type(task) is not PlainTask or task.value.primitive not in (CONCAT, EMBED):
        return False
    return 0 < task.value.size <= LARGEST and task.value.dtype in ("float32", "float64")


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
