"""Rows of several axes: the last ones, such as those of a group of channels of an image."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.base import BROADCAST
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]


class Lies(Enum):
    """How the elements of a row lie in an array."""

    ALONG = "side by side"
    ONCE = "one for all of the row"
    BY_PART = "one for all places of the first of its axes"


def axes_reduced(task: Task) -> int:
    """How many of the last axes a task reduces to one element, or reads as a row; 0 if others.

    Axes of length 1 before them make no difference, and are not counted.
    """
    if not isinstance(task, PlainTask) or not task.inputs:
        return 0
    attributes, shape = task.value.attributes, task.inputs[0].shape
    axes = (attributes["axis"],) if "axis" in attributes else attributes.get("axes", ())
    first, rank = min(axes, default=0), len(shape)
    if any(shape[i] > 1 and i not in axes for i in range(first, rank)):
        return 0
    while first < rank - 1 and shape[first] == 1:
        first += 1
    is_whole = first == 0 and task.value.size == 1  # what adds up all elements needs no rows
    return 0 if is_whole or not axes else rank - first


def row_axes(tasks: Iterable[Task]) -> dict[Shape, int]:
    """How many axes a row has, by the shape of all rows: the fewest that a task reduces."""
    found: dict[Shape, int] = {}
    for task in tasks:
        if count := axes_reduced(task):
            shape = task.inputs[0].shape
            found[shape] = min(count, found.get(shape, count))
    return found


def lies(whole: Array, axes: int) -> Lies | None:
    """How rows of so many axes lie in an array of the shape of all rows; None if irregularly."""
    first, *rest = zip(whole.shape[-axes:], whole.strides[-axes:], strict=True)
    if all(step == 0 or length == 1 for length, step in (first, *rest)):
        return Lies.ONCE
    along = whole.itemsize
    for length, step in reversed((first, *rest)):
        if length > 1 and step != along:
            break
        along *= length
    else:
        return Lies.ALONG
    is_part = first[1] == whole.itemsize and not any(step for length, step in rest if length > 1)
    return Lies.BY_PART if is_part else None


def repeated_along(x: Array, shape: Shape, axes: int) -> Array:
    """An array with all of its rows, of which it may have one for several."""
    lead = (1,) * (len(shape) - axes)
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, (*lead, *shape[-axes:])))


def length_of(shape: Shape, axes: int) -> int:
    """Elements of a row."""
    return prod(shape[-axes:])


def narrowed(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The tasks with one element of a row where it is repeated, if the arithmetic repeats it."""
    sources = {
        task.value: task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask)
        and task.value.primitive is BROADCAST
        and len(task.inputs[0].shape) == len(task.value.shape)
        and task.inputs[0].shape[-1:] == (1,)
    }
    found: list[Task] = []
    for task in tasks:
        if isinstance(task, PlainTask) and task.value.primitive.elementwise:
            inputs = [sources.get(x, x) for x in task.inputs]
            narrowed = any(x in sources for x in task.inputs)
            if narrowed and any(x.shape == task.value.shape for x in inputs):
                task = PlainTask(task.value, inputs)
        found.append(task)
    read = {x for task in found for x in task.inputs}
    unread = sources.keys() - read - set(kept)
    return [task for task in found if task.values[0] not in unread]
