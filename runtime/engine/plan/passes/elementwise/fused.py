"""Compiles elementwise regions on large arrays to one loop of machine code: the ``fast`` extra.

Every element is read once, passes through the whole region in registers, and is written once.
Arithmetic and comparisons are equal bit for bit to those of the plain plan. Functions of float32
such as exp and tanh have the error bounds in ``gradwire.runtime.engine.plan.native.functions``.
Sums over all elements, or over those of each channel, and root mean squares are accumulated in
float64. Compiling takes about a millisecond per operation, once for equal regions; what was
compiled in an earlier process is kept in the user's cache.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.calculus.primitives.reduce import SUM
from gradwire.runtime.engine.plan.jobs import Call, Job, cuts
from gradwire.runtime.engine.plan.native import (
    Kernel,
    Operand,
    Operation,
    Recipe,
    address,
    compiled,
    compiles,
    native_name,
)
from gradwire.runtime.engine.plan.passes.elementwise.exponents import (
    Exponents,
    attributes_of,
    for_exponents,
)
from gradwire.runtime.engine.plan.passes.elementwise.giving import laid_over
from gradwire.runtime.engine.plan.passes.elementwise.layouts import NEAR, Layout, layout_of
from gradwire.runtime.engine.plan.passes.elementwise.tiles import (
    Fold,
    TiledTask,
    fold_of,
    in_regions,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 11
"""Elements from which one call of machine code is faster than one call for each operation."""

SMALLEST = 2
"""Operations from which compiling a region is worthwhile."""

MOST = 240
"""Operations of one region: compiling takes longer for each of them the more there are."""

SLOW = frozenset({
    "where", "exp", "expm1", "log", "log1p", "sigmoid", "softplus", "erf", "power", "relu", "sign",
    "sqrt",
})  # fmt: skip
"""Primitives of which one is worthwhile: numpy branches, or needs several calls or long ones."""

WIDE = 1 << 15
"""Elements from which a product of a column and a row is worthwhile on its own."""

SHORTEST = 16
"""Elements from which a row is long enough for the vectorised loop."""

ANY = 1 << 10
"""Elements from which rows of any length share machine code."""

LONG = 64
"""Elements from which a row is long enough for several vectors at a time."""


def fused(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` large elementwise tasks by one, and single ones
    that are ``SLOW``.
    """
    if all(_kind(task) is None for task in tasks):
        return tasks
    return in_regions(tasks, kept, _kind, _is_worthwhile, FusedTask, _folding, most=MOST)


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    return len(tasks) >= SMALLEST or any(map(_is_slow, tasks))


def _is_slow(task: Task) -> bool:
    """Whether numpy is slow at it: also with a row that is repeated, as a bias is, and at large
    products of columns and rows.
    """
    if task.values[0].primitive.name in SLOW or _repeats_row(task):
        return True
    return task.values[0].primitive is MATMUL and task.values[0].size >= WIDE


def _repeats_row(task: Task) -> bool:
    """Whether an operand of an elementwise task is one row that counts for all."""
    shape = task.values[0].shape
    if task.values[0].primitive is MATMUL or not shape or shape[-1] < SHORTEST:
        return False
    return any(x.size == x.shape[-1] == shape[-1] < prod(shape) for x in task.inputs if x.shape)


def _kind(task: Task) -> Shape | None:
    if not isinstance(task, PlainTask) or not task.operation.elementwise:
        return None
    value = task.value
    compilable = compiles(value, task.inputs, task.operation)
    return value.shape if value.size >= LARGE and not task.can_fail and compilable else None


class ChannelSum(Fold):
    """The sum of all elements of each channel: over all axes but one in the middle."""

    keeps_axes = True

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task)
        self._axes: tuple[int, ...] = task.value.attributes["axes"]
        (self.axis,) = {*range(len(self.source.shape))} - {*self._axes}
        self.channels = self.source.shape[self.axis]

    def room(self, count: int) -> NDArray[np.float64]:
        """Memory for parts with a number for each channel."""
        return np.zeros((count, self.channels))

    def take(self, tile: Array, parts: NDArray[np.float64], number: int) -> None:
        """Store the part of one tile, which has all channels."""
        np.sum(tile, axis=self._axes, out=parts[number])

    def end(self, arrays: Arrays, parts: NDArray[np.float64]) -> Step:
        """The step that adds up all parts."""
        out = arrays[self.task.value]
        return lambda: np.copyto(out, parts.sum(0).reshape(out.shape), "same_kind")


def _folding(task: PlainTask) -> Fold | None:
    """A fold over all elements, or over all of each channel where these are long."""
    value = task.value
    if value.primitive is SUM and task.inputs[0].dtype in ("float32", "float64"):
        shape, axes = task.inputs[0].shape, value.attributes["axes"]
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        if len(kept) == 1 and 0 < kept[0] < len(shape) - 1 and shape[kept[0]] > 1:
            return ChannelSum(task) if prod(shape[kept[0] + 1 :]) >= SHORTEST else None
    return fold_of(task)


class Limits(NamedTuple):
    """Elements of the shortest row that is worth a loop, of one that is worth several vectors at a
    time, and of a sheet that is worth a call.
    """

    shortest: int
    long: int
    sheet: int


class FusedTask(TiledTask):
    """A region as one loop, or as tiles if its arrays don't consist of rows."""

    writes_rows = True
    is_compiled = True

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[Fold]
    ) -> None:
        super().__init__(tasks, values, folds)
        # Each element of what lies as a result does is read before it is written.
        self.in_place = [x for x in self.inputs if x.shape == tasks[0].value.shape]

    @property
    def limits(self) -> Limits:
        """Which rows and sheets are worth calls."""
        return Limits(SHORTEST, LONG, LARGE)

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step. Threads share the rows; results don't depend on the number of threads."""
        shape = self.tasks[0].value.shape
        arrays = self.given.among(arrays)
        copies, straight = self.straightened(arrays)
        whole = [np.broadcast_to(straight[x], shape) for x in (*self.inputs, *self.results)]
        axes = {fold.axis for fold in self.folds if isinstance(fold, ChannelSum)}
        layout = self._layout(whole, *axes) if len(axes) < 2 else None
        if layout is None:
            return [*self.without_rows(arrays), *self.given.copies()]
        rows = layout.rows + (layout.last > 0)
        parts = [np.zeros((len(layout.sheets), rows)) for _ in self.folds]
        operands, tables = layout.operands(whole[: len(self.inputs)])
        frames = np.array(
            [
                [
                    (address(array) + away, step)
                    for array, away, step in zip(whole, sheet, layout.steps, strict=True)
                ]
                + [(address(part[number]), part.itemsize) for part in parts]
                + [(address(table), 0) for table in tables]
                for number, sheet in enumerate(layout.sheets)
            ]
        )
        places = [address(frame) for frame in frames]
        kept = whole, parts, frames, tables  # alive, since only their addresses are used

        def job_for(exponents: Exponents) -> Job:
            recipe = self._recipe(operands, exponents)
            is_short = layout.columns < self.limits.long
            is_any = is_short or layout.last > 0 or layout.columns >= ANY
            columns = 0 if is_any else layout.columns
            kernel = compiled(recipe._replace(is_short=is_short, columns=columns))
            return Job(_parts(kernel, places, layout), _work(layout), kept=kept)

        job = for_exponents(self.tasks, self.inputs, arrays, job_for)
        ends = [fold.end(arrays, part) for fold, part in zip(self.folds, parts, strict=True)]
        order = [*self.inputs, *self.results]
        return [*copies, self.given.writing(job, frames, order, (), ends)]

    def without_rows(self, arrays: Arrays) -> list[Step]:
        """The steps where the arrays don't consist of rows: tiles."""
        copies, arrays = self.apart(arrays)
        return [*copies, *super().bind(arrays)]

    def apart(self, arrays: Arrays) -> tuple[list[Step], Arrays]:
        """The arrays with copies of inputs that results overwrite, and the steps that make these:
        where one operation follows another, a later one may read them.
        """
        overwritten = {
            x: np.empty_like(arrays[x])
            for x in self.inputs
            if any(np.may_share_memory(arrays[x], arrays[y]) for y in self.results)
        }
        steps: list[Step] = [partial(np.copyto, y, arrays[x]) for x, y in overwritten.items()]
        return steps, laid_over(arrays, overwritten)

    def _layout(self, whole: Sequence[Array], *axes: int) -> Layout | None:
        limits = self.limits
        found = layout_of(whole, len(self.inputs), limits.shortest, limits.long, *axes)
        if found is None:
            return None
        return found if len(found.sheets) <= max(1, whole[0].size // limits.sheet) else None

    def straightened(self, arrays: Arrays) -> tuple[list[Step], Arrays]:
        """As of tiles, and with copies of inputs of which neighbours are far apart."""
        steps, found = super().straightened(arrays)
        copies = {x: np.empty(x.shape, found[x].dtype) for x in self.inputs if _is_far(found[x])}
        steps += [partial(np.copyto, copy, found[x]) for x, copy in copies.items()]
        return steps, {**found, **copies}

    def _recipe(self, operands: Sequence[Operand], exponents: Exponents) -> Recipe:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        return Recipe(
            tuple(operands),
            tuple(
                Operation(
                    native_name(task.operation),
                    task.value.dtype,
                    tuple(numbers[x] for x in task.inputs),
                    attributes_of(task.value, exponents),
                )
                for task in self.tasks
            ),
            tuple(numbers[x] for x in self.results),
            tuple((numbers[f.source], "squares" if f.squares else "sum") for f in self.folds),
        )


def _is_far(x: Array) -> bool:
    return x.ndim > 0 and x.shape[-1] > 1 and abs(x.strides[-1]) > NEAR * x.itemsize


def _work(layout: Layout) -> int:
    return len(layout.sheets) * (layout.rows * layout.columns + layout.last)


def _parts(kernel: Kernel, frames: Sequence[int], layout: Layout) -> list[list[Call]]:
    """Some rows of all sheets, whose frames have these addresses; the short row is in the last."""
    call, columns, rows = kernel.call, layout.columns, layout.rows
    parts = [
        [Call(call, frame, columns, *cut) for frame in frames]
        for cut in cuts(rows, _work(layout))
        if rows
    ]
    if layout.last:
        last = [Call(call, frame, layout.last, rows, rows + 1) for frame in frames]
        parts = [*parts[:-1], [*(parts or [[]])[-1], *last]]
    return parts
