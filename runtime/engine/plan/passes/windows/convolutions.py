"""Shares the columns of images between convolutions and their weight gradients."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.convolution import (
    CONV2D,
    CONV2D_W,
    columns_of,
    columns_shape,
    convolve,
    fill_columns,
    weight_gradient,
)
from gradwire.runtime.engine.plan.tasks import PlainTask, Step, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays


def convolutions(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Let all tasks that need the same columns read the ones that the first task writes."""
    alike: dict[tuple[Any, ...], list[PlainTask]] = {}
    for task in tasks:
        if isinstance(task, PlainTask) and task.value.primitive in (CONV2D, CONV2D_W):
            attributes = task.value.attributes
            images = task.inputs[0], attributes["geometry"], attributes["groups"]
            alike.setdefault(images, []).append(task)
    replaced: dict[Task, Task] = {}
    for members in alike.values():
        if len(members) > 1:
            columns = Columns(members[0])
            replaced |= {task: ConvolutionTask(task, columns) for task in members}
    return [replaced.get(task, task) for task in tasks] if replaced else tasks


class Columns:
    """Images laid out window by window, written by the first task."""

    def __init__(self, first: PlainTask) -> None:
        self.first = first
        self.array: NDArray[Any] | None = None
        """Allocated when the first task is bound."""


class ConvolutionTask(Task):
    """A convolution or weight gradient on shared columns; all but the first depend on the first."""

    def __init__(self, task: PlainTask, columns: Columns) -> None:
        self.values = task.values
        self.fills = task is columns.first
        self.inputs = [*task.inputs] if self.fills else [*task.inputs, columns.first.value]
        self._columns = columns

    def bind(self, arrays: Arrays) -> list[Step]:
        """Fill the columns, if this task is the first, and multiply."""
        value = self.values[0]
        geometry, groups = value.attributes["geometry"], value.attributes["groups"]
        images, other, out = arrays[self.inputs[0]], arrays[self.inputs[1]], arrays[value]
        steps: list[Step] = []
        if self.fills and geometry.is_pointwise:
            self._columns.array = columns_of(images, geometry)
        elif self.fills:
            columns = np.empty(columns_shape(images.shape, geometry), images.dtype)
            self._columns.array = columns
            steps.append(partial(fill_columns, images, columns, geometry))
        multiply = convolve if value.primitive is CONV2D else weight_gradient
        assert self._columns.array is not None  # the first task filled it
        steps.append(partial(multiply, self._columns.array, other, out, groups))
        return steps
