"""Elementwise regions on large arrays as one loop of machine code: the ``fast`` extra.

Every element is read once, goes through the whole region in registers, and is written once.
Arithmetic and comparisons are equal bit for bit to the plain plan's; functions such as exp and
tanh of float32 have the bounds that ``runtime.engine.plan.native.functions`` states; sums over all
elements, and root mean squares, are added up in float64. Compiling takes about a millisecond an
operation, once for all regions alike, and is worth it from the first call on at this size.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.engine.plan import native, threads
from runtime.engine.plan.native import Kernel, Operand, Operation, Recipe, compiled, known
from runtime.engine.plan.passes.tiles import TiledTask, in_regions
from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 16
"""Elements from which a region is worth compiling."""

SMALLEST = 2
"""Operations from which it is."""

COLUMNS = 1 << 14
"""Elements of a row where a region has no rows of its own."""

SHORTEST = 64
"""Elements under which a row is too short for the loop."""


def fused(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` large elementwise tasks by one.

    Without a compiler all stays as it is.
    """
    if all(_kind(task) is None for task in tasks) or not native.installed():
        return tasks
    return in_regions(tasks, kept, _kind, SMALLEST, FusedTask)


def _kind(task: Task) -> Shape | None:
    if not isinstance(task, PlainTask) or not task.value.primitive.elementwise:
        return None
    value = task.value
    fits = value.size >= LARGE and not task.can_fail and known(value, task.inputs)
    return value.shape if fits else None


class Sheet(NamedTuple):
    """A region's arrays as rows, all of ``columns`` elements but for one of ``last`` at the end.

    ``steps`` are, for each array, the bytes from row to row and from element to element.
    """

    rows: int
    columns: int
    last: int
    steps: list[tuple[int, int]]


class FusedTask(TiledTask):
    """A region as one loop; by tiles where its arrays don't lie in rows."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, its rows divided among threads; results don't depend on how many there are."""
        shape = self.tasks[0].value.shape
        whole = [np.broadcast_to(arrays[x], shape) for x in (*self.inputs, *self.results)]
        sheet = _sheet(whole)
        if sheet is None:
            return super().bind(arrays)
        rows = sheet.rows + (sheet.last > 0)
        parts = [np.zeros(rows) for _ in self.folds]
        frame = np.array(
            [(_place(a), step) for a, (step, _) in zip(whole, sheet.steps, strict=True)]
            + [(_place(a), a.itemsize) for a in parts]
        )
        kernel = compiled(self._recipe([inner > 0 for _, inner in sheet.steps]))
        ends = [fold.end(arrays, part) for fold, part in zip(self.folds, parts, strict=True)]
        lanes = _lanes(kernel, frame, sheet)
        held = whole, parts  # by the addresses in the frame

        def run(_held: object = held) -> None:
            if len(lanes) == 1:
                lanes[0]()
            else:
                threads.together(lanes)
            for end in ends:
                end()

        return [run]

    def _recipe(self, spread: Sequence[bool]) -> Recipe:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        return Recipe(
            tuple(Operand(x.dtype, s) for x, s in zip(self.inputs, spread, strict=False)),
            tuple(
                Operation(
                    task.value.primitive.name,
                    task.value.dtype,
                    tuple(numbers[x] for x in task.inputs),
                    tuple(task.value.attributes.items()),
                )
                for task in self.tasks
            ),
            tuple(numbers[x] for x in self.results),
            tuple((numbers[f.source], "squares" if f.squares else "sum") for f in self.folds),
        )


def _sheet(arrays: Sequence[Array]) -> Sheet | None:
    """Arrays of one shape as rows without gaps, or None where they don't lie so."""
    lengths: list[int] = []
    steps: list[tuple[int, ...]] = []
    for axis, length in enumerate(arrays[0].shape):
        if length == 1:
            continue
        step = tuple(array.strides[axis] for array in arrays)
        if lengths and steps[-1] == tuple(s * length for s in step):
            lengths[-1] *= length
            steps[-1] = step
        else:
            lengths.append(length)
            steps.append(step)
    if not lengths or len(lengths) > 2:
        return None
    if any(step not in (0, a.itemsize) for step, a in zip(steps[-1], arrays, strict=True)):
        return None
    if len(lengths) == 1:
        rows, last = divmod(lengths[0], COLUMNS)
        outer = tuple(step * COLUMNS for step in steps[0])
        return Sheet(rows, COLUMNS, last, list(zip(outer, steps[0], strict=True)))
    if lengths[1] < SHORTEST:
        return None
    return Sheet(lengths[0], lengths[1], 0, list(zip(*steps, strict=True)))


def _lanes(kernel: Kernel, frame: NDArray[np.int64], sheet: Sheet) -> list[Step]:
    """Runs of rows for as many threads as there may be; the short row goes with the last."""

    def rows(start: int, stop: int, last: bool) -> Step:
        def run() -> None:
            if start < stop:
                kernel.call(frame.ctypes.data, sheet.columns, start, stop)
            if last and sheet.last:
                kernel.call(frame.ctypes.data, sheet.last, stop, stop + 1)

        return run

    most = sheet.rows * sheet.columns // threads.EACH
    count = max(1, min(threads.count(), sheet.rows, most))
    cuts = [sheet.rows * i // count for i in range(count + 1)]
    return [rows(cuts[i], cuts[i + 1], i + 1 == count) for i in range(count)]


def _place(array: Array) -> int:
    """The address of its first element."""
    place: int = array.__array_interface__["data"][0]
    return place
