"""Compiles regions with reductions of rows, such as norms of layers and softmaxes of masked scores.

Each row goes through all of the region while it is in the first-level cache: the sum of its
elements, what is computed with that, the largest of the results, and so on. Arithmetic is equal bit
for bit to that of the plain plan; sums of rows are added in float64, functions have the error
bounds of ``runtime.engine.plan.native.functions``, and a softmax is within 8 units in the last
place, or 0 where it is no normal number.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runtime.calculus.kernels.transposing import copy_transposed, is_transposed
from runtime.calculus.primitives.base import BROADCAST
from runtime.engine.plan import native, threads
from runtime.engine.plan.native import Operand, Operation, address, compiles
from runtime.engine.plan.native.row_loops import RowRecipe, compiled_rows
from runtime.engine.plan.passes.elementwise.tiles import TiledTask, in_regions
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 12
"""Elements from which one call of machine code is faster than one call for each operation."""

SHORTEST = 32
"""Elements of a row from which the vectorised loop is faster."""

LONGEST = 1 << 12
"""Elements up to which some rows fit into the first-level cache."""

_FOLDS = frozenset({"sum", "max", "min", "any", "all"})


def rowwise(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region with a reduction along the last axis by one task, if a compiler is
    installed.
    """
    if not _kinds(tasks) or not native.installed():
        return tasks
    tasks = _narrowed(tasks, kept)
    return in_regions(tasks, kept, _kinds(tasks).get, _is_worthwhile, RowwiseTask)


def _kinds(tasks: Sequence[Task]) -> dict[Task, Hashable]:
    """The kinds of the tasks that a region may consist of; none if no task is a reduction."""
    kinds: dict[Task, Hashable] = {}
    of_value: dict[Value, Hashable] = {}
    for task in tasks:
        if isinstance(task, PlainTask) and (kind := _kind(task, of_value)) is not None:
            kinds[task] = of_value[task.value] = kind
    return kinds if any(map(_is_reduction, kinds)) else {}


def _narrowed(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The tasks with one element of a row where it is repeated, if the arithmetic repeats it."""
    sources = {
        task.value: task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask)
        and task.value.primitive is BROADCAST
        and task.inputs[0].shape == (*task.value.shape[:-1], 1)
    }
    found: list[Task] = []
    for task in tasks:
        if isinstance(task, PlainTask) and task.value.primitive.elementwise:
            inputs = [sources.get(x, x) for x in task.inputs]
            narrowed = any(x in sources for x in task.inputs)
            if narrowed and any(x.shape == task.value.shape for x in inputs):
                task = PlainTask(task.value, inputs)
        found.append(task)
    read = {x for task in found for x in task.inputs}
    unread = sources.keys() - read - set(kept)
    return [task for task in found if task.values[0] not in unread]


def _is_reduction(task: Task) -> bool:
    return task.values[0].primitive.name in _FOLDS | {"softmax"}


def _is_worthwhile(tasks: Sequence[Task]) -> bool:
    return any(map(_is_reduction, tasks))


def _kind(task: PlainTask, known: dict[Value, Hashable]) -> Hashable | None:
    """The shape of the rows that a task reads or writes; of one element in each row, that of the
    rows that it comes from.
    """
    value = task.value
    if _is_reduction(task):
        return task.inputs[0].shape if _reduces(task) and _fits(task.inputs[0].shape) else None
    if not value.primitive.elementwise or task.can_fail or not compiles(value, task.inputs):
        return None
    if value.shape and value.shape[-1] == 1:
        return next((known[x] for x in task.inputs if x in known and x.shape == value.shape), None)
    return value.shape if _fits(value.shape) else None


def _reduces(task: PlainTask) -> bool:
    """Whether a reduction or softmax is along the last axis, and of a dtype for which there is
    code.
    """
    value, source = task.value, task.inputs[0]
    last = len(source.shape) - 1
    if value.primitive.name == "softmax":
        return value.attributes["axis"] == last and value.dtype == "float32"
    dtypes = ("bool",) if value.primitive.name in ("any", "all") else ("float32", "float64")
    return value.attributes["axes"] == (last,) and source.dtype in dtypes


def _fits(shape: Shape) -> bool:
    return len(shape) > 1 and SHORTEST <= shape[-1] <= LONGEST and prod(shape) >= LARGE


class RowwiseTask(TiledTask):
    """A region of rows of one shape, and folds of some of its values."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step. Threads share the rows; results don't depend on the number of threads."""
        shape = self._shape
        steps, whole = self._straightened(arrays)
        lengths, strides = _merged(whole, shape[:-1])
        rows = lengths[-1]
        places = list(np.ndindex(*lengths[:-1]))
        parts = [np.zeros((len(places), rows)) for _ in self.folds]
        frames = np.array(
            [
                [
                    (address(x) + sum(at * s for at, s in zip(place, away, strict=False)), away[-1])
                    for x, away in zip(whole, strides, strict=True)
                ]
                + [(address(part[number]), part.itemsize) for part in parts]
                for number, place in enumerate(places)
            ]
        )
        call = compiled_rows(self._recipe([x.strides[-1] > 0 for x in whole])).call
        ends = [fold.end(arrays, part) for fold, part in zip(self.folds, parts, strict=True)]
        addresses = [address(frame) for frame in frames]
        kept = whole, parts, frames  # alive, since only their addresses are used

        def share(start: int, stop: int) -> None:
            for frame in addresses:
                call(frame, 0, start, stop)

        def run(_kept: object = kept) -> None:
            threads.divided(share, rows, prod(shape))
            for end in ends:
                end()

        return [*steps, run]

    @property
    def _shape(self) -> Shape:
        """That of the rows."""
        return max((x.shape for t in self.tasks for x in (t.value, *t.inputs)), key=prod)

    def _straightened(self, arrays: Arrays) -> tuple[list[Step], list[Array]]:
        """Inputs and results in the shape of the rows, with copies of what has gaps in rows, and
        the steps that make these.
        """
        steps: list[Step] = []
        found: list[Array] = []
        for x in (*self.inputs, *self.results):
            array = arrays[x]
            if is_transposed(array) or (array.ndim and array.strides[-1] not in (0, array.itemsize)
                                        and array.shape[-1] > 1):  # fmt: skip
                copy = np.empty(array.shape, array.dtype)
                steps.append(_copying(array, copy))
                array = copy
            found.append(np.broadcast_to(array, self._shape))
        return steps, found

    def _recipe(self, spread: Sequence[bool]) -> RowRecipe:
        columns = self._shape[-1]
        operands = [Operand(x.dtype, s) for x, s in zip(self.inputs, spread, strict=False)]
        numbers = {x: i for i, x in enumerate(self.inputs)}
        operations: list[Operation] = []
        wide: list[bool] = []

        def put(name: str, dtype: str, *inputs: int, is_wide: bool, attributes: Any = ()) -> int:
            operations.append(Operation(name, dtype, inputs, attributes))
            wide.append(is_wide)
            return len(operands) + len(operations) - 1

        for task in self.tasks:
            value, inputs = task.value, [numbers[x] for x in task.inputs]
            name, dtype = value.primitive.name, value.dtype
            if name == "softmax":
                top = put("top", dtype, *inputs, is_wide=False)
                away = put("subtract", dtype, *inputs, top, is_wide=True)
                power = put("decay", dtype, away, is_wide=True)
                total = put("sum", dtype, power, is_wide=False)
                share = put("reciprocal", dtype, total, is_wide=False)
                numbers[value] = put("multiply", dtype, power, share, is_wide=True)
            elif name in _FOLDS:
                numbers[value] = put(name, dtype, *inputs, is_wide=False)
            else:
                is_wide = value.shape[-1] == columns
                attributes = tuple(value.attributes.items())
                numbers[value] = put(name, dtype, *inputs, is_wide=is_wide, attributes=attributes)
        totals = []
        for fold in self.folds:
            source, is_row = numbers[fold.source], fold.source.shape[-1] != columns
            if is_row:
                source = put("cast", "float64", source, is_wide=False)
                name, inputs = ("square", [source]) if fold.squares else ("cast", [source])
            else:
                name, inputs = "squares" if fold.squares else "sum", [source]
            totals.append(put(name, "float64", *inputs, is_wide=False))
        results = tuple(numbers[x] for x in self.results)
        return RowRecipe(
            columns, tuple(operands), tuple(operations), tuple(wide), results, tuple(totals)
        )


def _copying(array: Array, copy: Array) -> Step:
    if is_transposed(array):
        return lambda: copy_transposed(array, copy)
    return lambda: np.copyto(copy, array)


def _merged(arrays: Sequence[Array], shape: Shape) -> tuple[list[int], list[list[int]]]:
    """The fewest lengths that axes of this shape can be merged to, and the bytes along each, by
    array.
    """
    lengths = [1]
    strides: list[tuple[int, ...]] = [(0,) * len(arrays)]
    for axis, length in enumerate(shape):
        step = tuple(array.strides[axis] for array in arrays)
        if length == 1:
            continue
        if lengths[-1] == 1:
            lengths[-1], strides[-1] = length, step
        elif strides[-1] == tuple(s * length for s in step):
            lengths[-1] *= length
            strides[-1] = step
        else:
            lengths.append(length)
            strides.append(step)
    return lengths, [list(each) for each in zip(*strides, strict=True)]
