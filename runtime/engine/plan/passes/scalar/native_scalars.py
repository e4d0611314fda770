"""Compiles regions of scalars to machine code after their first runs: the ``fast`` extra."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.plan.native import (
    Line,
    Operation,
    compiled_straight,
    compiles_straight,
    native_name,
)
from gradwire.runtime.engine.plan.passes.scalar.scalars import ScalarTask, in_scalar_regions

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task


def native_scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region of scalar tasks that machine code can compute."""
    return in_scalar_regions(tasks, kept, NativeScalarTask, _fits)


def _fits(task: PlainTask) -> bool:
    return compiles_straight(task.value, task.inputs)


class NativeScalarTask(ScalarTask):
    """A region as one function of machine code."""

    def _compiled(self, arrays: Arrays) -> Step:
        operands = [arrays[x] for x in (*self.inputs, *self.values)]
        frame = np.array([array.ctypes.data for array in operands])
        call, address = compiled_straight(self._line()).call, frame.ctypes.data

        def run(_kept: object = (operands, frame)) -> None:
            call(address)

        return run

    def _line(self) -> Line:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        operations = [
            Operation(
                native_name(t.value.primitive), t.value.dtype, tuple(numbers[x] for x in t.inputs)
            )
            for t in self.tasks
        ]
        return Line(
            tuple(x.dtype for x in self.inputs),
            tuple(operations),
            tuple(numbers[x] for x in self.values),
        )
