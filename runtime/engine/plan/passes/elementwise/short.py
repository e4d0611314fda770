"""Compiles elementwise regions on short arrays, as those of a simulation in many steps.

One call of numpy takes longer than the arithmetic on some hundred elements. A region becomes loops
of ``FEW`` operations, which machine code calls one after another: a step that is repeated compiles
to the same few loops, wherever it stands. One operation alone is machine code only next to other
machine code. Numbers are those of ``fused``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.passes.elementwise.fused import LARGE, FusedTask, shape_of
from gradwire.runtime.engine.plan.passes.elementwise.layouts import Layout, Limits
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, TiledTask, in_regions
from gradwire.runtime.engine.plan.passes.products.native_products import is_small_product

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

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
    found = in_regions(tasks, kept, _kind, bool, ShortTask, lambda task: None, most=FEW)
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
    return is_region or _kind(task) is not None or is_small_product(task)


def _chosen(loops: Counter[Recipe]) -> set[Recipe]:
    """The loops that are worth compiling."""
    often = [(loop, n) for loop, n in loops.most_common() if n >= OFTEN or len(loop.operations) > 1]
    return {loop for loop, _ in often[:DIFFERENT]}


def _kind(task: Task) -> Shape | None:
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
