"""Concatenates arrays that already lie side by side in memory with one copy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from runtime.calculus.primitives.shape import CONCAT
from runtime.engine.plan.passes.elementwise.stacks import as_view
from runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from collections.abc import Collection

    from runtime.calculus import Value
    from runtime.engine.plan.tasks import Arrays, Step

FEWEST = 8
"""Parts from which comparing their addresses is worthwhile."""


def joins(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace concatenations of many arrays of one shape along the first axis."""
    return [
        JoinTask(task) if isinstance(task, PlainTask) and _fits(task) else task for task in tasks
    ]


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        value.primitive is CONCAT
        and value.attributes["axis"] == 0
        and len(task.inputs) >= FEWEST
        and len({x.shape for x in task.inputs}) == 1
    )


class JoinTask(Task):
    """One concatenation; the results of a group lie side by side, so they are one block."""

    def __init__(self, task: PlainTask) -> None:
        self.values = task.values
        self.inputs = task.inputs

    def bind(self, arrays: Arrays) -> list[Step]:
        """One copy of the whole block, or else of one part after another."""
        parts, out = [arrays[x] for x in self.inputs], arrays[self.values[0]]
        whole = as_view(parts)
        if whole is None:
            return [partial(np.concatenate, parts, 0, out)]
        return [partial(np.copyto, out.reshape(whole.shape), whole)]
