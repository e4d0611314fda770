"""Compiles large convolutions and their derivatives to machine code: the ``fast`` extra.

No window is written out: the code reads the padded images themselves. The order of addition is
its own, so results differ from those of the kernels by rounding; float16 is computed in float32
and rounded once. Vectors go along rows of results, or else across filters:
which of them leaves less of a register empty. Convolutions for which neither does well are left to
the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry
from gradwire.runtime.engine.plan import windows as lying
from gradwire.runtime.engine.plan.passes.windows.convolutions import Layout, LayoutTask
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task
from gradwire.runtime.engine.plan.windows import (
    Correlation,
    Phase,
    Rows,
    copying,
    forward,
    interleaving,
    transposed,
    wide,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


LARGE = 1 << 18
"""Multiplications from which compiling a convolution is worthwhile."""

SHORTEST = 4
"""Results in a row below which columns and a matrix product are faster."""

WIDE = 1 << 12
"""Weights of single elements from which their matrix product is faster."""


def native_convolutions(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large convolutions by machine code."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task.value)]
    if not chosen:
        return tasks
    replaced: dict[Task, Task] = {}
    layouts: dict[tuple[Value, Geometry], RowsLayout] = {}
    for task in chosen:
        if task.value.primitive is CONV2D_X:
            replaced[task] = ImageGradientTask(task)
            continue
        key = task.inputs[0], task.value.attributes["geometry"]
        layout = layouts.setdefault(key, RowsLayout(task.value))
        replaced[task] = RowsTask(task, layout)
    return [replaced.get(task, task) for task in tasks]


def _fits(value: Value) -> bool:
    if value.primitive not in (CONV2D, CONV2D_W, CONV2D_X) or value.dtype not in FLOATS:
        return False
    geometry: Geometry = value.attributes["geometry"]
    images = value.attributes["shape"] if value.primitive is CONV2D_X else value.inputs[0].shape
    weights = value.shape if value.primitive is CONV2D_W else value.inputs[1].shape
    places = geometry.output((images[2], images[3]))
    if images[0] * math.prod(weights) * math.prod(places) < LARGE:
        return False
    groups = value.attributes["groups"]
    if geometry.window == (1, 1) and groups == 1 and math.prod(weights) >= WIDE:
        return False
    if value.primitive is CONV2D_X:
        columns, filters = images[3] // geometry.stride[1], weights[1]
    else:
        columns, filters = places[1], weights[0] // groups
    if lying.goes_across(value.dtype, filters, columns):
        return True
    return columns >= SHORTEST


class RowsLayout(Layout):
    """Images as rows."""

    def __init__(self, first: Value) -> None:
        super().__init__(first)
        geometry, images = first.attributes["geometry"], first.inputs[0].shape
        image = images[2], images[3]
        (rows, (down,)), (columns, (along,)) = (forward(i, image, geometry) for i in (0, 1))
        self.rows, self._phases = Rows(rows, columns), (down, along)

    def bind(self, images: Array) -> list[Step]:
        """Copy what does not lie so."""
        self.array, copies = self.rows.laid(self.first, images, wide(images.dtype))
        return [copying(target, source) for target, source in copies]

    def correlation(self, value: Value, images: Array) -> Correlation:
        """The windows of all results."""
        return Correlation(value, images, self.rows, *self._phases)


class RowsTask(LayoutTask):
    """A convolution, or its transpose in the weights."""

    layout: RowsLayout

    def steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        """What adds up products, and rounds them."""
        (value,) = self.values
        windows = self.layout.correlation(value, images)
        if value.primitive is CONV2D_W:
            return windows.by_gradients(other, out, self.groups)
        target = out if out.dtype == images.dtype else np.empty(out.shape, images.dtype)
        steps = windows.by_weights(other.reshape(self.groups, -1, *other.shape[1:]), target)
        return steps if target is out else [*steps, copying(out, target)]


class ImageGradientTask(Task):
    """The transpose of one convolution in the image: a convolution for each phase of the stride."""

    def __init__(self, task: PlainTask) -> None:
        self._task = task
        self.values, self.inputs = task.values, task.inputs

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step: the kernel's where a weight is no number, since padding times that is not 0."""
        out, (g, w) = arrays[self.values[0]], [arrays[x] for x in self.inputs]
        steps = self._steps(g, w, out)
        kernel = partial(self._task.kernel, g, w, out=out, **self._task.value.attributes)

        def run() -> None:
            if np.isfinite(w).all():
                for step in steps:
                    step()
            else:
                kernel()

        return [run]

    def _steps(self, g: Array, w: Array, out: Array) -> list[Step]:
        geometry, groups = (self._task.value.attributes[x] for x in ("geometry", "groups"))
        (down, row_phases), (along, column_phases) = (
            transposed(axis, out.shape[2:], geometry) for axis in (0, 1)
        )
        rows, dtype = Rows(down, along), wide(out.dtype)
        gradients, copies = rows.laid(self._task.value, g, dtype)
        steps = [copying(target, source) for target, source in copies]
        weights = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
        sources = self._task.value, gradients, rows, weights
        is_one = len(row_phases) == len(column_phases) == 1 and row_phases[0].taps
        if is_one and column_phases[0].taps and out.dtype == dtype:
            return steps + _phase(sources, row_phases[0], column_phases[0], out)
        for row in row_phases:
            target = out[:, :, row.places]
            lengths = {column.positions for column in column_phases}
            shape = len(column_phases), *target.shape[:3], max(lengths)
            block = np.zeros(shape, dtype)
            whole = len(lengths) == 1 and len(block) <= 2 <= max(lengths) and out.dtype == dtype
            for part, column in zip(block, column_phases, strict=True):
                found = part if whole else np.zeros((*shape[1:-1], column.positions), dtype)
                steps += _phase(sources, row, column, found)
                if not whole:
                    steps.append(copying(target[..., column.places], found))
            if whole:
                steps.append(interleaving(target, block))
        return steps


def _phase(
    sources: tuple[Value, Array, Rows, Array], row: Phase, column: Phase, out: Array
) -> list[Step]:
    """Steps that compute what a phase adds up; ``out`` is 0 already where that is nothing."""
    if not row.taps or not column.taps:
        return []
    value, gradients, rows, weights = sources
    some = weights[..., row.window, column.window]
    return Correlation(value, gradients, rows, row, column).by_weights(some, out)
