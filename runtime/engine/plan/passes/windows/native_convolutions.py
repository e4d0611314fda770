"""Compiles large convolutions and their derivatives to machine code: the ``fast`` extra.

No window is written out: the code reads the padded images themselves. The order of addition is
its own, so results differ from those of the kernels by rounding; float16 is computed in float32
and rounded once. Vectors go along rows of results, or else across filters that are not in groups:
which of them leaves less of a register empty. Convolutions for which neither does well are left to
the kernels.

Images are laid out so that a tap of a window is an offset, whatever the geometry. Along each axis
the padded image is cut into one plane for each remainder of the stride, so that neighbouring
positions of the window read neighbouring elements.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import partial
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.values import Array
from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry
from gradwire.runtime.engine.compiler.computing import Images, copy, correlation, gathered, taps
from gradwire.runtime.engine.compiler.regions import MemoryPlace, compiled_region
from gradwire.runtime.engine.plan.jobs import Job, KernelCall, cuts
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.machine import address, vector
from gradwire.runtime.engine.plan.passes.elementwise.rows import Program
from gradwire.runtime.engine.plan.passes.windows.convolutions import Layout, LayoutTask
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.primitives.convolution import Pair


def are_planes(x: Array) -> bool:
    """Whether all planes are equally far apart, whatever the image."""
    return len(x) == 1 or x.strides[0] == x.strides[1] * x.shape[1]


def copying(target: Array, source: Array) -> Step:
    """Copies images to images of any dtype."""
    if not target.size:  # as where windows reach nothing but padding
        return lambda: None
    dtype = target.dtype.name
    are_floats = {dtype, source.dtype.name} <= {"float32", "float64"}
    if are_floats and source.dtype == target.dtype and _is_every_second(target, source):
        planes = Planes(dtype, target.shape)
        planes.write(planes.put("cast", planes.read(source)), target)
        return planes.step()
    found = copy(source, target.strides, dtype) if are_floats else None
    return partial(np.copyto, target, source, "same_kind") if found is None else found.into(target)


def _is_every_second(target: Array, source: Array) -> bool:
    """Whether columns of images, of which every second is read, are written side by side."""
    steps = target.strides[-1], source.strides[-1]
    return target.ndim == 4 and steps == (target.itemsize, 2 * target.itemsize)


def interleaving(target: Array, phases: Array) -> Step:
    """Writes the columns of images, or of two images in turns: (one or two, *images)."""
    planes = Planes(target.dtype.name, phases.shape[1:])
    parts = [planes.read(phase) for phase in phases]
    for i, part in enumerate(parts):
        planes.write(planes.put("without_sign", part), target, len(parts), i)
    return planes.step()


class Planes:
    """Collects what is computed for each place of images of this shape: of all their planes, which
    are the rows and columns of one channel. What is read comes before what is put.
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self._dtype, self._shape = dtype, shape
        self._program = Program()
        self._arrays: list[Array] = []
        self._results: list[tuple[int, MemoryPlace]] = []

    def _place(self, array: Array, step: int, offset: int) -> MemoryPlace:
        row, column = (x // array.itemsize for x in array.strides[2:])
        known = (i for i, x in enumerate(self._arrays) if x is array)
        number = next(known, len(self._arrays))
        self._arrays += [array] if number == len(self._arrays) else []
        return MemoryPlace(number, step * column, offset * column, row)

    def read(self, array: Array, step: int = 1, offset: int = 0) -> int:
        """The number of what is in images whose columns are so many apart, from one on."""
        return self._program.read(self._dtype, self._place(array, step, offset))

    def constant(self, x: float) -> int:
        """The number of a constant."""
        array = np.broadcast_to(np.array(x, self._dtype), (1, 1, 1, 1))
        return self.read(np.broadcast_to(array, self._shape), 0)

    def put(self, name: str, *inputs: int, dtype: str | None = None) -> int:
        """The number of what an operation makes."""
        return self._program.put(name, dtype or self._dtype, *inputs, is_wide=True)

    def write(self, number: int, array: Array, step: int = 1, offset: int = 0) -> None:
        """Write it to images, as they are read."""
        self._results.append((number, self._place(array, step, offset)))

    def step(self) -> Step:
        """The step that computes it; of each image by itself, if planes are not equally far
        apart.
        """
        n, channels, rows, columns = self._shape
        recipe = self._program.recipe(columns, tuple(self._results), (), ())
        kernel = compiled_region(recipe._replace(lines=rows))
        is_one = all(map(are_planes, self._arrays))
        frames = [
            np.array([(address(x[i]), x.strides[1]) for x in self._arrays])
            for i in range(1 if is_one else n)
        ]
        planes, work = n * channels // len(frames), n * channels * rows * columns
        parts = [
            [KernelCall(kernel, address(frame), 0, *cut)]
            for frame in frames
            for cut in cuts(planes, work // len(frames))
        ]
        return Job(parts, work, kept=(self._arrays, frames))


Copy = tuple[Array, Array]
"""A target and its source."""


class PlaneAxis(NamedTuple):
    """One axis of all planes: how many there are, their length, and what each has of the image.

    ``copies`` are slices of a plane and of the image, by plane.
    """

    planes: int
    length: int
    copies: tuple[tuple[slice, slice], ...]


class Phase(NamedTuple):
    """Positions along one axis of the result that read alike: so many, at ``places``.

    ``taps`` are where the first of them reads, as a plane and a place in it, for each element of
    the window in ``window``.
    """

    positions: int
    places: slice
    window: slice
    taps: tuple[Pair, ...]


def forward(axis: int, image: Pair, geometry: Geometry) -> tuple[PlaneAxis, list[Phase]]:
    """One axis of images under a window, and of what is computed for each position."""
    window, stride = geometry.window[axis], geometry.stride[axis]
    dilation, (before, _) = geometry.dilation[axis], geometry.padding[axis]
    count = geometry.output(image)[axis]
    offsets = [i * dilation for i in range(window)]
    remainders = sorted({offset % stride for offset in offsets})
    length = offsets[-1] // stride + count
    copies = []
    for remainder in remainders:
        first = max(0, -((remainder - before) // stride))
        last = max(first, min(length, (image[axis] - 1 - remainder + before) // stride + 1))
        start = first * stride + remainder - before
        stop = start + (last - first) * stride
        copies.append((slice(first, last), slice(start, stop, stride)))
    taps = tuple((remainders.index(i % stride), i // stride) for i in offsets)
    phase = Phase(count, slice(None), slice(None), taps)
    return PlaneAxis(len(remainders), length, tuple(copies)), [phase]


def transposed(axis: int, image: Pair, geometry: Geometry) -> tuple[PlaneAxis, list[Phase]]:
    """One axis of gradients by what a window computes, and of the image they add up to."""
    window, stride = geometry.window[axis], geometry.stride[axis]
    dilation, (padding, _) = geometry.dilation[axis], geometry.padding[axis]
    positions = geometry.output(image)[axis]
    every = stride // gcd(stride, dilation)
    found = []
    for phase in range(min(stride, image[axis])):
        reached = [i for i in range(window) if (phase + padding - i * dilation) % stride == 0]
        places = [(phase + padding - i * dilation) // stride for i in reached]
        chosen = slice(reached[0], None, every) if reached else slice(0, 0)
        found.append((-(-(image[axis] - phase) // stride), phase, chosen, places))
    before = max(0, -min((min(places) for *_, places in found if places), default=0))
    ends = [count + max(places) for count, _, _, places in found if places]
    length = before + max([0, *ends])
    kept = max(0, min(positions, length - before))
    phases = [
        Phase(count, slice(phase, None, stride), chosen, tuple((0, before + x) for x in places))
        for count, phase, chosen, places in found
    ]
    return PlaneAxis(1, length, ((slice(before, before + kept), slice(0, kept, 1)),)), phases


class Rows:
    """Images (batch, channels, rows, columns) as planes of rows, contiguous, with padding."""

    def __init__(self, rows: PlaneAxis, columns: PlaneAxis) -> None:
        self._axes = rows, columns
        self.plane = rows.length * columns.length
        self.channel = rows.planes * columns.planes * self.plane
        """Elements of a channel."""

    def laid(
        self, value: Value, images: Array, dtype: Any
    ) -> tuple[Array, list[tuple[Array, Array]]]:
        """The array of the planes, and what to copy in each run.

        The array is that of the images, and there is nothing to copy, where they lie so already.
        Raises RunError with the block of ``value`` where there is not enough memory.
        """
        rows, columns = self._axes
        n, channels = images.shape[:2]
        shape = (n, channels, rows.planes, columns.planes, rows.length, columns.length)
        lie_so = [axis.copies == ((slice(0, n), slice(0, n, 1)),) and axis.length == n
                  for axis, n in zip(self._axes, images.shape[2:], strict=True)]  # fmt: skip
        if all(lie_so) and images.flags.c_contiguous and images.dtype == dtype:
            return images, []
        planes = allocate(value, shape, dtype)
        planes.fill(0)
        copies = []
        for i, (row, from_row) in enumerate(rows.copies):
            for j, (column, from_column) in enumerate(columns.copies):
                copies.append(
                    (planes[:, :, i, j, row, column], images[:, :, from_row, from_column])
                )
        return planes, copies

    def offsets(self, channels: int, rows: Phase, columns: Phase) -> Array:
        """Where the first position reads, in elements of an image: (channels, taps, taps)."""
        side = self._axes[1]
        down = [(p * side.planes * self.plane + t * side.length) for p, t in rows.taps]
        along = [(p * self.plane + t) for p, t in columns.taps]
        starts = np.arange(channels, dtype=np.int64)[:, None, None] * self.channel
        return starts + np.array(down, np.int64)[:, None] + np.array(along, np.int64)

    def windows(self, images: Array, channels: int, rows: Phase, columns: Phase) -> Images:
        """How windows of so many channels, those of a group, read images that lie so."""
        size, taps = images.itemsize, self.offsets(channels, rows, columns)
        if self._axes[1].length == columns.positions:  # all rows are one
            columns = columns._replace(positions=rows.positions * columns.positions)
            rows = rows._replace(positions=1)
        whole, cut = self.vectors(rows, columns, vector(images.dtype.name, columns.positions))
        return Images(
            images,
            group=channels * self.channel * size,
            vectors=np.concatenate([whole, cut]) * size,
            whole=len(whole),
            taps=taps.ravel() * size,
            row=columns.positions,
        )

    def places(self, images: Array, rows: Phase, columns: Phase) -> Array:
        """Where each place of all images is that lie so, in bytes."""
        single, _ = self.vectors(rows, columns, 1)
        starts = np.arange(len(images)) * images.strides[0]
        found: Array = starts[:, None] + single[:, 0] * images.itemsize
        return found.ravel()

    def vectors(self, rows: Phase, columns: Phase, lanes: int) -> tuple[Array, Array]:
        """Where vectors of results read and where they belong, in elements: (vectors, 2).

        First the whole ones of all rows, then the last of each row, which overlap the ones before.
        """
        positions = columns.positions
        lines = np.arange(rows.positions)[:, None, None] * [self._axes[1].length, positions]
        last = positions - lanes
        starts = np.arange(0, last + 1, lanes)[:, None]
        cut = lines + last if positions % lanes else np.empty((0, 1, 2), np.int64)
        return (lines + starts).reshape(-1, 2), cut.reshape(-1, 2)


def wide(dtype: Any) -> Any:
    """The dtype to compute in: float32 for float16."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def goes_across(dtype: Any, filters: int, columns: int) -> bool:
    """Whether vectors across so many filters are filled better than along rows of columns."""
    lanes = machine.lanes() * 4 // max(4, int(np.dtype(dtype).itemsize))  # float16 in float32
    return _filled(filters, lanes) > _filled(columns, lanes)


def _filled(count: int, lanes: int) -> float:
    return count / (-(-count // lanes) * lanes)


class Correlation:
    """What one phase of images under windows, laid out as ``rows``, is multiplied by and adds up
    to. ``value`` is the one that is computed; where there is not enough memory, RunError names its
    block.
    """

    def __init__(self, value: Value, images: Array, rows: Rows, down: Phase, along: Phase) -> None:
        self._value, self._images, self._rows = value, images, rows
        self._phases = down, along

    def by_weights(self, weights: Array, out: Array) -> list[Step]:
        """Steps that compute results: images times weights (groups, filters, channels, rows,
        columns); ``out`` is contiguous and of the dtype of the images.
        """
        groups, filters, channels = weights.shape[:3]
        steps, weights = self._plain(weights)
        windows = self._rows.windows(self._images, channels, *self._phases)
        packed = weights.reshape(groups, filters, -1)
        if not self._goes_across(groups, filters):
            return [*steps, correlation(windows, packed, out)]
        places = self._rows.places(self._images, *self._phases)
        found = allocate(self._value, (places.size, filters), out.dtype)
        job = gathered(windows, places, windows.taps, packed[0], found)
        return [*steps, job, copying(out, _across(found, out))]

    def by_gradients(self, gradients: Array, out: Array, groups: int) -> list[Step]:
        """Steps that compute the gradient of weights from those of results."""
        steps, gradients = self._plain(gradients)
        found, dtype = out, gradients.dtype
        if out.dtype != dtype or not out.flags.c_contiguous:
            found = np.empty(out.shape, dtype)
        windows = self._rows.windows(self._images, out.shape[1], *self._phases)
        filters, terms = len(out), windows.taps.size
        if self._goes_across(groups, filters):
            places = self._rows.places(self._images, *self._phases)
            across = allocate(self._value, (places.size, filters), dtype)
            sums = np.empty((terms, filters), dtype)
            steps += [
                copying(_across(across, gradients), gradients),
                gathered(windows, windows.taps, places, across.T, sums),
                copying(found.reshape(filters, terms), sums.T),
            ]
        else:
            steps.append(taps(windows, gradients, found, groups))
        return steps if found is out else [*steps, copying(out, found)]

    def _goes_across(self, groups: int, filters: int) -> bool:
        """Whether vectors go across filters."""
        columns = self._phases[1].positions
        return groups == 1 and goes_across(self._images.dtype, filters, columns)

    def _plain(self, x: Array) -> tuple[list[Step], Array]:
        """An array, contiguous and of the dtype of the images, and the steps that copy it."""
        if x.dtype == self._images.dtype and x.flags.c_contiguous:
            return [], x
        found = np.empty(x.shape, self._images.dtype)
        return [copying(found, x)], found


def _across(x: Array, images: Array) -> Array:
    """What lies as places and filters, as images."""
    n, filters, *places = images.shape
    return x.reshape(n, *places, filters).transpose(0, 3, 1, 2)


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
        columns, filters = max(1, images[3] // geometry.stride[1]), weights[1]
    else:
        columns, filters = places[1], weights[0] // groups
    goes = groups == 1 and goes_across(value.dtype, filters, columns)
    return goes or columns >= SHORTEST


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
