"""Compiles regions whose last axis is short, such as the three coordinates of a point.

A loop along such an axis would be over before it is fast. Each component becomes a value of its
own, and the loop goes along the axis before; sums over the short axis, and over the two before it,
become part of it. Components are added in the order of numpy, so that such a sum has equal bits;
for other sums, see ``rowwise``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
from gradwire.runtime.engine.plan.native import native_name
from gradwire.runtime.engine.plan.passes.elementwise.rows import (
    ColumnSum,
    Exponents,
    Program,
    attributes_of,
    kinds_of,
    narrowed,
)
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, fold_of, in_regions
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, copying

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.passes.elementwise.rows import Layout


LARGE = 1 << 10
"""Elements from which one call of machine code is faster than one call for each operation."""

MOST = 31
"""Components up to which the loop is faster than one for each row."""

NEAR = 8
"""Components of arrays of all elements up to which that is so: more lie too far apart, and take
seconds to compile. It does not matter of differences of pairs, which come from few points.
"""

MANY = 8
"""Rows for which an input counts from which copying it takes no time beside reading it."""

TURNED = 1 << 14
"""Elements from which such a copy is worth a call."""

_LANES = 8
"""Sums that numpy adds the elements of a row to in turns."""

SHORTEST = 8
"""Columns from which the vectorised loop is faster."""


def components(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace regions with a short last axis that is summed, or along which arrays are repeated."""
    if not any(map(_needs_components, tasks)):
        return tasks
    tasks = narrowed(tasks, kept)
    kinds = kinds_of(tasks, _summed, _fits)
    return in_regions(tasks, kept, kinds.get, _is_worthwhile, ComponentsTask, _folding)


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    return any(map(_needs_components, tasks))


def _needs_components(task: Task) -> bool:
    """Whether a task sums over a short axis, or repeats operands along some axis."""
    if not isinstance(task, PlainTask) or not task.inputs:
        return False
    if _is_sum(task):
        shape = task.inputs[0].shape
        return _fits(shape) and shape[-1] <= NEAR
    shape = task.value.shape
    if not task.value.primitive.elementwise or not _fits(shape):
        return False
    if shape[-1] > NEAR:
        return all(_is_few(x, shape) for x in task.inputs)
    return any(1 < x.size < prod(shape) for x in task.inputs)


def _is_few(x: Value, shape: Shape) -> bool:
    """Whether a value has far fewer elements than there are, or one for all components."""
    return x.shape[-1:] in ((), (1,)) or MANY * x.size <= prod(shape)


def _is_sum(task: PlainTask) -> bool:
    value, source = task.value, task.inputs[0]
    if value.primitive.name != "sum" or source.dtype not in ("float32", "float64"):
        return False
    return bool(value.attributes["axes"] == (len(source.shape) - 1,))


def _summed(task: PlainTask) -> Shape | None:
    if not task.inputs or not _is_sum(task):
        return None
    return task.inputs[0].shape if _fits(task.inputs[0].shape) else ()


def _fits(shape: Shape) -> bool:
    return (
        len(shape) > 1
        and 1 < shape[-1] <= MOST
        and shape[-2] >= SHORTEST
        and prod(shape) >= LARGE
        and prod(shape[:-3]) * LARGE <= prod(shape)
    )


def _side_by_side(x: Array) -> Array:
    """Memory like that of ``x``, in which columns lie side by side, and components apart."""
    turned: Array = np.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return turned.swapaxes(-1, -2)


class RowSum(TiledFold):
    """The sum of each row, component by component."""


def _folding(task: PlainTask) -> TiledFold | None:
    """A fold over all elements, over all rows, or over each row of components."""
    value = task.value
    rank = len(value.shape)
    is_sum = value.primitive.name == "sum" and rank > 2 and value.shape[-1] > 1
    if is_sum and task.inputs[0].dtype in ("float32", "float64"):
        if value.attributes["axes"] == (rank - 2,):
            return RowSum(task)
        if value.attributes["axes"] == tuple(range(rank - 2)):
            return ColumnSum(task, 2)
    return fold_of(task)


def _sum(add: Callable[[int, int], int], parts: Sequence[int]) -> int:
    """The sum of components in the order of numpy: fewer than 8 one after another, else in 8 sums
    of which neighbours are added, and then what is left one after another.
    """
    whole = len(parts) // _LANES * _LANES
    sums, rest = list(parts[:_LANES]), parts[whole:]
    if not whole:
        return reduce(add, parts)
    for i, part in enumerate(parts[_LANES:whole]):
        sums[i % _LANES] = add(sums[i % _LANES], part)
    while len(sums) > 1:
        sums = [add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return reduce(add, rest, sums[0])


class ComponentsTask(RowwiseTask):
    """A region of components of rows, and folds of some of its values."""

    axes = 2
    """Of a row, the last one of which is its components."""

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[TiledFold]
    ) -> None:
        super().__init__(tasks, values, folds)
        self.width = self.shape[-1]

    def straight(self, arrays: Arrays) -> tuple[list[Step], list[Array]]:
        """Inputs, results, and sums of rows, in the shape of the rows or with one component. What
        counts for many rows is copied so that each component lies side by side.
        """
        rows = [fold.task.value for fold in self.folds if isinstance(fold, RowSum)]
        steps: list[Step] = []
        turned: dict[Value, Array] = {}
        for x in self.inputs:
            if self._counts_for_many(x, arrays[x]):
                turned[x] = _side_by_side(arrays[x])
                steps.append(copying(arrays[x], turned[x]))
        found = []
        for x in (*self.inputs, *self.results, *rows):
            last = x.shape[-1] if x.shape else 1
            found.append(np.broadcast_to(turned.get(x, arrays[x]), (*self.shape[:-1], last)))
        return steps, found

    def _counts_for_many(self, x: Value, array: Array) -> bool:
        """Whether an input has several components, which lie apart, and counts for many rows."""
        if len(x.shape) < 2 or x.shape[-1] == 1 or x.shape[-2] == 1:
            return False
        lies_apart = array.strides[-2] != array.itemsize
        return lies_apart and prod(self.shape) >= max(TURNED, MANY * x.size)

    def layout(self, whole: Sequence[Array]) -> Layout:
        """Sheets of rows, of which each has columns of components."""
        return super().layout(whole)._replace(columns=self.shape[-2], lines=1)

    def recipe(self, whole: Sequence[Array], layout: Layout, exponents: Exponents) -> Recipe:
        """Each value of the region is as many as it has components."""
        program = Program()
        numbers: dict[Value, list[int]] = {}
        places = [
            [
                MemoryPlace(i, x.strides[-2] // x.itemsize, c * x.strides[-1] // x.itemsize)
                for c in range(x.shape[-1])
            ]
            for i, x in enumerate(whole)
        ]
        for x, some in zip(self.inputs, places, strict=False):
            numbers[x] = [program.read(x.dtype, place) for place in some]
        for task in self.tasks:
            numbers[task.value] = self._components(program, task, numbers, exponents)
        added = [i for f in self.folds if isinstance(f, ColumnSum) for i in numbers[f.source]]
        totals = []
        results = [
            each
            for x, some in zip(self.results, places[len(self.inputs) :], strict=False)
            for each in zip(numbers[x], some, strict=True)
        ]
        rows = iter(places[len(self.inputs) + len(self.results) :])
        for fold in self.folds:
            parts, dtype = numbers[fold.source], fold.source.dtype
            if isinstance(fold, RowSum):
                sums = [program.put("sum", dtype, i, is_wide=False) for i in parts]
                results += zip(sums, next(rows), strict=True)
            elif not isinstance(fold, ColumnSum):
                totals.append(self._total(program, parts, fold))
        return program.recipe(layout.columns, tuple(results), tuple(totals), tuple(added))

    def _components(
        self,
        program: Program,
        task: PlainTask,
        numbers: dict[Value, list[int]],
        exponents: Exponents,
    ) -> list[int]:
        value = task.value
        name, dtype = native_name(value.primitive), value.dtype
        given = [numbers[x] for x in task.inputs]
        if name == "sum":
            return [_sum(partial(program.put, "add", dtype, is_wide=True), given[0])]
        attributes = attributes_of(value, exponents)
        return [
            program.put(name, dtype, *(some[c % len(some)] for some in given), is_wide=True,
                        attributes=attributes)
            for c in range(value.shape[-1])
        ]  # fmt: skip

    def _total(self, program: Program, parts: Sequence[int], fold: TiledFold) -> int:
        """The sum of a row with all its components."""
        found = [program.total(part, fold.squares, is_wide=True) for part in parts]
        total = found[0]
        for part in found[1:]:
            total = program.put("add", "float64", total, part, is_wide=False)
        return total
