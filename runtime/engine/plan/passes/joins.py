"""Concatenates arrays with one copy if they lie side by side in memory, or with none where what is
computed for no other reader can be left in its place.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.shape import CONCAT
from gradwire.runtime.engine.plan.copies.transposed import copying
from gradwire.runtime.engine.plan.memory import Room
from gradwire.runtime.engine.plan.passes.elementwise.stacks import as_view
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, Step

Array = NDArray[Any]

FEWEST = 8
"""Parts from which comparing their addresses is worthwhile."""


LARGE = 1 << 13
"""Elements of an array from which computing its parts in it is faster than copying them."""

ROW = 16
"""Elements of a part that lie side by side in it from which that is so."""


def joins(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace concatenations of many arrays of one shape along the first axis, and of large ones of
    which each is read only there.
    """
    readers = Counter(x for task in tasks for x in task.inputs)
    found: list[Task] = []
    for task in tasks:
        if not isinstance(task, PlainTask) or task.value.primitive is not CONCAT:
            found.append(task)
        elif _fits(task):
            found.append(JoinTask(task))
        elif _is_large(task) and (own := {x for x in task.inputs if readers[x] == 1}):
            found.append(PlacedJoinTask(task.value, task.inputs, own))
        else:
            found.append(task)
    return found


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        value.attributes["axis"] == 0
        and len(task.inputs) >= FEWEST
        and len({x.shape for x in task.inputs}) == 1
    )


def _is_large(task: PlainTask) -> bool:
    axis = task.value.attributes["axis"]
    return task.value.size >= LARGE and all(prod(x.shape[axis:]) >= ROW for x in task.inputs)


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


class PlacedJoinTask(PlainTask):
    """One concatenation, whose ``own`` parts, which nothing else reads, may be computed in it."""

    __slots__ = ("_own",)

    def __init__(self, value: Value, inputs: Sequence[Value], own: Collection[Value]) -> None:
        super().__init__(value, inputs)
        self._own = own

    def rooms(self) -> Mapping[Value, Room]:
        """Where these parts are in the whole."""
        places = zip(self.inputs, self._places(), strict=True)
        return {x: Room(self.value, place) for x, place in places if x in self._own}

    def bind(self, arrays: Arrays) -> list[Step]:
        """A copy of each part that is not there."""
        out = arrays[self.value]
        pairs = [(out[at], arrays[x]) for at, x in zip(self._places(), self.inputs, strict=True)]
        apart = [pair for pair in pairs if not _is_same(*pair)]
        if len(apart) == len(pairs):
            return super().bind(arrays)
        return [copying(source, target) for target, source in apart]

    def _places(self) -> list[tuple[slice, ...]]:
        axis, ends = self.value.attributes["axis"], self.value.attributes["ends"]
        before = (slice(None),) * axis
        return [(*before, slice(a, b)) for a, b in zip((0, *ends), ends, strict=False)]


def _is_same(a: Array, b: Array) -> bool:
    return bool(a.ctypes.data == b.ctypes.data) and a.strides == b.strides
