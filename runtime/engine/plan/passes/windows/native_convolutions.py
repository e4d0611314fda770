"""Compiles large convolutions and their derivatives to machine code: the ``fast`` extra.

No window is written out: the code reads the padded images themselves. The order of addition is
its own, so results differ from those of the kernels by rounding; float16 is computed in float32
and rounded once. Vectors go along rows of results, or else across filters (see ``filterwise``):
which of them leaves less of a register empty. Convolutions for which neither does well are left to
the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry
from gradwire.runtime.engine.compiler.computing import taps
from gradwire.runtime.engine.plan.copies.images import copying, interleaving
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task
from gradwire.runtime.engine.plan.windows import filterwise
from gradwire.runtime.engine.plan.windows.correlations import correlate, rounding, wide
from gradwire.runtime.engine.plan.windows.rows import Phase, Rows, forward, transposed

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 18
"""Multiplications from which compiling a convolution is worthwhile."""

SHORTEST = 8
"""Results in a row below which columns and a matrix product are faster."""

SHORT = 4
"""Results in a row below which they are so for groups, and for gradients of images by few weights.
"""

MANY = 1 << 15
"""Weights that are many."""

WIDE = 1 << 12
"""Weights of single elements from which their matrix product is faster."""


def native_convolutions(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large convolutions by machine code."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task.value)]
    if not chosen:
        return tasks
    replaced: dict[Task, Task] = {}
    shared: dict[tuple[Value, Geometry], SharedRows] = {}
    for task in chosen:
        if task.value.primitive is CONV2D_X:
            replaced[task] = ImageGradientTask(task)
            continue
        key = task.inputs[0], task.value.attributes["geometry"]
        rows = shared.setdefault(key, SharedRows(task.value))
        make = ConvolutionTask if task.value.primitive is CONV2D else WeightGradientTask
        replaced[task] = make(task, rows)
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
    if filterwise.suits(value.dtype, filters, columns):
        return True
    few = groups > 1 or (value.primitive is CONV2D_X and math.prod(weights) < MANY)
    return columns >= (SHORT if few else SHORTEST)


class SharedRows:
    """Images as rows, for all tasks that read them: filled by the first."""

    def __init__(self, first: Value) -> None:
        self.filled_with = first
        """The value of the task that fills the rows."""
        geometry, images = first.attributes["geometry"], first.inputs[0].shape
        image = images[2], images[3]
        (rows, (self.down,)), (columns, (self.along,)) = (
            forward(axis, image, geometry) for axis in (0, 1)
        )
        self.rows = Rows(rows, columns)
        self.array: Array | None = None
        """Allocated when the first task is bound."""

    def bind(self, images: Array) -> list[Step]:
        """The steps that fill the rows."""
        self.array, copies = self.rows.laid(self.filled_with, images, wide(images.dtype))
        return [copying(target, source) for target, source in copies]


class _RowsTask(Task):
    """A task on shared rows; all but the first depend on the first."""

    def __init__(self, task: PlainTask, shared: SharedRows) -> None:
        self.values = task.values
        self._fills = task.value is shared.filled_with
        self.inputs = [*task.inputs] if self._fills else [*task.inputs, shared.filled_with]
        self._shared = shared
        self._groups: int = task.value.attributes["groups"]

    def bind(self, arrays: Arrays) -> list[Step]:
        """The steps that fill the rows, if this task is the first, and those of the task."""
        steps = self._shared.bind(arrays[self.inputs[0]]) if self._fills else []
        assert self._shared.array is not None, "the first task is bound first"
        return [*steps, *self._steps(self._shared.array, arrays)]

    def _steps(self, images: Array, arrays: Arrays) -> list[Step]:
        raise NotImplementedError  # every task has its own


class ConvolutionTask(_RowsTask):
    """One convolution."""

    def _steps(self, images: Array, arrays: Arrays) -> list[Step]:
        shared, value = self._shared, self.values[0]
        out, w = arrays[value], arrays[self.inputs[1]]
        target = out if out.dtype == images.dtype else np.empty(out.shape, images.dtype)
        weights = w.reshape(self._groups, -1, *w.shape[1:])
        how = shared.rows, shared.down, shared.along
        steps = correlate(value, images, *how, weights, target)
        return steps if target is out else [*steps, rounding(out, target)]


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
    return correlate(value, gradients, rows, row, column, some, out)


class WeightGradientTask(_RowsTask):
    """The transpose of one convolution in the weights."""

    def _steps(self, images: Array, arrays: Arrays) -> list[Step]:
        shared, groups = self._shared, self._groups
        other, out = arrays[self.inputs[1]], arrays[self.values[0]]
        steps: list[Step] = []
        g = other
        if g.dtype != images.dtype or not g.flags.c_contiguous:
            g = np.empty(other.shape, images.dtype)
            steps.append(partial(np.copyto, g, other))
        filters = out.shape[0] // groups
        is_plain = out.dtype == g.dtype and out.flags.c_contiguous
        found = out if is_plain else np.empty(out.shape, g.dtype)
        how = shared.down, shared.along
        windows = shared.rows.windows(images, out.shape[1], *how)
        if filterwise.suits(images.dtype, filters, shared.along.positions):
            places = shared.rows.places(images, *how)
            steps += filterwise.multiply(self.values[0], windows, places, g, found)
        else:
            steps.append(taps(windows, g, found, groups))
        return steps if found is out else [*steps, rounding(out, found)]
