"""Compiles regions with reductions of rows, such as norms of layers and softmaxes of masked scores,
and of columns, such as a softmax over the classes of each point of an image.

Regions are loops of machine code over rows, with results in memory that may be the caller's. Each
row goes through all of the region while it is in the first-level cache: the sum of its elements,
what is computed with that, the largest of the results, and so on. Arithmetic is equal bit for bit
to that of the plain plan; sums of rows are added in float64, functions have the error
bounds of ``gradwire.runtime.engine.plan.native.functions``, and a softmax is within 8 units in the
last place, or 0 where it is less than e⁻⁸⁷; its logarithm within 3 of the larger one of it and
the difference from the largest element.

A row may have several axes, such as those of an image or of a group of channels; some arrays have
one element for each place of the first of them, as a weight of each channel.

The gradient of a cross-entropy with one class for each row is 0 but in one column: that column is
compared with the class, and nothing is written out.

Of a reduction along an axis that is not the last, some columns at a time go through all of the
region, level by level of that axis.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.kernels.transposing import is_transposed
from gradwire.runtime.calculus.primitives.elementwise import EXP
from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG
from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX, SUM
from gradwire.runtime.engine.compiler.regions import MemoryPlace, compiled_region, scratch_bytes
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.native import address, native_name
from gradwire.runtime.engine.plan.passes.elementwise.rows import (
    BY_PART,
    FOLDS,
    MOST,
    OF_POWERS,
    ColumnSum,
    Exponents,
    Layout,
    PartSum,
    Program,
    add_columns,
    attributes_of,
    axes_reduced,
    axis_reduced,
    count_from_0,
    folding,
    for_exponents,
    indices_of,
    is_alone,
    is_reduction,
    is_share,
    is_slow_if_short,
    kinds_of,
    length_of,
    lies,
    merged,
    narrowed,
    reduces,
    repeated_along,
    row_axes,
    shared,
    sheets_of,
)
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, TiledTask, in_regions
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, copying

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.regions import Recipe
    from gradwire.runtime.engine.plan.tasks import FreshMemory


def laid_over(arrays: Arrays, others: dict[Value, Array]) -> Arrays:
    """Arrays, some of them replaced, without a copy of what may be those of a whole plan."""
    if not others:
        return arrays
    return ChainMap(others, cast("dict[Value, Array]", arrays))  # it is only read


class Given:
    """Some results of a task, each with the memory that it is given away in."""

    def __init__(self, memory: Mapping[Value, FreshMemory]) -> None:
        self._memory = memory
        self._like = {x: allocate(x, x.shape, NUMPY[x.dtype]) for x in memory}

    def among(self, arrays: Arrays) -> Arrays:
        """All arrays, with one that lies as each of the results will."""
        return laid_over(arrays, self._like)

    def writing(
        self,
        job: Step,
        frames: NDArray[np.int64],
        order: Sequence[Value],
        before: Sequence[Step],
        after: Sequence[Step],
    ) -> Step:
        """The step that does a job, and others before and after it, with the results in new memory
        each time: in frames (sheets, arrays, 2), whose arrays have this order.
        """
        numbers = {x: i for i, x in enumerate(order)}
        placed = [(memory, frames[:, numbers[x], 0]) for x, memory in self._memory.items()]
        known = [address(array) for array in self._like.values()]
        if not (placed or before or after):
            return job

        def run() -> None:
            new = [memory.renew() for memory, _ in placed]
            for i, (out, (_, places)) in enumerate(zip(new, placed, strict=True)):
                there = address(out)
                if there != known[i]:
                    places += there - known[i]
                    known[i] = there
            for step in (*before, job):
                step()
            for out, (memory, _) in zip(new, placed, strict=True):
                memory.keep(out)
            for step in after:
                step()

        return run


class LoopTask(TiledTask):
    """A region of rows of one shape, and folds of some of its values."""

    is_compiled = True
    width = 1
    """Elements of a column in a row."""
    given = Given({})

    def __init__(
        self, tasks: Sequence[PlainTask], values: Sequence[Value], folds: Sequence[TiledFold]
    ) -> None:
        super().__init__(tasks, values, folds)
        self.givable = values  # machine code may read one again that it has given away

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """This task; the values in this memory are no longer among its own."""
        if memory:
            self.given = Given(memory)
            self.values = [x for x in self.values if x not in memory]
        return self

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step. Threads share the rows; results don't depend on the number of threads."""
        steps, arrays = self._indexed(self.given.among(arrays))
        more, whole, layout, back = self.laid_out(arrays)
        sheets = layout.sheets
        sums = [fold for fold in self.folds if isinstance(fold, ColumnSum)]
        totals = [f for f in self.folds if isinstance(f, PartSum) or type(f) is TiledFold]
        rows = max(sheet.rows for sheet in sheets)
        parts = [
            np.zeros((len(sheets), rows, fold.parts if isinstance(fold, PartSum) else 1))
            for fold in totals
        ]
        added = [
            np.zeros((len(sheets), layout.columns * layout.lines), fold.source.dtype)
            for fold in sums
            for _ in range(self.width)
        ]
        frames = np.array(
            [
                [*sheet.places]
                + [(address(part[number]), part.strides[1]) for part in parts]
                + [(address(row[number]), 0) for row in added]
                for number, sheet in enumerate(sheets)
            ]
        )
        ends = [
            fold.adding(arrays, [x[: sheet.rows] for x, sheet in zip(part, sheets, strict=True)])
            if isinstance(fold, PartSum)
            else fold.end(arrays, part)
            for fold, part in zip(totals, parts, strict=True)
        ]
        for number, fold in enumerate(sums):
            some = added[number * self.width : (number + 1) * self.width]
            ends.append(partial(add_columns, some, arrays[fold.task.value]))
        work = prod(self.shape)

        def job_for(exponents: Exponents) -> Job:
            recipe = self.recipe(whole, layout, exponents)
            room, places = scratch_bytes(recipe), [address(frame) for frame in frames]
            kernel = compiled_region(recipe)
            calls = shared(kernel, sheets, places, by_sheets=bool(sums), work=work, room=room)
            # Only the addresses of these are used.
            return Job(calls, work, room, kept=(whole, parts, frames, layout))

        job = for_exponents(self.tasks, self.inputs, arrays, job_for)
        clear = [partial(row.fill, 0) for row in added]
        ends += back
        return [*steps, *more, self.given.writing(job, frames, self.order, clear, ends)]

    def laid_out(self, arrays: Arrays) -> tuple[list[Step], list[Array], Layout, list[Step]]:
        """Inputs and results in the shape of the rows, some of them in other memory so that they
        lie suitably; how they lie then; the steps that copy inputs there, and results back.
        """
        raise NotImplementedError  # every kind of regions has its own

    def recipe(self, whole: Sequence[Array], layout: Layout, exponents: Exponents) -> Recipe:
        """What is computed of these arrays, of inputs and then of results."""
        program, numbers = self._program(whole, layout.places, exponents)
        added = tuple(numbers[f.source] for f in self.folds if isinstance(f, ColumnSum))
        rest = [fold for fold in self.folds if not isinstance(fold, ColumnSum)]
        totals = [
            program.total(numbers[f.source], f.squares, f.source.shape == self.shape) for f in rest
        ]
        by_part = [
            i for i, f in zip(totals, rest, strict=True) if isinstance(f, PartSum) and f.by_part
        ]
        written = [numbers[x] for x in self.results]
        results = tuple(zip(written, layout.places[len(self.inputs) :], strict=True))
        return program.recipe(layout.columns, results, tuple(totals), added)._replace(
            lines=layout.lines,
            by_line=frozenset(by_part),
            across=layout.across,
            is_short=layout.is_short,
        )

    @property
    def owner(self) -> Any:
        """The block to name if the task fails: only indices can be wrong."""
        indexed = [task.owner for task in self.tasks if indices_of(task)]
        return indexed[0] if indexed else super().owner

    def _indexed(self, arrays: Arrays) -> tuple[list[Step], Arrays]:
        """The arrays with indices counted from 0, and the steps that count so."""
        steps: list[Step] = []
        found: dict[Value, Array] = {}
        for task in self.tasks:
            for x in indices_of(task):
                if x not in found:
                    found[x] = np.empty(x.shape, np.int32)
                    steps.append(
                        partial(count_from_0, arrays[x], task.inputs[0].shape[-1], found[x])
                    )
        return steps, laid_over(arrays, found)

    @property
    def order(self) -> Sequence[Value]:
        """What the arrays of a layout are of."""
        return [*self.inputs, *self.results]

    @cached_property
    def shape(self) -> Shape:
        """That of all rows."""
        return max((x.shape for t in self.tasks for x in (t.value, *t.inputs)), key=prod)

    @cached_property
    def _makers(self) -> Mapping[Value, PlainTask]:
        return {task.value: task for task in self.tasks}

    def _program(
        self, whole: Sequence[Array], places: Sequence[MemoryPlace], exponents: Exponents
    ) -> tuple[Program, dict[Value, int]]:
        """The operations of the tasks, and the numbers of all values."""
        program = Program()
        numbers = {
            x: program.read(array.dtype.name, place)
            for x, array, place in zip(self.inputs, whole, places, strict=False)
        }
        for task in self.tasks:
            numbers[task.value] = self._put(program, task, numbers, exponents)
        return program, numbers

    def _put(
        self,
        program: Program,
        task: PlainTask,
        numbers: Mapping[Value, int],
        exponents: Exponents,
    ) -> int:
        """Append what a task computes."""
        value, inputs = task.value, [numbers[x] for x in task.inputs]
        name, dtype = native_name(task.operation), value.dtype
        if value.primitive is SOFTMAX:
            return program.softmax(*inputs)
        if value.primitive is LOG_SOFTMAX:
            return program.log_softmax(*inputs)
        if value.primitive is LOGSUMEXP:
            return program.logsumexp(*inputs)
        if value.primitive is TAKE_ALONG:
            return program.chosen(inputs[0], inputs[1], dtype)
        if value.primitive is ADD_ALONG:
            return program.alone(inputs[2], inputs[1], dtype)
        source = self._makers.get(task.inputs[0])
        if value.primitive is SUM and source is not None and source.value.primitive is ADD_ALONG:
            return program.without_sign(numbers[source.inputs[2]], dtype)
        if value.primitive is EXP and source is not None and source.value.primitive is LOG_SOFTMAX:
            return program.softmax(numbers[source.inputs[0]])
        if value.primitive is EXP and source is not None and is_share(source, self._makers):
            return program.share(numbers[source.inputs[0]])
        is_wide = name not in FOLDS and value.shape == self.shape
        attributes = attributes_of(value, exponents) if name not in FOLDS else ()
        return program.put(name, dtype, *inputs, is_wide=is_wide, attributes=attributes)


LARGE = 1 << 12
"""Elements from which one call of machine code is faster than one call for each operation."""

SHORTEST = 32
"""Elements of a row from which the vectorised loop is faster."""

LONGEST = 1 << 18
"""Elements up to which some rows fit into a second-level cache."""

FEWEST = 1 << 8
"""Elements from which a region with reductions that are slow in numpy is faster, however short its
rows or columns.
"""

MANY, FEWEST_OF_MANY = 32, 1 << 4
"""Such reductions in a plan from which their regions are compiled even if they are small."""

PART = 8
"""Elements of a part of a row from which a loop over them is faster."""

BLOCK = 64, 512
"""Columns of a block, at least and at most."""

MANY_ACROSS = 16
"""Softmaxes and their like across columns from which they are compiled even if they are small."""

ROWS = 64
"""Rows that are added up one after another; the sums of so many are added then."""


def rowwise(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region with a reduction along the last axes by one task."""
    axes = row_axes(tasks)
    slow = [task.inputs[0].shape for task in tasks if is_slow_if_short(task)]
    fewest = FEWEST if len(slow) < MANY else FEWEST_OF_MANY
    scores = {shape for shape in slow if prod(shape) >= fewest and shape[-1] <= LONGEST}

    def fits(shape: Shape) -> bool:
        return shape in scores or _fits(shape, axes)

    def reduced(task: PlainTask) -> Shape | None:
        if not is_reduction(task) and not is_alone(task):
            return None
        shape = task.inputs[0].shape
        is_ours = is_alone(task) or reduces(task, axes.get(shape, 1))
        return shape if is_ours and fits(shape) else ()

    shapes = {x.shape for task in tasks for x in (*task.values[:1], *task.inputs[:1])}
    if not any(map(fits, shapes)) or not any(map(is_reduction, tasks)):
        return tasks
    tasks = narrowed(tasks, kept)
    fold = partial(folding, row_axes=axes)
    summed = {
        task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask) and isinstance(fold(task), ColumnSum | PartSum)
    }

    def is_worthwhile(members: Sequence[Task]) -> bool:
        return any(is_reduction(task) or task.values[0] in summed for task in members)

    kinds = kinds_of(tasks, reduced, fits)
    return in_regions(tasks, kept, kinds.get, is_worthwhile, RowwiseTask, fold)


def _fits(shape: Shape, axes: Mapping[Shape, int]) -> bool:
    count = axes.get(shape, 1)
    is_long = len(shape) > count and SHORTEST <= length_of(shape, count) <= LONGEST
    is_divided = count == 1 or length_of(shape, count - 1) >= PART
    return is_long and is_divided and shape[-1] > 1 and prod(shape) >= LARGE


def columnwise(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region with a softmax or its like along such an axis by one task. Other
    reductions are faster alone.
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
    return in_regions(tasks, kept, kinds.get, _is_across, ColumnwiseTask, lambda task: None)


def _is_across(tasks: Sequence[Task]) -> bool:
    """Whether there is a softmax or its like."""
    return any(task.values[0].primitive in OF_POWERS for task in tasks)


def _axes(tasks: Sequence[Task]) -> dict[Shape, int]:
    """The axis along which there are softmaxes, by the shape of what they are of."""
    found: dict[Shape, int] = {}
    across = [(t.inputs[0].shape, axis_reduced(t)) for t in tasks if _is_across([t])]
    fewest = FEWEST if len(across) < MANY_ACROSS else FEWEST_OF_MANY
    for shape, axis in across:
        if axis is not None and shape[axis] > 1 and prod(shape) >= fewest:
            found.setdefault(shape, axis)
    return found


class RowwiseTask(LoopTask):
    """A region of rows, each of the last axes of arrays."""

    @cached_property
    def axes(self) -> int:
        """How many axes a row has."""
        found = [axes_reduced(task) for task in self.tasks if is_reduction(task)]
        found += [fold.axes for fold in self.folds if isinstance(fold, ColumnSum | PartSum)]
        return found[0] if found else 1

    @property
    def lead(self) -> Shape:
        """The axes of which each place has a row."""
        return self.shape[: -self.axes]

    def laid_out(self, arrays: Arrays) -> tuple[list[Step], list[Array], Layout, list[Step]]:
        """Inputs in other memory are copied there."""
        steps, whole = self.straight(arrays)
        return steps, whole, self.layout(whole), []

    def straight(self, arrays: Arrays) -> tuple[list[Step], list[Array]]:
        """Inputs and results in the shape of the rows, with copies of what has gaps in rows, and
        the steps that make these.
        """
        steps: list[Step] = []
        found: list[Array] = []
        for x in (*self.inputs, *self.results):
            array = np.broadcast_to(arrays[x], self.shape)
            if self.has_gaps(arrays[x], array):
                source = repeated_along(arrays[x], self.shape, self.behind)
                copy = np.empty(source.shape, source.dtype)
                steps.append(copying(source, copy))
                array = np.broadcast_to(copy, self.shape)
            found.append(array)
        return steps, found

    @property
    def behind(self) -> int:
        """Of how many of the last axes the elements of an array lie side by side, or are one."""
        return self.axes

    def has_gaps(self, given: Array, whole: Array) -> bool:
        """Whether an array is copied first, and better so, because of how its rows lie."""
        return is_transposed(given) or lies(whole, self.axes) is None

    def layout(self, whole: Sequence[Array]) -> Layout:
        """Sheets of rows, few enough where rows are added up."""
        how = [lies(x, self.axes) for x in whole]
        places = [
            MemoryPlace(i, step, depth=n) for i, (step, n) in enumerate(x or (0, 0) for x in how)
        ]
        is_added = any(isinstance(fold, ColumnSum) for fold in self.folds)
        sheets = sheets_of(*merged(whole, self.lead), whole, ROWS if is_added else MOST)
        by_part = any(isinstance(fold, PartSum) and fold.by_part for fold in self.folds)
        lines = self.shape[-self.axes] if by_part or BY_PART in how else 1
        return Layout(sheets, places, length_of(self.shape, self.axes) // lines, lines)


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
        some = (n for n in range(BLOCK[1], BLOCK[0] - 1, -1) if length % n == 0)
        return length // next(some, length) if length > BLOCK[1] else 1

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
