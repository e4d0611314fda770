"""Computes values in the order of elements in which they are needed, so that nothing is copied.

Attention merges the results of its heads: it permutes their axes and reshapes what comes out, which
is a copy unless elements already lie in that order. Elementwise arithmetic can leave its results in
any order in which rows lie side by side, and products of machine code also where columns do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.base import RESHAPE
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.plan.memory import Room, allocate
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value


def merges(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace reshapes of what is permuted and not read but there."""
    readers = Counter(x for task in tasks for x in task.inputs)
    makers = {t.value for t in tasks if isinstance(t, PlainTask) and t.writes_rows}
    permuted = {
        task.value: task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask)
        and task.value.primitive is PERMUTE
        and task.inputs[0] in makers
        and readers[task.inputs[0]] == readers[task.value] == 1
    }
    return [
        MergeTask(task, permuted[task.inputs[0]])
        if isinstance(task, PlainTask)
        and task.value.primitive is RESHAPE
        and task.inputs[0] in permuted
        else task
        for task in tasks
    ]


class MergeTask(PlainTask):
    """A reshape that copies nothing if what is permuted lies where it had better."""

    def __init__(self, task: PlainTask, source: Value) -> None:
        super().__init__(task.value, task.inputs)
        self._source = source

    def rooms(self) -> dict[Value, Room]:
        """What is permuted, with elements in the order of what is reshaped."""
        (permuted,) = self.inputs
        array = allocate(self._source, permuted.shape, NUMPY[permuted.dtype])
        return {self._source: Room(None, array.transpose(np.argsort(permuted.attributes["axes"])))}
