"""Compiles elementwise regions on short arrays, as those of a simulation in many steps.

One call of numpy takes longer than the arithmetic on some hundred elements. A region becomes loops
of ``FEW`` operations, which machine code calls one after another: a step that is repeated compiles
to the same few loops, wherever it stands. Numbers are those of ``fused``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import TYPE_CHECKING

from runtime.engine.plan import native
from runtime.engine.plan.native import Operand, Recipe, compiles
from runtime.engine.plan.passes.elementwise.fused import LARGE, FusedTask, Limits
from runtime.engine.plan.passes.elementwise.tiles import Fold, in_regions
from runtime.engine.plan.passes.small_products import is_small_product
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus import Value

FEW = 24
"""Operations of one loop, at most: what repeats has few loops that are alike."""

FEWEST = 64
"""Operations of a plan on short arrays, with small products, from which compiling the elementwise
ones is worthwhile.
"""

DIFFERENT = 32
"""Loops that a plan may have: compiling each takes some milliseconds."""


def short(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace regions of short elementwise tasks where there are many that are alike.

    Does nothing without a compiler.
    """
    few = sum(_kind(task) is not None or is_small_product(task) for task in tasks) < FEWEST
    if few or not native.installed():
        return tasks
    found = in_regions(tasks, kept, _kind, _is_worthwhile, ShortTask, _no_fold, most=FEW)
    loops = {task.pattern() for task in found if isinstance(task, ShortTask)}
    return found if len(loops) <= DIFFERENT else tasks


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    return len(tasks) > 1


def _no_fold(task: PlainTask) -> Fold | None:
    return None


def _kind(task: Task) -> Shape | None:
    if not isinstance(task, PlainTask) or not task.operation.elementwise or task.can_fail:
        return None
    shape = task.value.shape
    if not 1 < prod(shape) < LARGE or not compiles(task.value, task.inputs, task.operation):
        return None
    return shape


class ShortTask(FusedTask):
    """A few operations as one loop, or as calls of numpy if its arrays don't consist of rows."""

    @property
    def limits(self) -> Limits:
        """As calls are cheap here, short rows are worth them; several vectors at a time are not
        worth the time to compile them.
        """
        return Limits(2, LARGE, 4)

    def pattern(self) -> Recipe:
        """What it computes, by which equal loops are found before anything is compiled."""
        return self._recipe([Operand(x.dtype, 1) for x in self.inputs], {})

    def without_rows(self, arrays: Arrays) -> list[Step]:
        """One step for each operation."""
        inside = self._scratch(self.tasks[0].value.shape)
        return [step for task in self.tasks for step in task.bind({**inside, **arrays})]
