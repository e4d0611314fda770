"""Compiles regions with reductions of rows, such as norms of layers and softmaxes of masked scores.

Each row goes through all of the region while it is in the first-level cache: the sum of its
elements, what is computed with that, the largest of the results, and so on. Arithmetic is equal bit
for bit to that of the plain plan; sums of rows are added in float64, functions have the error
bounds of ``gradwire.runtime.engine.plan.native.functions``, and a softmax is within 8 units in the
last place, or 0 where it is less than e⁻⁸⁷; its logarithm within 3 of the larger one of it and
the difference from the largest element.

A row may have several axes, such as those of an image or of a group of channels; some arrays have
one element for each place of the first of them, as a weight of each channel.

The gradient of a cross-entropy with one class for each row is 0 but in one column: that column is
compared with the class, and nothing is written out.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.kernels.transposing import is_transposed
from gradwire.runtime.calculus.primitives.elementwise import EXP
from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG
from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX, SUM
from gradwire.runtime.engine.compiler.recipes import Place, Recipe
from gradwire.runtime.engine.compiler.regions import compiled_region, scratch_bytes
from gradwire.runtime.engine.plan.copies.transposed import copying
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.native import address, compiles, native_name
from gradwire.runtime.engine.plan.passes.elementwise.exponents import (
    Exponents,
    attributes_of,
    for_exponents,
)
from gradwire.runtime.engine.plan.passes.elementwise.giving import laid_over
from gradwire.runtime.engine.plan.passes.elementwise.programs import Program, is_share
from gradwire.runtime.engine.plan.passes.elementwise.rows import (
    FOLDS,
    ColumnSum,
    Lies,
    PartSum,
    add_columns,
    axes_reduced,
    count_from_0,
    folding,
    indices_of,
    is_alone,
    is_reduction,
    is_slow_if_short,
    length_of,
    lies,
    narrowed,
    reduces,
    repeated_along,
    row_axes,
    shared,
    sheets_of,
)
from gradwire.runtime.engine.plan.passes.elementwise.tiles import Fold, TiledTask, in_regions
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value

Array = NDArray[Any]

LARGE = 1 << 12
"""Elements from which one call of machine code is faster than one call for each operation."""

SHORTEST = 32
"""Elements of a row from which the vectorised loop is faster."""

LONGEST = 1 << 18
"""Elements up to which some rows fit into a second-level cache."""

FEWEST = 1 << 8
"""Elements from which a region with reductions that are slow in numpy is faster, however short its
rows.
"""

MANY, FEWEST_OF_MANY = 32, 1 << 4
"""Such reductions in a plan from which their regions are compiled even if they are small."""

PART = 8
"""Elements of a part of a row from which a loop over them is faster."""

ROWS = 64
"""Rows that are added up one after another; the sums of so many are added then."""


def rowwise(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region with a reduction along the last axes by one task."""
    axes = row_axes(task for task in tasks if is_reduction(task))
    if not _may_have_rows(tasks, axes) or not _kinds(tasks, axes):
        return tasks
    tasks = narrowed(tasks, kept)
    fold = partial(folding, row_axes=axes)
    summed = {
        task.inputs[0]
        for task in tasks
        if isinstance(task, PlainTask) and isinstance(fold(task), ColumnSum)
    }

    def is_worthwhile(members: Sequence[Task]) -> bool:
        return any(is_reduction(task) or task.values[0] in summed for task in members)

    return in_regions(tasks, kept, _kinds(tasks, axes).get, is_worthwhile, RowwiseTask, fold)


def _kinds(tasks: Sequence[Task], axes: Mapping[Shape, int]) -> dict[Task, Hashable]:
    """The kinds of the tasks that a region may consist of; none if nothing is reduced."""
    kinds: dict[Task, Hashable] = {}
    of_value: dict[Value, Hashable] = {}
    slow = [task.inputs[0].shape for task in tasks if is_slow_if_short(task)]
    fewest = FEWEST if len(slow) < MANY else FEWEST_OF_MANY
    scores = {shape for shape in slow if prod(shape) >= fewest and shape[-1] <= LONGEST}
    for task in tasks:
        if isinstance(task, PlainTask) and (kind := _kind(task, of_value, scores, axes)):
            kinds[task] = of_value[task.value] = kind
    return kinds if any(map(is_reduction, tasks)) else {}


def _may_have_rows(tasks: Sequence[Task], axes: Mapping[Shape, int]) -> bool:
    """Whether any rows are long enough; finding kinds takes ten times as long."""
    shapes = {task.values[0].shape for task in tasks}
    shapes |= {task.inputs[0].shape for task in tasks if task.inputs}
    return any(_fits(shape, axes) for shape in shapes) or any(map(is_slow_if_short, tasks))


def _kind(
    task: PlainTask,
    known: dict[Value, Hashable],
    scores: Collection[Shape],
    axes: Mapping[Shape, int],
) -> Hashable | None:
    """The shape of the rows that a task reads or writes; of one element in each row, that of the
    rows that it comes from. ``scores`` are shapes whose rows may be short; ``axes``
    are how many axes a row has, by shape.
    """
    value = task.value
    if is_reduction(task) or is_alone(task):
        shape = task.inputs[0].shape
        fits = _fits(shape, axes) or shape in scores
        return shape if fits and (is_alone(task) or reduces(task, axes.get(shape, 1))) else None
    if not value.primitive.elementwise or task.can_fail or not compiles(value, task.inputs):
        return None
    if value.shape and value.shape[-1] == 1:
        return next((known[x] for x in task.inputs if x in known and x.shape == value.shape), None)
    return value.shape if _fits(value.shape, axes) or value.shape in scores else None


def _fits(shape: Shape, axes: Mapping[Shape, int]) -> bool:
    count = axes.get(shape, 1)
    is_long = len(shape) > count and SHORTEST <= length_of(shape, count) <= LONGEST
    is_divided = count == 1 or length_of(shape, count - 1) >= PART
    return is_long and is_divided and shape[-1] > 1 and prod(shape) >= LARGE


class RowwiseTask(TiledTask):
    """A region of rows of one shape, and folds of some of its values."""

    is_compiled = True

    @cached_property
    def _makers(self) -> Mapping[Value, PlainTask]:
        return {task.value: task for task in self.tasks}

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step. Threads share the rows; results don't depend on the number of threads."""
        shape = self.shape
        steps, arrays = self._indexed(self.given.among(arrays))
        more, whole = self.laid_out(arrays)
        steps += more
        sums = [fold for fold in self.folds if isinstance(fold, ColumnSum)]
        totals = [f for f in self.folds if isinstance(f, PartSum) or type(f) is Fold]
        sheets = sheets_of(whole, self.lead, ROWS if sums else prod(shape))
        rows = max(sheet.rows for sheet in sheets)
        parts = [
            np.zeros((len(sheets), rows, fold.parts if isinstance(fold, PartSum) else 1))
            for fold in totals
        ]
        added = [
            np.zeros((len(sheets), self.columns), fold.source.dtype)
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
        calls = [(address(frame), sheet.rows) for frame, sheet in zip(frames, sheets, strict=True)]
        ends = [
            fold.adding(arrays, [x[: sheet.rows] for x, sheet in zip(part, sheets, strict=True)])
            if isinstance(fold, PartSum)
            else fold.end(arrays, part)
            for fold, part in zip(totals, parts, strict=True)
        ]
        for number, fold in enumerate(sums):
            some = added[number * self.width : (number + 1) * self.width]
            ends.append(partial(add_columns, some, arrays[fold.task.value]))

        def job_for(exponents: Exponents) -> Job:
            recipe = self.recipe(whole, exponents)
            return Job(
                shared(compiled_region(recipe).call, calls, by_sheets=bool(sums), work=prod(shape)),
                prod(shape),
                scratch_bytes(recipe),
                kept=(whole, parts, frames),  # only their addresses are used
            )

        job = for_exponents(self.tasks, self.inputs, arrays, job_for)
        order, clear = [*self.inputs, *self.results], [partial(row.fill, 0) for row in added]
        return [*steps, self.given.writing(job, frames, order, clear, ends)]

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

    width = 1
    """Elements of a column in a row."""

    @cached_property
    def axes(self) -> int:
        """How many axes a row has."""
        found = [axes_reduced(task) for task in self.tasks if is_reduction(task)]
        found += [fold.axes for fold in self.folds if isinstance(fold, ColumnSum)]
        return found[0] if found else 1

    @property
    def lead(self) -> Shape:
        """The axes of which each place has a row."""
        return self.shape[: -self.axes]

    @property
    def columns(self) -> int:
        """Columns of a row."""
        return length_of(self.shape, self.axes)

    @property
    def shape(self) -> Shape:
        """That of all rows."""
        return max((x.shape for t in self.tasks for x in (t.value, *t.inputs)), key=prod)

    def laid_out(self, arrays: Arrays) -> tuple[list[Step], list[Array]]:
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

    def recipe(self, whole: Sequence[Array], exponents: Exponents) -> Recipe:
        """What is computed of these arrays, of inputs and then of results."""
        how = [lies(x, self.axes) for x in whole]
        line = prod(self.shape[1 - self.axes :]) if self.axes > 1 else 0
        apart = {Lies.ALONG: (1, line), Lies.BY_PART: (0, 1)}
        places = [
            Place(i, step, depth=depth)
            for i, (step, depth) in enumerate(apart.get(x or Lies.ONCE, (0, 0)) for x in how)
        ]
        program, numbers = self.program(whole, places, exponents)
        added = tuple(numbers[f.source] for f in self.folds if isinstance(f, ColumnSum))
        totals = [
            program.total(numbers[f.source], f.squares, f.source.shape == self.shape)
            for f in self.folds
            if not isinstance(f, ColumnSum)
        ]
        written = [numbers[x] for x in self.results]
        results = tuple(zip(written, places[len(self.inputs) :], strict=True))
        recipe = program.recipe(self.columns, results, tuple(totals), added)
        rest = [fold for fold in self.folds if not isinstance(fold, ColumnSum)]
        by_part = [
            i for i, f in zip(totals, rest, strict=True) if isinstance(f, PartSum) and f.by_part
        ]
        if by_part or Lies.BY_PART in how:
            lines = self.shape[-self.axes]
            columns = self.columns // lines
            return recipe._replace(columns=columns, lines=lines, by_line=frozenset(by_part))
        return recipe

    def program(
        self, whole: Sequence[Array], places: Sequence[Place], exponents: Exponents
    ) -> tuple[Program, dict[Value, int]]:
        """The operations of the tasks, and the numbers of all values."""
        program = Program()
        numbers = {
            x: program.read(array.dtype.name, place)
            for x, array, place in zip(self.inputs, whole, places, strict=False)
        }
        for task in self.tasks:
            numbers[task.value] = self.put(program, task, numbers, exponents)
        return program, numbers

    def put(
        self,
        program: Program,
        task: PlainTask,
        numbers: Mapping[Value, int],
        exponents: Exponents,
    ) -> int:
        """Append what a task computes."""
        value, inputs = task.value, [numbers[x] for x in task.inputs]
        name, dtype = native_name(value.primitive), value.dtype
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
