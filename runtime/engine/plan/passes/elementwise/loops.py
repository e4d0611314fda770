"""Regions as loops of machine code over rows, with results in memory that may be the caller's."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.primitives.elementwise import EXP
from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG
from gradwire.runtime.calculus.primitives.reduce import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX, SUM
from gradwire.runtime.engine.compiler.regions import compiled_region, scratch_bytes
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.memory import allocate
from gradwire.runtime.engine.plan.native import address, native_name
from gradwire.runtime.engine.plan.passes.elementwise.rows import (
    FOLDS,
    ColumnSum,
    Exponents,
    PartSum,
    Program,
    add_columns,
    attributes_of,
    count_from_0,
    for_exponents,
    indices_of,
    is_share,
    shared,
)
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledFold, TiledTask

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe
    from gradwire.runtime.engine.plan.passes.elementwise.rows import Layout
    from gradwire.runtime.engine.plan.tasks import Arrays, FreshMemory, PlainTask, Step, Task


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
