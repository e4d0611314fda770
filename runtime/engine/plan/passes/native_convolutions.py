"""Compiles large convolutions and their derivatives to machine code: the ``fast`` extra.

No window is written out: the code reads the padded images themselves. The order of addition is
its own, so results differ from those of the kernels by rounding; float16 is computed in float32
and rounded once. Convolutions whose results have very short rows are left to the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.dtypes import FLOATS
from runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry
from runtime.engine.plan import native, threads
from runtime.engine.plan.native.convolution import (
    CORRELATION,
    PRODUCTS,
    Tile,
    correlation,
    products,
    tile_for,
)
from runtime.engine.plan.native.machine import frame
from runtime.engine.plan.rows import Phase, Rows, forward, transposed
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.plan.native import Kernel

Array = NDArray[Any]

LARGE = 1 << 19
"""Multiplications from which compiling a convolution is worthwhile."""

SHORTEST = 8
"""Results in a row below which columns and a matrix product are faster."""

_EACH = 16
"""Multiplications that take as long as what ``threads`` counts as the work on one element."""


def native_convolutions(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace large convolutions by machine code, if a compiler is installed."""
    chosen = [task for task in tasks if isinstance(task, PlainTask) and _fits(task.value)]
    if not chosen or not native.installed():
        return tasks
    replaced: dict[Task, Task] = {}
    shared: dict[tuple[Value, Geometry], SharedRows] = {}
    for task in chosen:
        if task.value.primitive is CONV2D_X:
            replaced[task] = ImageGradientTask(task)
            continue
        kind = ConvolutionTask if task.value.primitive is CONV2D else WeightGradientTask
        key = task.inputs[0], task.value.attributes["geometry"]
        rows = shared.setdefault(key, SharedRows(task))
        replaced[task] = kind(task, rows)
    return [replaced.get(task, task) for task in tasks]


def _fits(value: Value) -> bool:
    if value.primitive not in (CONV2D, CONV2D_W, CONV2D_X) or value.dtype not in FLOATS:
        return False
    geometry: Geometry = value.attributes["geometry"]
    images = value.attributes["shape"] if value.primitive is CONV2D_X else value.inputs[0].shape
    weights = value.shape if value.primitive is CONV2D_W else value.inputs[1].shape
    places = geometry.output((images[2], images[3]))
    if images[0] * math.prod(weights) * math.prod(places) < LARGE or geometry.window == (1, 1):
        return False
    shortest = places[1]
    if value.primitive is CONV2D_X:
        shortest = images[3] // geometry.stride[1]
    return shortest >= SHORTEST


class SharedRows:
    """Images as rows, for all tasks that read them: filled by the first."""

    def __init__(self, first: PlainTask) -> None:
        self.first = first
        geometry, images = first.value.attributes["geometry"], first.inputs[0].shape
        image = images[2], images[3]
        (rows, (self.down,)), (columns, (self.along,)) = (
            forward(axis, image, geometry) for axis in (0, 1)
        )
        self.rows = Rows(rows, columns)
        self.array: Array | None = None
        """Allocated when the first task is bound."""

    def bind(self, images: Array) -> list[Step]:
        """The steps that fill the rows."""
        self.array, copies = self.rows.laid(self.first.value, images, _wide(images.dtype))
        return [partial(np.copyto, target, source) for target, source in copies]


class _RowsTask(Task):
    """A task on shared rows; all but the first depend on the first."""

    def __init__(self, task: PlainTask, shared: SharedRows) -> None:
        self.values = task.values
        self._fills = task is shared.first
        self.inputs = [*task.inputs] if self._fills else [*task.inputs, shared.first.value]
        self._shared = shared

    def bind(self, arrays: Arrays) -> list[Step]:
        """The steps that fill the rows, if this task is the first, and those of the task."""
        value = self.values[0]
        steps = self._shared.bind(arrays[self.inputs[0]]) if self._fills else []
        assert self._shared.array is not None, "the first task is bound first"
        return [*steps, *self._steps(self._shared.array, arrays[self.inputs[1]], arrays[value])]

    def _steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        raise NotImplementedError  # every task has its own


class ConvolutionTask(_RowsTask):
    """One convolution."""

    def _steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        shared, groups = self._shared, self.values[0].attributes["groups"]
        target = out if out.dtype == images.dtype else np.empty(out.shape, images.dtype)
        weights = other.reshape(groups, -1, *other.shape[1:])
        steps = _correlate(images, shared.rows, shared.down, shared.along, weights, target)
        return steps if target is out else [*steps, _rounding(out, target)]


class ImageGradientTask(Task):
    """The transpose of one convolution in the image: a convolution for each phase of the stride."""

    def __init__(self, task: PlainTask) -> None:
        self.values, self.inputs = task.values, task.inputs
        self._kernel = task.kernel

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step: the kernel's where a weight is no number, since padding times that is not 0."""
        value = self.values[0]
        g, w, out = (arrays[x] for x in (*self.inputs, value))
        steps = self._steps(g, w, out)
        kernel = partial(self._kernel, g, w, out=out, **value.attributes)

        def run() -> None:
            if np.isfinite(w).all():
                for step in steps:
                    step()
            else:
                kernel()

        return [run]

    def _steps(self, g: Array, w: Array, out: Array) -> list[Step]:
        geometry, groups = (self.values[0].attributes[name] for name in ("geometry", "groups"))
        (down, row_phases), (along, column_phases) = (
            transposed(axis, out.shape[2:], geometry) for axis in (0, 1)
        )
        rows, dtype = Rows(down, along), _wide(out.dtype)
        gradients, copies = rows.laid(self.values[0], g, dtype)
        steps: list[Step] = [partial(np.copyto, target, source) for target, source in copies]
        weights = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
        for row in row_phases:
            for column in column_phases:
                part = out[:, :, row.places, column.places]
                if not row.taps or not column.taps:
                    steps.append(partial(part.fill, 0))
                    continue
                direct = part.flags.c_contiguous and part.dtype == dtype
                target = part if direct else np.empty(part.shape, dtype)
                some = weights[..., row.window, column.window]
                steps += _correlate(gradients, rows, row, column, some, target)
                if not direct:
                    steps.append(_rounding(part, target))
        return steps


class WeightGradientTask(_RowsTask):
    """The transpose of one convolution in the weights."""

    def _steps(self, images: Array, other: Array, out: Array) -> list[Step]:
        shared, groups = self._shared, self.values[0].attributes["groups"]
        steps: list[Step] = []
        g = other
        if g.dtype != images.dtype or not g.flags.c_contiguous:
            g = np.empty(other.shape, images.dtype)
            steps.append(partial(np.copyto, g, other))
        filters = out.shape[0] // groups
        offsets = shared.rows.offsets(out.shape[1], shared.down, shared.along).ravel()
        tile = tile_for(images.dtype.name, shared.along.positions, filters, offsets.size)
        blocks, chunks = -(-filters // tile.filters), -(-offsets.size // tile.width)
        whole, cut, skipped = _vectors(shared.rows, shared.down, shared.along, tile.lanes)
        taps = np.pad(offsets, (0, chunks * tile.width - offsets.size), "edge") * images.itemsize
        vectors = np.array(whole + cut) * images.itemsize
        shape = groups, blocks, chunks * tile.width, tile.filters, tile.lanes
        sums = np.empty(shape, images.dtype)
        numbers = frame(
            PRODUCTS,
            image=images,
            image_step=images.strides[0],
            group_step=out.shape[1] * shared.rows.channel * images.itemsize,
            taps=taps,
            tap_chunks=chunks,
            other=g,
            other_step=g.strides[0],
            channel_step=g.strides[1],
            vectors=vectors,
            whole=len(whole),
            all=len(vectors),
            skipped=skipped,
            blocks=blocks,
            filters=filters,
            sums=sums,
            images=len(images),
        )
        kernel, work = products(tile), out[0].size * other.size // _EACH
        ones = np.ones(tile.lanes, images.dtype)
        kept = images, g, taps, vectors

        def run(_kept: object = kept) -> None:
            sums.fill(0)
            _divided(kernel, numbers, groups * blocks, work)
            found = np.matmul(sums.reshape(-1, tile.lanes), ones).reshape(shape[:-1])
            found = found[:, :, : offsets.size].swapaxes(2, 3)
            found = found.reshape(groups, -1, offsets.size)[:, :filters]
            np.copyto(out, found.reshape(out.shape), "same_kind")

        return [*steps, run]


def _correlate(
    images: Array, rows: Rows, down: Phase, along: Phase, weights: Array, out: Array
) -> list[Step]:
    """Steps that compute one phase; weights are (groups, filters, channels, rows, columns)."""
    groups, filters, channels = weights.shape[:3]
    offsets = rows.offsets(channels, down, along)
    tile = tile_for(images.dtype.name, along.positions, filters, down.positions * along.positions)
    whole, cut, _ = _vectors(rows, down, along, tile.lanes)
    vectors = whole + cut
    vectors += vectors[-1:] * (-len(vectors) % tile.width)
    pack, packed = _packing(weights, tile, images.dtype)
    taps, table = offsets * images.itemsize, np.array(vectors) * images.itemsize
    numbers = frame(
        CORRELATION,
        image=images,
        image_step=images.strides[0],
        group_step=channels * rows.channel * images.itemsize,
        taps=taps,
        tap_count=offsets.size,
        weights=packed,
        vectors=table,
        chunks=len(vectors) // tile.width,
        blocks=packed.shape[1],
        groups=groups,
        filters=filters,
        out=out,
        out_step=out.strides[0],
        channel_step=out.strides[1],
    )
    kernel, work = correlation(tile), out.size * offsets.size // _EACH
    kept = images, packed, taps, table, out

    def run(_kept: object = kept) -> None:
        _divided(kernel, numbers, len(images), work)

    return [*pack, run]


def _divided(kernel: Kernel, numbers: NDArray[np.int64], length: int, work: int) -> None:
    place = numbers.ctypes.data
    threads.divided(lambda start, stop: kernel.call(place, 0, start, stop), length, work)


def _vectors(
    rows: Rows, down: Phase, along: Phase, lanes: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
    """Where vectors are in the rows and in the result: whole ones, and the last of each row.

    The last of a row overlap the one before by so many elements.
    """
    whole, cut = [], []
    rest = along.positions % lanes
    for row in range(down.positions):
        source, target = row * rows.pitch, row * along.positions
        starts = range(0, along.positions - lanes + 1, lanes)
        whole += [(source + start, target + start) for start in starts]
        if rest:
            cut.append((source + along.positions - lanes, target + along.positions - lanes))
    return whole, cut, lanes - rest


def _packing(weights: Array, tile: Tile, dtype: Any) -> tuple[list[Step], Array]:
    """Steps that sort weights as ``correlation`` reads them, and where they put them."""
    groups, filters, *taps = weights.shape
    blocks = -(-filters // tile.filters)
    packed = np.empty((groups, blocks, *taps, tile.filters), dtype)
    target = np.moveaxis(packed, -1, 2)
    steps: list[Step] = []
    for a in range(tile.filters):
        source = weights[:, a :: tile.filters]
        steps.append(partial(np.copyto, target[:, : source.shape[1], a], source))
        if source.shape[1] < blocks:  # the last filter stands in for those that are missing
            steps.append(partial(np.copyto, target[:, -1, a], weights[:, -1]))
    return steps, packed


def _wide(dtype: Any) -> Any:
    """The dtype to compute in."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _rounding(out: Array, found: Array) -> Step:
    return partial(np.copyto, out, found, "same_kind")
