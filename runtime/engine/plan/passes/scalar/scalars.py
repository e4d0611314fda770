"""Replaces regions of scalars by one Python function each; see ``scalar_code`` for its numbers.

Until a region has run some times it runs operation by operation, with equal results; then, with
the ``fast`` extra, as machine code if there are instructions for all of it.
Where Python raises and IEEE 754 would give inf or NaN (division by zero, overflow, log 0), the
region runs by its plain tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.passes.regions import Region, partition, readers_of, results_of
from gradwire.runtime.engine.plan.passes.scalar.scalar_code import (
    is_known,
    operation_by_operation,
    scalar_function,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

SMALLEST = 4
"""Tasks from which a function is faster than calls of kernels."""
WARM = 20
"""Runs before a function is written and compiled, which takes as long as some fifty runs."""

_RAISED = (ZeroDivisionError, OverflowError, ValueError)
_DTYPES = ("float32", "float64", "bool")


def scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of at least ``SMALLEST`` scalar tasks by one."""
    return _in_regions(tasks, kept, ScalarTask)


def native_scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """The same of regions that machine code can compute."""
    return _in_regions(
        tasks, kept, NativeScalarTask, lambda x: native.compiles_straight(x.value, x.inputs)
    )


def _in_regions(
    tasks: list[Task],
    kept: Collection[Value],
    kind: type[ScalarTask],
    fits: Callable[[PlainTask], bool] = lambda _: True,
) -> list[Task]:
    """Replace every region in which all tasks fit by a task of this kind."""
    if sum(_kind(task) is not None for task in tasks) < SMALLEST:
        return tasks
    items = partition(tasks, _kind)
    readers = readers_of(items)
    result: list[Task] = []
    for item in items:
        some = item.tasks if isinstance(item, Region) else (item,)
        plain = [task for task in some if isinstance(task, PlainTask) and fits(task)]
        if isinstance(item, Region) and len(some) == len(plain) >= SMALLEST:
            result.append(kind(plain, results_of(item, readers, kept)))
        else:
            result += some
    return result if any(isinstance(task, kind) for task in result) else tasks


def _kind(task: Task) -> str | None:
    if not isinstance(task, PlainTask) or not is_known(task.value.primitive):
        return None
    for x in (task.value, *task.inputs):  # ``all`` would take twice as long
        if x.shape or x.dtype not in _DTYPES:
            return None
    return "scalars"


class ScalarTask(Task):
    """A region of scalar tasks as one function."""

    one_block = True

    def __init__(self, tasks: Sequence[PlainTask], values: Sequence[Value]) -> None:
        self.tasks = tasks
        self.values = values
        made = {task.value for task in tasks}
        self.inputs = list(dict.fromkeys(x for t in tasks for x in t.inputs if x not in made))

    @property
    def covers(self) -> Sequence[Value]:
        """The values of all its tasks."""
        return [task.value for task in self.tasks]

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step, for which a function is compiled when it has run ``WARM`` times."""
        ours = {x: arrays[x] for x in (*self.inputs, *self.values)}
        step = self._with_plain(operation_by_operation, ours)
        runs = 0

        def run() -> None:
            nonlocal step, runs
            if runs == WARM:
                step = self._compiled(ours)
            runs += 1
            step()

        return [run]

    def _compiled(self, arrays: Arrays) -> Step:
        """The region as one function."""
        return self._with_plain(scalar_function, arrays)

    def _with_plain(self, make: Callable[..., Step], arrays: Arrays) -> Step:
        """A step with the plain steps behind it, which are made when they are first needed."""
        fast = make(self.tasks, self.inputs, self.values, arrays)
        plain: list[Step] = []

        def run() -> None:
            try:
                fast()
            except _RAISED:
                if not plain:
                    plain.extend(self._plain(arrays))
                for step in plain:
                    step()

        return run

    def _plain(self, arrays: Arrays) -> list[Step]:
        """The tasks one by one, with arrays of their own for what stays inside."""
        inside = dict(arrays)
        for task in self.tasks:
            if task.value not in arrays:
                inside[task.value] = np.empty((), NUMPY[task.value.dtype])
        return [step for task in self.tasks for step in task.bind(inside)]


class NativeScalarTask(ScalarTask):
    """A region as one function of machine code."""

    def _compiled(self, arrays: Arrays) -> Step:
        operands = [arrays[x] for x in (*self.inputs, *self.values)]
        frame = np.array([array.ctypes.data for array in operands])
        call, address = native.compiled_straight(self._line()), frame.ctypes.data

        def run(_kept: object = (operands, frame)) -> None:
            call(address)

        return run

    def _line(self) -> native.Line:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        operations = [
            native.Operation(
                native.native_name(t.value.primitive),
                t.value.dtype,
                tuple(numbers[x] for x in t.inputs),
            )
            for t in self.tasks
        ]
        return native.Line(
            tuple(x.dtype for x in self.inputs),
            tuple(operations),
            tuple(numbers[x] for x in self.values),
        )
