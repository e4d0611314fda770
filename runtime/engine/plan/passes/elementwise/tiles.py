"""Runs elementwise regions on large arrays tile by tile, so that intermediates stay in cache.

A chain of operations on millions of elements moves every intermediate through memory; a tile of
65,536 elements goes through the whole chain while it is in cache. Sums over all elements and root
mean squares are computed tile by tile as well: their order of addition, and so their last bits,
differ from the plain plan. Everything else is equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.kernels.transposing import is_transposed
from gradwire.runtime.engine.norms import RMS, SUM_OF_SQUARES, rms, sum_of_squares
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.passes.regions import (
    Region,
    delayed,
    partition,
    readers_of,
    repeated,
    results_of,
    split,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, copying

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


TILE = 1 << 16
"""Elements of a tile: three operands of float32 fit into a second-level cache of 1 MiB. In smaller
ones, fetching the objects of so many calls takes longer than what larger caches take.
"""

LARGE = 1 << 18
"""Elements from which cutting up an array is worthwhile."""

SMALLEST = 3
"""Operations from which a region is worth a loop of its own."""


def tiles(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` large elementwise tasks by one."""
    return in_regions(tasks, kept, _kind, _is_worthwhile, TiledTask)


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    return len(tasks) >= SMALLEST


def in_regions(
    tasks: list[Task],
    kept: Collection[Value],
    kind: Callable[[Task], Hashable | None],
    is_worthwhile: Callable[[Sequence[Task]], bool],
    make: type[TiledTask],
    folding: Callable[[PlainTask], TiledFold | None] | None = None,
    most: int | None = None,
) -> list[Task]:
    """Replace every worthwhile region of tasks of a kind by a task of the type ``make``.

    What ``folding`` finds to be a fold of one of its values, by default one over all elements,
    becomes part of the region. A region of more than ``most`` tasks becomes several.
    """
    folding = folding or fold_of
    if not is_worthwhile([task for task in tasks if kind(task) is not None]):
        return tasks
    items = delayed(partition(tasks, kind), kept)
    divided = items if most is None else split(items, most)
    if make.is_compiled and len(divided) == len(items):  # parts of a region had better stay equal
        divided = repeated(items, kept, is_worthwhile)
    items = divided
    readers = readers_of(items)
    folds: dict[Value, list[TiledFold]] = {}
    for item in items:
        if isinstance(item, PlainTask) and (fold := folding(item)) is not None:
            folds.setdefault(fold.source, []).append(fold)
    result: list[Task] = []
    absorbed: set[Task] = set()
    given: set[Value] = set()  # what a region computes again it does not give again
    for item in items:
        if not isinstance(item, Region):
            if item not in absorbed:
                result.append(item)
        elif not is_worthwhile(item.tasks):
            new = [task for task in item.tasks if given.isdisjoint(task.values)]
            given.update(x for task in new for x in task.values)
            result += new
        else:
            plain = [task for task in item.tasks if isinstance(task, PlainTask)]
            ours = [fold for task in plain for fold in folds.get(task.value, ())]
            absorbed |= {fold.task for fold in ours}
            for fold in ours:
                readers[fold.source] -= 1
            results = [x for x in results_of(item, readers, kept) if x not in given]
            given.update(results)
            result.append(make(plain, results, ours))
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


def fold_of(task: PlainTask) -> TiledFold | None:
    """The fold that a task is: a sum over all elements of a float array, or of their squares, or
    their root mean square; None if it is none of these.
    """
    value, source = task.value, task.inputs[0] if task.inputs else None
    if source is None or source.dtype not in ("float32", "float64"):
        return None
    if value.primitive is RMS:  # squares of float64 may leave its range
        return TiledFold(task) if source.dtype == "float32" else None
    is_sum = value.primitive.name == "sum" and len(value.attributes["axes"]) == len(value.shape)
    return TiledFold(task) if is_sum or value.primitive is SUM_OF_SQUARES else None


class TiledFold:
    """Reduces all elements of a region's value to one number, tile by tile in float64."""

    def __init__(self, task: PlainTask) -> None:
        self.task = task
        self.source = task.inputs[0]
        self.is_mean = task.value.primitive is RMS
        """Whether it is the root mean square."""
        self.squares = self.is_mean or task.value.primitive is SUM_OF_SQUARES
        """Whether squares are added up."""

    def take(self, tile: Array, parts: NDArray[np.float64], number: int) -> None:
        """Store the part of one tile in ``parts``."""
        if self.is_mean:
            parts[number] = rms(tile) ** 2 * tile.size
        elif self.squares:
            parts[number] = sum_of_squares(tile.reshape(-1))
        else:
            parts[number] = tile.sum(dtype=tile.dtype)

    def end(self, arrays: Arrays, parts: NDArray[np.float64]) -> Step:
        """The step that combines all parts into the number."""
        out, size = arrays[self.task.value], self.source.size

        def add_up() -> None:
            out[...] = np.sqrt(parts.sum() / size) if self.is_mean else parts.sum()

        return add_up


class TiledTask(Task):
    """A region of elementwise tasks of one shape, and folds of some of its values."""

    is_compiled = False
    """Whether it is machine code."""

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[TiledFold]
    ) -> None:
        self.tasks = tasks
        self.folds = folds
        self.results = values
        self.values: Sequence[Value] = [*values, *(fold.task.value for fold in folds)]
        made = {task.value for task in tasks}
        self.inputs = list(dict.fromkeys(x for t in tasks for x in t.inputs if x not in made))

    @property
    def owner(self) -> Any:
        """The block to name if the task fails."""
        return self.tasks[0].owner

    def elementwise_parts(self) -> Sequence[Task]:
        """All tasks of the region, if none computes an element from others."""
        return self.tasks if all(t.value.primitive.elementwise for t in self.tasks) else (self,)

    @property
    def covers(self) -> Sequence[Value]:
        """The values of all its tasks, and the folds."""
        return [*(task.value for task in self.tasks), *(fold.task.value for fold in self.folds)]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step that computes tile by tile, with all calls bound beforehand.

        Each thread computes consecutive tiles in scratch memory of its own; results don't depend on
        the number of threads.
        """
        shape = self.tasks[0].value.shape
        copies: list[Step] = []
        whole: dict[Value, Array] = {}
        for x in (*self.inputs, *self.results):
            array = arrays[x]
            if is_transposed(array):
                array = np.empty(x.shape, array.dtype)
                copies.append(copying(arrays[x], array))
            whole[x] = _cut(array, shape)
        flat = all(
            _is_scalar(a) or (a.shape == shape and a.flags.c_contiguous) for a in whole.values()
        )
        if flat:
            whole = {x: a if _is_scalar(a) else a.reshape(-1) for x, a in whole.items()}
            shape = (prod(shape),)
        rows = max(1, TILE // max(1, prod(shape[1:])))
        starts = range(0, shape[0], rows)
        parts = [np.zeros(len(starts)) for _ in self.folds]
        shares: list[list[Step]] = []
        for number, start in enumerate(starts):
            if number * threads.count() >= len(shares) * len(starts):
                scratch = self._scratch((min(rows, shape[0]), *shape[1:]))
                calls: list[Step] = []
                shares.append(calls)
            stop = min(start + rows, shape[0])
            tile = {x: a[start:stop] if _spans(a, shape) else a for x, a in whole.items()}
            tile |= {x: a[: stop - start] for x, a in scratch.items()}
            for task in self.tasks:
                calls += task.bind(tile)
            for fold, part in zip(self.folds, parts, strict=True):
                calls.append(partial(fold.take, tile[fold.source], part, number))
        ends = [fold.end(arrays, part) for fold, part in zip(self.folds, parts, strict=True)]

        def run() -> None:
            if len(shares) == 1:
                _go(shares[0])
            else:
                threads.together([partial(_go, calls) for calls in shares])
            for end in ends:
                end()

        return [*copies, run]

    def _scratch(self, shape: tuple[int, ...]) -> dict[Value, Array]:
        """Tile-sized arrays for values that don't leave the region, reused once they are free."""
        last = {x: i for i, task in enumerate(self.tasks) for x in task.inputs}
        kept = set(self.results)
        until_end = {fold.source for fold in self.folds}
        free: dict[str, list[Array]] = {}
        found: dict[Value, Array] = {}
        for i, task in enumerate(self.tasks):
            value = task.value
            dying = [x for x in dict.fromkeys(task.inputs) if x in found and last[x] == i]
            dying = [x for x in dying if x not in until_end]
            heirs = [x for x in dying if task.in_place and x.dtype == value.dtype]
            if value not in kept and heirs:
                found[value] = found[heirs[0]]
                dying.remove(heirs[0])
            elif value not in kept:
                spare = free.setdefault(value.dtype, [])
                found[value] = spare.pop() if spare else np.empty(shape, NUMPY[value.dtype])
            for x in dying:
                free.setdefault(x.dtype, []).append(found[x])
        return found


def _go(calls: list[Step]) -> None:
    for call in calls:
        call()


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
