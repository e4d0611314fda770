"""Who makes and who reads which value: what passes look for patterns in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.base import BROADCAST, CONSTANT
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value


class TaskGraph:
    """The plain tasks by the value they make, and all tasks by the values they read."""

    def __init__(self, tasks: Sequence[Task], kept: Collection[Value]) -> None:
        self.makers = {task.value: task for task in tasks if isinstance(task, PlainTask)}
        self._kept = kept
        self._readers: dict[Value, list[Task]] = defaultdict(list)
        for task in tasks:
            for value in task.inputs:
                self._readers[value].append(task)

    def inputs(self, value: Value, name: str) -> Sequence[Value]:
        """What a value is computed from, if by a primitive of this name."""
        task = self.makers.get(value)
        return task.inputs if task is not None and task.value.primitive.name == name else ()

    def only_reader(self, value: Value) -> PlainTask | None:
        """The task that alone reads a value, once or more, if nobody else wants it."""
        found = [] if value in self._kept else self._readers[value]
        (reader, *others) = dict.fromkeys(found) or (None,)
        return reader if isinstance(reader, PlainTask) and not others else None

    def clipping(self, value: Value) -> tuple[PlainTask, Value] | None:
        """The only reader of a gradient if that is 0 where some images are not above 0; and them.

        That is the derivative of a ReLU whose results the images are.
        """
        reader = self.only_reader(value)
        if reader is None or not (chosen := self.inputs(reader.value, "where")):
            return None
        above = self.inputs(chosen[0], "greater")
        clips = above and is_zero(above[1]) and is_zero(chosen[2])
        fits = clips and above[0].shape == value.shape and above[0].dtype == value.dtype
        return (reader, above[0]) if fits else None


def is_zero(value: Value) -> bool:
    """Whether a value is 0 everywhere, and not −0."""
    if value.primitive is BROADCAST:
        value = value.inputs[0]
    if value.primitive is not CONSTANT:
        return False
    array = value.attributes["array"]
    return array.size == 1 and array.item() == 0 and not np.signbit(array).any()
