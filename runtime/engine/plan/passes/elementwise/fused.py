"""Compiles elementwise regions on large arrays to one loop of machine code: the ``fast`` extra.

Every element is read once, passes through the whole region in registers, and is written once.
Arithmetic and comparisons are equal bit for bit to those of the plain plan. Functions of float32
such as exp and tanh have the error bounds in ``gradwire.runtime.engine.plan.native.functions``.
Sums over all elements and root mean squares are accumulated in float64. Compiling takes about a
millisecond per operation, once for equal regions; what was compiled in an earlier process is kept
in the user's cache.

One call of numpy also takes longer than the arithmetic on some hundred elements of short arrays, as
those of a simulation in many steps. There a region becomes loops of ``FEW`` operations, which
machine code calls one after another: a step that is repeated compiles to the same few loops,
wherever it stands. One operation alone is machine code only next to other machine code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.linear import MATMUL
from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.native import compiles
from gradwire.runtime.engine.plan.passes.elementwise.rows import NEAR, Layout, Limits, layout_of
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import LoopTask
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, TiledTask, in_regions
from gradwire.runtime.engine.plan.passes.products import is_small_product
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, copying

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


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
    return in_regions(tasks, kept, _kind, _is_worthwhile, FusedTask, most=MOST)


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
    shape = shape_of(task)
    return shape if shape is not None and prod(shape) >= LARGE else None


def shape_of(task: Task) -> Shape | None:
    """The shape of what is elementwise, if there is code for it."""
    if not isinstance(task, PlainTask) or not task.operation.elementwise or task.can_fail:
        return None
    return task.value.shape if compiles(task.value, task.inputs, task.operation) else None


class FusedTask(LoopTask):
    """A region as one loop over any elements that lie side by side."""

    writes_rows = True

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[TiledFold]
    ) -> None:
        super().__init__(tasks, values, folds)
        # Each element of what lies as a result does is read before it is written.
        self.in_place = [x for x in self.inputs if x.shape == tasks[0].value.shape]

    @property
    def limits(self) -> Limits:
        """Which rows and sheets are worth calls."""
        return Limits(SHORTEST, LONG, ANY, LARGE)

    def laid_out(self, arrays: Arrays) -> tuple[list[Step], list[Array], Layout, list[Step]]:
        """Inputs of which neighbours are far apart are copied, and where there are no rows, all
        that does not lie side by side.
        """
        whole = [np.broadcast_to(arrays[x], self.shape) for x in self.order]
        before: list[Step] = []
        after: list[Step] = []

        def move(i: int) -> None:
            there, array = arrays[self.order[i]], np.empty(self.shape, whole[i].dtype)
            if i < len(self.inputs):
                before.append(copying(whole[i], array))
            else:
                after.append(partial(np.copyto, there, array))
            whole[i] = array

        for i in range(len(self.inputs)):
            if _is_far(whole[i]):
                move(i)
        layout = self._layout(whole)
        if layout is None:
            for i, array in enumerate(whole):
                if not array.flags.c_contiguous:
                    move(i)
            layout = self._layout(whole)
            assert layout is not None, "all lie side by side"
        return before, whole, layout, after

    def _layout(self, whole: Sequence[Array]) -> Layout | None:
        return layout_of(whole, len(self.inputs), self.limits)


def _is_far(x: Array) -> bool:
    return x.ndim > 0 and x.shape[-1] > 1 and abs(x.strides[-1]) > NEAR * x.itemsize


FEW = 24
"""Operations of one loop, at most: what repeats has few loops that are alike."""

FEWEST = 64
"""Operations of a plan on short arrays, with small products and regions that are compiled, from
which compiling the elementwise ones is worthwhile.
"""

DIFFERENT = 32
"""Loops that a plan may have, of those that come most often: compiling one takes milliseconds."""

OFTEN = 4
"""How often a loop of one operation must come to be compiled."""


def short(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace regions of short elementwise tasks where there are many that are alike."""
    if sum(map(_counts, tasks)) < FEWEST:
        return tasks
    found = in_regions(tasks, kept, _short_kind, bool, ShortTask, lambda task: None, most=FEW)
    loops = [task.pattern() if isinstance(task, ShortTask) else None for task in found]
    chosen = _chosen(Counter(loop for loop in loops if loop is not None))
    return [
        each
        for task, loop in zip(found, loops, strict=True)
        for each in (task.tasks if isinstance(task, ShortTask) and loop not in chosen else [task])
    ]


def _counts(task: Task) -> bool:
    """Whether a task is such an operation, or what machine code computes between some."""
    is_region = isinstance(task, TiledTask) and task.is_compiled
    return is_region or _short_kind(task) is not None or is_small_product(task)


def _chosen(loops: Counter[Recipe]) -> set[Recipe]:
    """The loops that are worth compiling."""
    often = [(loop, n) for loop, n in loops.most_common() if n >= OFTEN or len(loop.operations) > 1]
    return {loop for loop, _ in often[:DIFFERENT]}


def _short_kind(task: Task) -> Shape | None:
    shape = shape_of(task)
    return shape if shape is not None and 1 < prod(shape) < LARGE else None


class ShortTask(FusedTask):
    """A few operations as one loop."""

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[TiledFold]
    ) -> None:
        super().__init__(tasks, values, folds)
        if len(tasks) == 1:  # numpy may compute it
            self.in_place = tasks[0].in_place

    @property
    def limits(self) -> Limits:
        """As calls are cheap here, short rows are worth them; several vectors at a time are not
        worth the time to compile them.
        """
        return Limits(2, LARGE, LARGE, 4)

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        if len(self.tasks) > 1 or len(self.results) > len(self.values):
            return super().bind(arrays)
        ours = {x: arrays[x] for x in (*self.inputs, *self.values)}
        (step,) = self.tasks[0].bind(ours)
        return [Joinable(step, partial(self._job, ours))]

    def _job(self, arrays: Arrays) -> Job | None:
        found = super().bind(arrays)
        return found[0] if len(found) == 1 and isinstance(found[0], Job) else None

    def pattern(self) -> Recipe:
        """What it computes, by which equal loops are found before anything is compiled."""
        places = [MemoryPlace(i) for i in range(len(self.order))]
        inputs = [np.empty(0, NUMPY[x.dtype]) for x in self.inputs]
        return self.recipe(inputs, Layout([], places, 0), {})
