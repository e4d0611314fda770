"""Concatenates arrays with one copy if they lie side by side in memory, as results of a group do.

Of thousands of equal chains numpy takes more than half of the time to join the results.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.shape import CONCAT
from gradwire.runtime.engine.plan.passes.elementwise.stacks import as_view
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

FEWEST = 8
"""Parts from which comparing their addresses is worthwhile."""


def joins(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace concatenations of many arrays of one shape along the first axis."""
    return [JoinTask(task.values[0], task.inputs) if _fits(task) else task for task in tasks]


def _fits(task: Task) -> bool:
    return (
        isinstance(task, PlainTask)
        and task.value.primitive is CONCAT
        and task.value.attributes["axis"] == 0
        and len(task.inputs) >= FEWEST
        and len({x.shape for x in task.inputs}) == 1
    )


class JoinTask(PlainTask):
    """One concatenation."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One copy of the whole block, if the parts are one; else of one part after another."""
        whole, out = as_view([arrays[x] for x in self.inputs]), arrays[self.value]
        if whole is None:
            return super().bind(arrays)
        return [partial(np.copyto, out.reshape(whole.shape), whole)]
