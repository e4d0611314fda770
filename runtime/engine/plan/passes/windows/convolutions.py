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
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


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
            columns = Columns(members[0].value)
            replaced |= {task: ConvolutionTask(task, columns) for task in members}
    return [replaced.get(task, task) for task in tasks] if replaced else tasks


class Layout:
    """Images laid out for all tasks that read them so, by the first."""

    def __init__(self, first: Value) -> None:
        self.first = first
        """The value of the first task."""
        self.array: Array | None = None
        """Allocated when the first task is bound."""

    def bind(self, images: Array) -> list[Step]:
        """The steps that lay them out."""
        raise NotImplementedError  # every layout has its own


class LayoutTask(Task):
    """A task on images that are laid out; all but the first depend on the first."""

    def __init__(self, task: PlainTask, layout: Layout) -> None:
        self.values, self.layout = task.values, layout
        self._fills = task.value is layout.first
        self.inputs = [*task.inputs] if self._fills else [*task.inputs, layout.first]
        self.groups: int = task.value.attributes["groups"]

    def bind(self, arrays: Arrays) -> list[Step]:
        """The steps that lay out images, if this task is the first, and those of the task."""
        steps = self.layout.bind(arrays[self.inputs[0]]) if self._fills else []
        images = self.layout.array
        assert images is not None, "the first task is bound first"
        return [*steps, *self.steps(images, arrays[self.inputs[1]], arrays[self.values[0]])]

    def steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        """Those of the task."""
        raise NotImplementedError  # every task has its own


class Columns(Layout):
    """Images window by window."""

    def bind(self, images: Array) -> list[Step]:
        """Write them out; columns of single elements are a view."""
        geometry = self.first.attributes["geometry"]
        if geometry.is_pointwise:
            self.array = columns_of(images, geometry)
            return []
        self.array = np.empty(columns_shape(images.shape, geometry), images.dtype)
        return [partial(fill_columns, images, self.array, geometry)]


class ConvolutionTask(LayoutTask):
    """A convolution or weight gradient on columns."""

    def steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        """One product."""
        multiply = convolve if self.values[0].primitive is CONV2D else weight_gradient
        return [partial(multiply, images, other, out, self.groups)]
