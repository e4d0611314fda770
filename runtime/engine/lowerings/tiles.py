"""Elementwise regions on large arrays, tile by tile, so that intermediates stay in cache.

A chain of operations on millions of elements moves every intermediate through memory; a tile of
16,384 elements goes through the whole chain while it is warm. Sums over all elements are taken
tile by tile as well: their order of addition, and so their last bits, differ from the plain
plan's. Everything else is equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from runtime.calculus.dtypes import NUMPY
from runtime.engine import threads
from runtime.engine.lowerings.regions import Region, partition, readers_of, results_of
from runtime.engine.task import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value

Array = NDArray[Any]

TILE = 16_384
"""Elements of a tile: with three operands of float32 well inside a second-level cache."""

LARGE = 4 * TILE
"""Elements from which an array is worth cutting up."""

SMALLEST = 3
"""Operations from which a region is worth its loop."""


def tiles(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` large elementwise tasks by one."""
    if sum(_kind(task) is not None for task in tasks) < SMALLEST:
        return tasks
    items = partition(tasks, _kind)
    readers = readers_of(items)
    totals = {
        task.inputs[0]: task for task in items if isinstance(task, PlainTask) and _is_total(task)
    }
    result: list[Task] = []
    absorbed: set[int] = set()
    for item in items:
        if not isinstance(item, Region):
            if id(item) not in absorbed:
                result.append(item)
        elif len(item.tasks) < SMALLEST:
            result += item.tasks
        else:
            plain = [task for task in item.tasks if isinstance(task, PlainTask)]
            sums = [totals[task.value] for task in plain if task.value in totals]
            absorbed |= {id(task) for task in sums}
            for task in sums:
                readers[task.inputs[0]] -= 1
            values = results_of(item, readers, kept)
            result.append(TiledTask(plain, values, sums))
    return result


def _kind(task: Task) -> tuple[int, ...] | None:
    if not isinstance(task, PlainTask) or not task.value.primitive.elementwise:
        return None
    shape = task.value.shape
    if prod(shape) < LARGE or task.can_fail:
        return None
    rank = len(shape)
    cuttable = all(
        x.shape == shape or len(x.shape) < rank or (rank and x.shape[0] == 1) for x in task.inputs
    )
    return shape if cuttable else None


def _is_total(task: PlainTask) -> bool:
    """A sum over all elements of a float array."""
    value = task.value
    return (
        value.primitive.name == "sum"
        and len(value.attributes["axes"]) == len(value.shape)
        and value.dtype in ("float32", "float64")
    )


class TiledTask(Task):
    """A region of elementwise tasks of one shape, and sums over all of some of its values."""

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], totals: Sequence[PlainTask]
    ) -> None:
        self.tasks = tasks
        self.totals = totals
        self.results = values
        self.values = [*values, *(task.value for task in totals)]
        made = {task.value for task in tasks}
        self.inputs = list(dict.fromkeys(x for t in tasks for x in t.inputs if x not in made))

    @property
    def covers(self) -> Sequence[Value]:
        """The values of all its tasks, and the sums."""
        return [task.value for task in (*self.tasks, *self.totals)]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step that goes through the tiles, its calls bound beforehand.

        Several threads take a run of tiles each, with scratch memory of their own; results don't
        depend on how many there are.
        """
        shape = self.tasks[0].value.shape
        whole = {x: _cut(arrays[x], shape) for x in (*self.inputs, *self.results)}
        flat = all(
            _is_scalar(a) or (a.shape == shape and a.flags.c_contiguous) for a in whole.values()
        )
        if flat:
            whole = {x: a if _is_scalar(a) else a.reshape(-1) for x, a in whole.items()}
            shape = (prod(shape),)
        rows = max(1, TILE // max(1, prod(shape[1:])))
        starts = range(0, shape[0], rows)
        partials = {t.value: np.zeros(len(starts), np.float64) for t in self.totals}
        lanes: list[list[Step]] = []
        for number, start in enumerate(starts):
            if number * threads.count() >= len(lanes) * len(starts):
                scratch = self._scratch((min(rows, shape[0]), *shape[1:]))
                calls: list[Step] = []
                lanes.append(calls)
            stop = min(start + rows, shape[0])
            tile = {x: a[start:stop] if _spans(a, shape) else a for x, a in whole.items()}
            tile |= {x: a[: stop - start] for x, a in scratch.items()}
            for task in self.tasks:
                calls += task.bind(tile)
            for task in self.totals:
                calls.append(partial(_add_up, tile[task.inputs[0]], partials[task.value], number))
        totals = [(arrays[task.value], partials[task.value]) for task in self.totals]

        def run() -> None:
            if len(lanes) == 1:
                _go(lanes[0])
            else:
                threads.together([partial(_go, calls) for calls in lanes])
            for out, parts in totals:
                out[...] = parts.sum()

        return [run]

    def _scratch(self, shape: tuple[int, ...]) -> dict[Value, Array]:
        """Tile-sized arrays for the values that stay inside, used again when they are free."""
        last = {x: i for i, task in enumerate(self.tasks) for x in task.inputs}
        held = set(self.results)
        until_end = {task.inputs[0] for task in self.totals}
        free: dict[str, list[Array]] = {}
        found: dict[Value, Array] = {}
        for i, task in enumerate(self.tasks):
            value = task.value
            if value not in held:
                spare = free.setdefault(value.dtype, [])
                found[value] = spare.pop() if spare else np.empty(shape, NUMPY[value.dtype])
            for x in dict.fromkeys(task.inputs):
                if x in found and last[x] == i and x not in until_end:
                    free.setdefault(x.dtype, []).append(found[x])
        return found


def _go(calls: list[Step]) -> None:
    for call in calls:
        call()


def _add_up(x: Array, partials: Array, number: int) -> None:
    partials[number] = x.sum(dtype=x.dtype)


def _cut(array: Array, shape: tuple[int, ...]) -> Array:
    """The array without axes along which it is only repeated."""
    if array.ndim and not any(array.strides) and array.size:
        return as_strided(array, (), ())
    if array.shape == shape and array.strides[0] == 0:
        return array[:1]
    return array


def _is_scalar(array: Array) -> bool:
    return array.ndim == 0


def _spans(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether the first axis is the one that is cut."""
    return array.ndim == len(shape) and array.shape[0] == shape[0]
