"""Adds up the gradients of tables of which few rows were looked up by rows, not as whole arrays.

The results are equal bit for bit, but for the sign of 0 where a row that was not looked up is
multiplied by a number below 0. What is measured of one has other last digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.gather import SCATTER_ADD, checked
from gradwire.runtime.engine.norms import RMS, SUM_OF_SQUARES, rms, square_sum
from gradwire.runtime.engine.plan.native.adding import adder
from gradwire.runtime.engine.plan.sparse.forms import form_of, inside
from gradwire.runtime.engine.plan.sparse.task import SparseTask
from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


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
    return _still_read(found, {v for form in forms.values() for v in inside(form)}, kept)


def rows_looked_up(
    tasks: list[Task], kept: Collection[Value], rows: Collection[Value]
) -> tuple[list[Task], dict[Value, SparseTask]]:
    """The tasks of ``sparse_lookups``, and those that find the ``rows`` of which there are any."""
    tasks = sparse_lookups(tasks, kept, rows)
    found = {task.value: task for task in tasks if isinstance(task, SparseTask)}
    return tasks, {value: task for value, task in found.items() if value in rows}


def _still_read(tasks: list[Task], inner: Collection[Value], kept: Collection[Value]) -> list[Task]:
    """The tasks without those of ``inner`` values that nobody reads any more."""
    read = set(kept)
    found: list[Task] = []
    for task in reversed(tasks):
        if isinstance(task, PlainTask) and task.value in inner and task.value not in read:
            continue
        read.update(task.inputs)
        found.append(task)
    return found[::-1]
