"""Computes convolutions of small images as products of machine code: the ``fast`` extra.

Windows are written out as columns, once for all that read them, since rows of such images are too
short for the vectors of ``native_convolutions``. The gradient of images is a convolution as well:
of gradients with the weights in reverse, where windows move by one element. Results differ from
those of the kernels by rounding.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.primitives.convolution import (
    CONV2D,
    CONV2D_W,
    CONV2D_X,
    Geometry,
    columns_shape,
    fill_columns,
)
from runtime.engine.plan.copies.images import copying
from runtime.engine.plan.jobs import divided
from runtime.engine.plan.memory import allocate
from runtime.engine.plan.native import machine
from runtime.engine.plan.native.windows.columns import COLUMNS
from runtime.engine.plan.native.windows.columns import columns as kernel
from runtime.engine.plan.native.windows.pooling import Window
from runtime.engine.plan.passes.native_products import may_be_faster, multiplying
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

MANY = 1 << 20
"""Weights from which numpy is as fast at products with columns."""


def column_products(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace convolutions that are left over, and their derivatives, where products are large."""
    shared: dict[tuple[Value, Geometry], Columns] = {}
    found: list[Task] = []
    for task in tasks:
        if not isinstance(task, PlainTask) or not _fits(task.value):
            found.append(task)
        elif task.value.primitive is CONV2D_X:
            found.append(ColumnGradientTask(task))
        else:
            key = task.inputs[0], task.value.attributes["geometry"]
            found.append(ColumnProductTask(task, shared.setdefault(key, Columns(task.value))))
    return found


def _fits(value: Value) -> bool:
    if value.primitive not in (CONV2D, CONV2D_W, CONV2D_X) or value.attributes["groups"] > 1:
        return False
    geometry: Geometry = value.attributes["geometry"]
    if geometry.is_pointwise:
        return False
    if value.primitive is CONV2D_X:
        terms = value.inputs[0].shape[1] * prod(geometry.window)
        size = value.shape[1], terms, value.size // value.shape[1]
        return reverse(geometry) is not None and may_be_faster(value.dtype, *size)
    x, other = (x.shape for x in value.inputs)
    columns = columns_shape(x, geometry)
    rows, terms, places = other[0], prod(columns[:3]), prod(columns[3:])
    if value.primitive is CONV2D_W:
        rows, terms, places = other[1], places, terms
    return may_be_faster(value.dtype, rows, terms, places)


def reverse(geometry: Geometry) -> Geometry | None:
    """How a window moves over gradients to give those of images; None if not by one element, or
    if padding is wider than the window reaches.
    """
    reach = [d * (n - 1) for d, n in zip(geometry.dilation, geometry.window, strict=True)]
    (top, bottom), (left, right) = (
        (n - before, n - after) for n, (before, after) in zip(reach, geometry.padding, strict=True)
    )
    if geometry.stride != (1, 1) or min(top, bottom, left, right) < 0:
        return None
    return geometry._replace(padding=((top, bottom), (left, right)))


class Columns:
    """Images laid out window by window, written by the first task that needs them."""

    def __init__(self, first: Value) -> None:
        self.first = first
        self.array: Array | None = None
        """Allocated when the first task is bound."""


class ColumnProductTask(Task):
    """A convolution or weight gradient on shared columns; all but the first depend on the first."""

    def __init__(self, task: PlainTask, columns: Columns) -> None:
        self.values = task.values
        self.divides_products = True
        self._fills = task.value is columns.first
        self.inputs = [*task.inputs] if self._fills else [*task.inputs, columns.first]
        self._columns = columns

    def bind(self, arrays: Arrays) -> list[Step]:
        """Fill the columns, if this task is the first, and multiply."""
        value = self.values[0]
        images, other, out = arrays[self.inputs[0]], arrays[self.inputs[1]], arrays[value]
        steps: list[Step] = []
        if self._fills:
            steps, self._columns.array = _columns(value, images, value.attributes["geometry"])
        assert self._columns.array is not None, "the first task is bound first"
        if value.primitive is CONV2D:
            return [*steps, *_convolving(value, other, self._columns.array, out)]
        beside = allocate(value, (other.shape[1], other.size // other.shape[1]), other.dtype)
        gradients = beside.reshape(other.shape[1], other.shape[0], *other.shape[2:])
        steps.append(partial(np.copyto, gradients, other.swapaxes(0, 1)))
        found = allocate(value, (len(out), out[0].size), out.dtype)
        steps.append(multiplying(beside, self._columns.array.T, found))
        return [*steps, partial(np.copyto, out, found.reshape(out.shape))]


class ColumnGradientTask(Task):
    """The transpose of one convolution in the image, by columns of gradients."""

    divides_products = True

    def __init__(self, task: PlainTask) -> None:
        self._task = task
        self.values, self.inputs = task.values, task.inputs

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step: the kernel's where a weight is no number, since padding times that is not 0."""
        value = self.values[0]
        (g, w), out = (arrays[x] for x in self.inputs), arrays[value]
        back = reverse(value.attributes["geometry"])
        assert back is not None, "the pass has seen to it"
        steps, columns = _columns(value, g, back)
        turned = allocate(value, (w.shape[1], w.shape[0], *w.shape[2:]), w.dtype)
        steps.append(partial(np.copyto, turned, w[:, :, ::-1, ::-1].swapaxes(0, 1)))
        steps += _convolving(value, turned, columns, out)
        by_kernel = partial(self._task.kernel, g, w, out=out, **value.attributes)

        def run() -> None:
            if not np.isfinite(w).all():
                by_kernel()
                return
            for step in steps:
                step()

        return [run]


def _columns(value: Value, images: Array, geometry: Geometry) -> tuple[list[Step], Array]:
    """The steps that write out all windows of images, and the matrix of them: a row each place in
    a window.
    """
    shape = columns_shape(images.shape, geometry)
    columns = allocate(value, shape, images.dtype)
    matrix = columns.reshape(prod(shape[:3]), -1)
    lanes = machine.lanes() * 4 // images.itemsize
    if geometry.stride[1] > 1 or shape[-1] > lanes:
        return [partial(fill_columns, images, columns, geometry)], matrix
    (top, bottom), (left, right) = geometry.padding
    height, width = images.shape[2:]
    lengths = top + height + bottom, left + width + right
    padded = allocate(value, (*images.shape[:2], *lengths), images.dtype)
    padded.fill(0)
    inner = padded[:, :, top : top + height, left : left + width]
    how = Window(images.dtype.name, lanes, geometry.window, geometry.stride, geometry.dilation)
    numbers = machine.frame(
        COLUMNS,
        image=padded,
        image_step=padded.strides[0],
        channel_step=padded.strides[1],
        image_row=padded.strides[2],
        out=columns,
        out_channel=columns.strides[0],
        out_tap=columns.strides[2],
        images=shape[3],
        rows=shape[4],
        columns=shape[5],
    )
    job = divided(kernel(how), numbers, shape[0], columns.size, (padded, columns))
    return [copying(inner, images), job], matrix


def _convolving(value: Value, w: Array, columns: Array, out: Array) -> list[Step]:
    """The steps that multiply weights by columns, and sort what that gives by images."""
    found = allocate(value, (len(w), columns.shape[1]), out.dtype)
    by_filter = found.reshape(len(w), len(out), *out.shape[2:])
    weights = w.reshape(len(w), -1)
    return [
        _multiplying(weights, columns, found),
        partial(np.copyto, out, by_filter.swapaxes(0, 1)),
    ]


def _multiplying(weights: Array, columns: Array, out: Array) -> Step:
    """The step that multiplies weights by columns: by numpy if there are so many that all tiles of
    columns go through them from far away.
    """
    if weights.size >= MANY:
        return partial(np.matmul, weights, columns, out)
    return multiplying(weights, columns, out)
