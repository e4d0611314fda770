"""Compiles regions with reductions along an axis that is not the last, such as a softmax over the
classes of each point of an image.

Some columns at a time go through all of the region, level by level of that axis. Results have the
bounds of ``rowwise``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from numpy.lib.stride_tricks import as_strided

from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX
from gradwire.runtime.engine.compiler.regions import MemoryPlace
from gradwire.runtime.engine.plan.passes.elementwise.rows import (
    BY_PART,
    FOLDS,
    Layout,
    kinds_of,
    lies,
    merged,
    sheets_of,
)
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.passes.elementwise.tiles import in_regions
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, Step


LARGE = 1 << 12
"""Elements from which one call of machine code is faster than one call for each operation."""

SHORTEST = 16
"""Elements behind the axis from which vectors across it are full."""

FEWEST, MOST = 64, 512
"""Columns of a block."""

SLOW = 1 << 8
"""Elements from which machine code is faster for a softmax or its like."""

MANY, FEWEST_OF_MANY = 16, 1 << 4
"""Softmaxes and their like in a plan from which they are compiled even if they are smaller."""

_SHIFTED = frozenset({SOFTMAX, LOG_SOFTMAX, LOGSUMEXP})


def columnwise(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region with a reduction along such an axis, of which something follows, by one
    task.
    """
    axes = _axes(tasks)
    if not axes:
        return tasks

    def reduced(task: PlainTask) -> Shape | None:
        axis = axis_reduced(task)
        if axis is None:
            return None
        shape = task.inputs[0].shape
        return shape if axes.get(shape) == axis else ()

    kinds = kinds_of(tasks, reduced, axes.__contains__)
    return in_regions(tasks, kept, kinds.get, _is_worthwhile, ColumnwiseTask, lambda task: None)


def _axes(tasks: Sequence[Task]) -> dict[Shape, int]:
    """The axis that is reduced, by the shape of what is."""
    found: dict[Shape, int] = {}
    reduced = [(task, axis) for task in tasks if (axis := axis_reduced(task)) is not None]
    shifted = sum(task.values[0].primitive in _SHIFTED for task, _ in reduced)
    fewest = SLOW if shifted < MANY else FEWEST_OF_MANY
    for task, axis in reduced:
        shape = task.inputs[0].shape
        is_large = prod(shape[axis + 1 :]) >= SHORTEST and prod(shape) >= LARGE
        is_slow = task.values[0].primitive in _SHIFTED and prod(shape) >= fewest
        if shape[axis] > 1 and (is_large or is_slow):
            found.setdefault(shape, axis)
    return found


def axis_reduced(task: Task) -> int | None:
    """The only axis that a task reduces or normalises, for which there is code; None if that is the
    last.
    """
    if not isinstance(task, PlainTask) or not task.inputs:
        return None
    value, source = task.value, task.inputs[0]
    if value.primitive in (SOFTMAX, LOG_SOFTMAX):
        axis: int = value.attributes["axis"]
    elif value.primitive.name in FOLDS or value.primitive is LOGSUMEXP:
        if len(value.attributes["axes"]) != 1:
            return None
        (axis,) = value.attributes["axes"]
    else:
        return None
    dtypes = ("bool",) if value.primitive.name in ("any", "all") else ("float32", "float64")
    dtypes = ("float32",) if value.primitive in _SHIFTED else dtypes
    return axis if axis < len(source.shape) - 1 and source.dtype in dtypes else None


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    """Whether there is a softmax or its like, or a reduction of which the region reads something;
    for others there are faster loops.
    """
    if any(task.values[0].primitive in _SHIFTED for task in tasks):
        return True
    read = {x for task in tasks for x in task.inputs}
    return any(task.values[0] in read for task in tasks if axis_reduced(task) is not None)


class ColumnwiseTask(RowwiseTask):
    """A region of columns of one shape."""

    @cached_property
    def axis(self) -> int:
        """The axis that is reduced."""
        return next(axis for t in self.tasks if (axis := axis_reduced(t)) is not None)

    @cached_property
    def blocks(self) -> int:
        """Blocks of as many columns, which threads share; one where no number divides them."""
        length = prod(self.shape[self.axis + 1 :])
        some = (n for n in range(MOST, FEWEST - 1, -1) if length % n == 0)
        return length // next(some, length) if length > MOST else 1

    @property
    def lead(self) -> Shape:
        """The axes before it, and blocks of columns."""
        return (*self.shape[: self.axis], self.blocks)

    def straight(self, arrays: Arrays) -> tuple[list[Step], list[Array]]:
        """As of rows, but (…, blocks, levels, columns)."""
        steps, whole = super().straight(arrays)
        return steps, [_cut(x, self.axis, self.blocks) for x in whole]

    @property
    def behind(self) -> int:
        """The axes behind the one that is reduced."""
        return len(self.shape) - self.axis - 1

    def has_gaps(self, given: Array, whole: Array) -> bool:
        """Whether elements along these axes lie apart."""
        return lies(whole, self.behind) in (None, BY_PART)

    def layout(self, whole: Sequence[Array]) -> Layout:
        """Of (…, blocks, levels, columns)."""
        levels, columns = whole[0].shape[-2:]
        places = [
            MemoryPlace(i, int(x.strides[-1] > 0), depth=x.strides[-2] // x.itemsize)
            for i, x in enumerate(whole)
        ]
        sheets = sheets_of(*merged(whole, self.lead), whole, prod(self.lead))
        return Layout(sheets, places, columns, levels, across=True)


def _cut(x: Array, axis: int, blocks: int) -> Array:
    """A view of blocks of columns: (…, blocks, levels, columns)."""
    step = x.itemsize if any(x.strides[axis + 1 :]) else 0
    columns = prod(x.shape[axis + 1 :]) // blocks
    return as_strided(
        x,
        (*x.shape[:axis], blocks, x.shape[axis], columns),
        (*x.strides[:axis], columns * step, x.strides[axis], step),
        writeable=False,
    )
