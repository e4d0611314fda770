"""Compiles large convolutions and their derivatives to machine code: the ``fast`` extra.

No window is written out: the code reads the padded images themselves. The order of addition is
its own, so results differ from those of the kernels by rounding; float16 is computed in float32
and rounded once. Vectors go along rows of results, or else across filters (see ``filterwise``):
which of them leaves less of a register empty. Convolutions for which neither does well are left to
the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.primitives.convolution import CONV2D, CONV2D_W, CONV2D_X, Geometry
from gradwire.runtime.engine.compiler.computing import taps
from gradwire.runtime.engine.plan.copies.images import copying, interleaving
from gradwire.runtime.engine.plan.graph import Graph
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
    graph = Graph(tasks, kept)
    chains = [Chain(task, graph) for task in chosen]
    order = {task: i for i, task in enumerate(tasks)}
    replaced: dict[Task, Task | None] = {}
    shared: dict[tuple[Value, Geometry], SharedRows] = {}
    for chain in sorted(chains, key=lambda chain: order[chain.tasks[-1]]):
        task = chain.tasks[0]
        replaced |= dict.fromkeys(chain.tasks)
        if task.value.primitive is CONV2D_X:
            clipped = graph.clipping(task.value) if _clips(task.value) else None
            replaced[task] = None
            replaced[clipped[0] if clipped else task] = ImageGradientTask(task, clipped)
            continue
        key = task.inputs[0], task.value.attributes["geometry"]
        rows = shared.setdefault(key, SharedRows(chain))
        if task.value.primitive is CONV2D:
            replaced[chain.tasks[-1]] = ConvolutionTask(chain, rows)
        else:
            replaced[task] = WeightGradientTask(task, task.value, rows)
    left = (replaced.get(task, task) for task in tasks)
    return [task for task in left if task is not None]


class Chain:
    """A convolution with the bias and the ReLU that alone read it."""

    def __init__(self, task: PlainTask, graph: Graph) -> None:
        self.tasks = [task]
        self.bias: Value | None = None
        self.is_clipped = False
        if task.value.primitive is not CONV2D:
            return
        reader = graph.only_reader(self.value)
        if reader is not None and reader.value.primitive.name == "add":
            others = [x for x in reader.inputs if x is not task.value]
            filters = 1, task.value.shape[1], 1, 1
            if len(others) == 1 and (1, 1, 1, *others[0].shape)[-4:] == filters:
                self.bias = others[0]
                self.tasks.append(reader)
                reader = graph.only_reader(self.value)
        if reader is not None and reader.value.primitive.name == "relu":
            self.is_clipped = True
            self.tasks.append(reader)

    @property
    def value(self) -> Value:
        """The result."""
        return self.tasks[-1].value


def _clips(value: Value) -> bool:
    """Whether a gradient of images can be 0 in places as it is written."""
    across = value.attributes["geometry"].stride[1]
    return value.dtype != "float16" and (across == 1 or (across == 2 and not value.shape[3] % 2))


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

    def __init__(self, first: Chain) -> None:
        self.filled_with = first.value
        """A value of the task that fills the rows."""
        task = first.tasks[0]
        geometry, images = task.value.attributes["geometry"], task.inputs[0].shape
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

    def __init__(self, task: PlainTask, value: Value, shared: SharedRows) -> None:
        self.values = (value,)
        self._fills = value is shared.filled_with
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
    """One convolution, with a bias and a ReLU if they follow."""

    def __init__(self, chain: Chain, shared: SharedRows) -> None:
        super().__init__(chain.tasks[0], chain.value, shared)
        self._chain = chain
        if chain.bias is not None:
            self.inputs = [*self.inputs, chain.bias]

    @property
    def covers(self) -> Sequence[Value]:
        """The convolution, and what follows."""
        return [task.value for task in self._chain.tasks]

    def _steps(self, images: Array, arrays: Arrays) -> list[Step]:
        shared, chain = self._shared, self._chain
        out, w = arrays[chain.value], arrays[self.inputs[1]]
        target = out if out.dtype == images.dtype else np.empty(out.shape, images.dtype)
        weights = w.reshape(self._groups, -1, *w.shape[1:])
        bias = None if chain.bias is None else arrays[chain.bias].reshape(self._groups, -1)
        steps = correlate(
            chain.value,
            images,
            shared.rows,
            shared.down,
            shared.along,
            weights,
            target,
            bias,
            chain.is_clipped,
        )
        return steps if target is out else [*steps, rounding(out, target)]


class ImageGradientTask(Task):
    """The transpose of one convolution in the image: a convolution for each phase of the stride.

    With ``clipped``, the task that alone reads it and the images, it is 0 where these are not
    above 0.
    """

    def __init__(self, task: PlainTask, clipped: tuple[PlainTask, Value] | None) -> None:
        self._task, last = task, task
        self.inputs = task.inputs
        if clipped is not None:
            last, images = clipped
            self.inputs = [*task.inputs, images]
        self.values = (last.value,)

    @property
    def covers(self) -> Sequence[Value]:
        """The gradient, and what it is with zeros."""
        return tuple(dict.fromkeys((self._task.value, *self.values)))

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step: the kernel's where a weight is no number, since padding times that is not 0."""
        out, (g, w, *above) = arrays[self.values[0]], [arrays[x] for x in self.inputs]
        steps = self._steps(g, w, out, *above)
        kernel = partial(self._task.kernel, g, w, out=out, **self._task.value.attributes)

        def run() -> None:
            if np.isfinite(w).all():
                for step in steps:
                    step()
                return
            kernel()
            for images in above:
                np.copyto(out, 0, where=~(images > 0))

        return [run]

    def _steps(self, g: Array, w: Array, out: Array, above: Array | None = None) -> list[Step]:
        geometry, groups = (self._task.value.attributes[x] for x in ("geometry", "groups"))
        (down, row_phases), (along, column_phases) = (
            transposed(axis, out.shape[2:], geometry) for axis in (0, 1)
        )
        rows, dtype = Rows(down, along), wide(out.dtype)
        gradients, copies = rows.laid(self._task.value, g, dtype)
        steps = [copying(target, source) for target, source in copies]
        weights = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
        if above is not None and not above.flags.c_contiguous:
            above, source = np.empty(above.shape, dtype), above
            steps.append(partial(np.copyto, above, source))
        sources = self._task.value, gradients, rows, weights
        is_one = len(row_phases) == len(column_phases) == 1 and row_phases[0].taps
        if is_one and column_phases[0].taps and out.dtype == dtype:
            return steps + _phase(sources, row_phases[0], column_phases[0], out, above)
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
                shown = None if above is None else above[:, :, row.places]
                steps.append(interleaving(target, block, shown))
        return steps


def _phase(
    sources: tuple[Value, Array, Rows, Array],
    row: Phase,
    column: Phase,
    out: Array,
    above: Array | None = None,
) -> list[Step]:
    """Steps that compute what a phase adds up; ``out`` is 0 already where that is nothing."""
    if not row.taps or not column.taps:
        return []
    value, gradients, rows, weights = sources
    some = weights[..., row.window, column.window]
    return correlate(value, gradients, rows, row, column, some, out, above=above)


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
