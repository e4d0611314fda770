"""Regions of scalars as machine code, once they have run often enough: the ``fast`` extra.

The numbers are those of the Python function that runs until then.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from runtime.engine.plan import native
from runtime.engine.plan.native import Operand, Operation, Recipe, compiled_straight, known_straight
from runtime.engine.plan.passes.scalar_code import by_kernel
from runtime.engine.plan.passes.scalars import ScalarTask, in_scalar_regions

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

WARM = 20
"""Runs before a region is compiled, which takes as long as some hundred runs."""


def native_scalars(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace every region that needs no kernel, as ``scalars`` does with all.

    Without a compiler all stays as it is.
    """
    if not native.installed():
        return tasks
    return in_scalar_regions(tasks, kept, NativeScalarTask, _fits)


def _fits(task: PlainTask) -> bool:
    return known_straight(task.value, task.inputs) and not by_kernel(task.value)


class NativeScalarTask(ScalarTask):
    """A region as one function, of Python at first."""

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        (step,) = super().bind(arrays)
        runs = 0

        def run() -> None:
            nonlocal step, runs
            if runs == WARM:
                step = self._compiled(arrays)
            runs += 1
            step()

        return [run]

    def _compiled(self, arrays: Arrays) -> Step:
        held = [arrays[x] for x in (*self.inputs, *self.values)]
        frame = np.array([array.ctypes.data for array in held])
        call, address = compiled_straight(self._recipe()).call, frame.ctypes.data

        def run(_held: object = (held, frame)) -> None:
            call(address)

        return run

    def _recipe(self) -> Recipe:
        numbers = {x: i for i, x in enumerate(self.inputs)}
        numbers |= {t.value: i for i, t in enumerate(self.tasks, start=len(numbers))}
        operations = [
            Operation(t.value.primitive.name, t.value.dtype, tuple(numbers[x] for x in t.inputs))
            for t in self.tasks
        ]
        return Recipe(
            tuple(Operand(x.dtype, spread=False) for x in self.inputs),
            tuple(operations),
            tuple(numbers[x] for x in self.values),
        )
