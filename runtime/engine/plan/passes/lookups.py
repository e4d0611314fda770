"""Adds up the gradients of tables of which few rows were looked up by rows, not as whole arrays.

Rows are computed once for all who want them: as rows, as a whole array, or measured. The results
are equal bit for bit, but for the sign of 0 where a row that was not looked up is multiplied by a
number below 0. What is measured of one has other last digits.

Code that sets large arrays to 0 is beside the compiler, which writes no streams: without it, a step
of an embedding of 50,000 rows takes 1.4 times as long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.calculus.kernels.adding import sum_rows, sum_rows_by
from gradwire.runtime.calculus.primitives.gather import SCATTER_ADD, checked
from gradwire.runtime.engine.norms import RMS, SUM_OF_SQUARES, rms, square_sum
from gradwire.runtime.engine.plan.memory import LINE
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.writer import Assembly
from gradwire.runtime.engine.plan.sparse_rows import (
    Form,
    Lookup,
    Scaled,
    SparseRows,
    added,
    form_of,
    inside,
    read_by,
)
from gradwire.runtime.engine.plan.tasks import (
    Arrays,
    FreshMemory,
    PlainTask,
    Step,
    Task,
    still_read,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native.machine import Kernel


def adder(dtype: str, width: int) -> Callable[[Array, Array, Array], None] | None:
    """What does ``np.add.at(out, places, rows)``, with the same bits, for contiguous ``out`` and
    rows of this width; None where there is no code for the dtype, or no compiler.
    """
    if dtype not in ("float32", "float64") or not machine.installed():
        return None
    from gradwire.runtime.engine.compiler.regions import (  # few need it
        MemoryPlace,
        Recipe,
        compiled_region,
    )

    recipe = Recipe(width, ((dtype, MemoryPlace(0)),), (), (), (), added=(0,), is_listed=True)
    return partial(_add, compiled_region(recipe))


def _add(kernel: Kernel, out: Array, places: Array, rows: Array) -> None:
    places, rows = np.ascontiguousarray(places, np.int64), np.ascontiguousarray(rows)
    frame = np.array([(machine.address(x), x.strides[0]) for x in (rows, out, places)])
    kernel(machine.address(frame), 0, 0, len(rows))


LARGE = 8 << 20
"""Bytes from which an array had better not go through the caches: writing there reads first what is
overwritten, and little of it is left when the array has been written.
"""

CLEAR = ("out",)
"""The frame of ``clear``: an address, int64."""


def clear(out: Array) -> None:
    """Set all elements to 0: by numpy where the array is small or has gaps, or without compiler."""
    if out.nbytes < LARGE or not out.flags.c_contiguous or not machine.installed():
        out.fill(0)
        return
    flat = out.reshape(-1).view(np.uint8)
    first = -machine.address(flat) % LINE
    lines = (flat.size - first) // LINE
    flat[:first] = 0
    flat[first + lines * LINE :] = 0
    frame = machine.frame(CLEAR, out=flat[first:])
    _kernel(machine.lanes())(machine.address(frame), 0, 0, lines)


@cache
def _kernel(lanes: int) -> Kernel:
    """Sets the lines from start to stop to 0; ``out`` begins with a line."""
    w = Assembly("clear", "float32", lanes, CLEAR)
    zeros = w.constant(0.0)
    with w.loop("line", "%start", "%stop") as line:
        place = w.add("%out", w.multiply(line, LINE))
        for away in range(0, LINE, lanes * w.bytes):
            w.stream(zeros, w.add(place, away))
    w.wait()
    return machine.function(w.text(), "clear")


Measure = Callable[[SparseRows], float]


class SparseTask(Task):
    """The rows of a form; with ``whole`` the whole array of them too, and what is measured.

    Passes take the form's value for one of its ``values`` in any case; ``give`` ends that.
    """

    settles = True

    def __init__(self, form: Form, whole: bool, measures: Mapping[Value, Measure]) -> None:
        self.form = form
        self.value = form.value
        self.values = [form.value, *measures]
        self.givable = (form.value,)
        self.inputs = read_by(form)
        self._whole = whole
        self.measures = measures
        """What is measured, by value."""
        self._fresh: FreshMemory | None = None
        self._at: Value = form.value
        self.compiles = False
        """Whether machine code may add the rows and clear the array; the bits are the same."""
        self._scratch: NDArray[np.intp] | None = None
        self.found: SparseRows
        """The rows of the last run."""

    @property
    def owner(self) -> Any:
        """The block to name if the task fails: that of the lookup it is at."""
        return self._at.owner

    @property
    def covers(self) -> Sequence[Value]:
        """The values of the form, and what is measured."""
        return [*inside(self.form), *self.measures]

    def give(self, memory: Mapping[Value, FreshMemory]) -> Task:
        """This task, which leaves the whole array, if it is wanted, in the memory given for it."""
        self._fresh = memory.get(self.value)
        if self._fresh is not None or not self._whole:
            self.values = [*self.measures]
        return self

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, as the rows are other ones in each run."""
        whole = arrays[self.value] if self._whole and self._fresh is None else None
        measured = [(arrays[value], measure) for value, measure in self.measures.items()]

        def run() -> None:
            found = self.found = self._rows(self.form, arrays)
            fill = partial(found.fill, clear=clear if self.compiles else None)
            if self._fresh is not None:
                self._fresh.write(fill)
            elif whole is not None:
                fill(whole)
            for out, measure in measured:
                out[...] = measure(found)

        return [run]

    def _rows(self, form: Form, arrays: Arrays) -> SparseRows:
        if isinstance(form, Lookup):
            return self._looked_up(form, arrays[form.indices], arrays[form.updates])
        if isinstance(form, Scaled):
            return _scaled(form, self._rows(form.of, arrays), arrays)
        return added([self._rows(term, arrays) for term in form.terms])

    def _looked_up(self, form: Lookup, indices: Array, updates: Array) -> SparseRows:
        self._at = form.value
        length, *rest = form.value.shape
        flat = checked(indices, length).reshape(-1).astype(np.intp) % length
        self._at = self.value
        rows = updates.reshape(flat.size, *rest)
        add = adder(form.value.dtype, prod(rest)) if self.compiles else None
        if add is None:
            return SparseRows(*sum_rows(flat, rows), length)
        if self._scratch is None or len(self._scratch) < length:
            self._scratch = np.empty(length, np.intp)
        return SparseRows(*sum_rows_by(add, flat, rows, self._scratch), length)


def _scaled(form: Scaled, of: SparseRows, arrays: Arrays) -> SparseRows:
    """All rows are listed where the factor is not finite: it makes NaN of 0."""
    if form.factor is None:
        return SparseRows(of.rows, of.values.astype(NUMPY[form.value.dtype]), of.length)
    factor = arrays[form.factor]
    if not np.isfinite(factor):
        of = SparseRows(np.arange(of.length), of.dense(), of.length)
    return SparseRows(of.rows, np.multiply(of.values, factor), of.length)


MANY = 1 << 11
"""Elements that are added from which machine code is faster."""

MEASURES = {RMS: rms, SUM_OF_SQUARES: square_sum}


def lookups(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace the last tasks of such gradients, those that measure them, and all they read."""
    return sparse_lookups(tasks, kept, ())


def native_lookups(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """As ``lookups``, and let machine code add many rows, if a compiler is installed."""
    found = lookups(tasks, kept)
    for i, task in enumerate(found):
        if isinstance(task, SparseTask):
            task.compiles = True
        elif isinstance(task, PlainTask) and _adds_many_rows(task):
            found[i] = AddedRowsTask(task)
    return found


def _adds_many_rows(task: PlainTask) -> bool:
    value = task.value
    return (
        value.primitive is SCATTER_ADD
        and not value.attributes["axis"]
        and task.inputs[2].size >= MANY
        and adder(value.dtype, prod(value.shape[1:])) is not None
    )


class AddedRowsTask(PlainTask):
    """Rows added to those of an array by machine code, with the bits of numpy."""

    def __init__(self, task: PlainTask) -> None:
        super().__init__(task.value, task.inputs)
        add = adder(self.value.dtype, prod(self.value.shape[1:]))
        assert add is not None, "it fits"
        self.kernel = partial(_add_rows, add)


def _add_rows(
    add: Callable[[Array, Array, Array], None],
    x: Array, indices: Array, updates: Array, *, out: Array, axis: int,
) -> None:  # fmt: skip
    out[...] = x
    length, width = len(x), prod(x.shape[1:])
    places = checked(indices, length).reshape(-1).astype(np.intp)
    if places.min() < 0:
        places += length * (places < 0)
    add(out.reshape(length, width), places, updates.reshape(places.size, width))


def sparse_lookups(
    tasks: list[Task], kept: Collection[Value], rows: Collection[Value]
) -> list[Task]:
    """As ``lookups``; of the values in ``rows`` nobody outside wants more than the rows."""
    makers = {task.value: task for task in tasks if isinstance(task, PlainTask)}
    if not any(value.primitive is SCATTER_ADD for value in makers):
        return tasks
    forms = {
        value: form
        for value in makers
        if (form := form_of(value, lambda v: makers[v].inputs if v in makers else None))
    }
    readers: dict[Value, list[Task]] = defaultdict(list)
    for task in tasks:
        for x in dict.fromkeys(task.inputs):
            readers[x].append(task)
    ends: dict[Value, SparseTask] = {}
    for value, form in forms.items():
        others = [task for task in readers[value] if task.values[0] not in forms]
        measures = [v for task in others if (v := task.values[0]).primitive in MEASURES]
        whole = value in kept or len(measures) < len(others)
        if whole or measures or value in rows:
            chosen = {v: MEASURES[v.primitive] for v in measures}
            ends[value] = SparseTask(form, whole, chosen)
    measured = {value for end in ends.values() for value in end.measures}
    found = [ends.get(t.values[0], t) for t in tasks if t.values[0] not in measured]
    return still_read(found, kept, {v for form in forms.values() for v in inside(form)})


def rows_looked_up(
    tasks: list[Task], kept: Collection[Value], rows: Collection[Value]
) -> tuple[list[Task], dict[Value, SparseTask]]:
    """The tasks of ``sparse_lookups``, and those that find the ``rows`` of which there are any."""
    tasks = sparse_lookups(tasks, kept, rows)
    found = {task.value: task for task in tasks if isinstance(task, SparseTask)}
    return tasks, {value: task for value, task in found.items() if value in rows}
