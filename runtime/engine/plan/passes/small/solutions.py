"""Solves equations, inverts matrices and takes determinants by factors that are computed once.

numpy computes those of a matrix for each of these, and again for the gradient of each. As in numpy
all is computed in float64. A singular matrix is an error after the last of them.

It is beside the compiler, whose loops carry no values through memory: with numpy in its place, the
likelihood of a Gaussian process and its gradient take 1.6 to 1.8 times as long, a Kalman filter 1.6
and a thousand equations of three unknowns 3.7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.matrices import (
    DETERMINANT,
    DETERMINANT_SIGN,
    INVERSE,
    LOG_DETERMINANT,
    NO_INVERSE,
    NO_SOLUTION,
    SOLVE,
    refused,
)
from gradwire.runtime.calculus.primitives.shape import PERMUTE
from gradwire.runtime.engine.plan.passes.small.factors import (
    Factors,
    determinant_signs,
    determinants,
    logarithms,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value


LARGEST = 256
"""Rows of a matrix up to which this is faster than the library of numpy."""

_NEEDED = {SOLVE: NO_SOLUTION, INVERSE: NO_INVERSE}
_OTHERS = (LOG_DETERMINANT, DETERMINANT, DETERMINANT_SIGN)


def solutions(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace what is computed of small matrices."""
    ours = {task: task for task in tasks if isinstance(task, PlainTask) and _fits(task)}
    if not ours:
        return tasks
    turned = {t.values[0]: t.inputs[0] for t in tasks if t.values and _is_transpose(t)}
    factors: dict[Value, Factors] = defaultdict(Factors)
    found: list[Task] = []
    checked = []
    last = [task for task in ours if task.value.primitive in _NEEDED][-1:]
    for task in tasks:
        if task not in ours:
            found.append(task)
            continue
        matrix = task.inputs[0]
        known = turned.get(matrix, matrix)
        new = SolutionTask(ours[task], known, factors[known], matrix is not known)
        found.append(new)
        if task.values[0].primitive in _NEEDED:
            checked.append(new)
        if task in last:
            found.append(CheckTask(checked))
    return found


def _fits(task: PlainTask) -> bool:
    primitive = task.value.primitive
    if primitive not in _NEEDED and primitive not in _OTHERS:
        return False
    matrix = task.inputs[0]
    batch = task.value.shape[:-2] if primitive in _NEEDED else task.value.shape
    fits = 0 < matrix.shape[-1] <= LARGEST and batch == matrix.shape[:-2] and task.value.size > 0
    return fits and matrix.dtype == task.value.dtype and matrix.dtype in ("float32", "float64")


def _is_transpose(task: Task) -> bool:
    value = task.values[0]
    if value.primitive is not PERMUTE:
        return False
    rank = len(value.shape)
    return bool(value.attributes["axes"] == (*range(rank - 2), rank - 1, rank - 2))


class SolutionTask(PlainTask):
    """What is computed of a matrix, or of its transpose, by factors that others may have computed.

    The first of them that is bound computes the factors: they are bound in the order of the run.
    """

    def __init__(self, task: PlainTask, matrix: Value, factors: Factors, is_turned: bool) -> None:
        super().__init__(task.value, (matrix, *task.inputs[1:]))
        self.in_place = ()
        self.givable = ()
        self.factors = factors
        self._is_turned = is_turned

    def bind(self, arrays: Arrays) -> list[Step]:
        """Steps that compute the factors, if none has, and then the value."""
        factors, out = self.factors, arrays[self.value]
        matrix = arrays[self.inputs[0]]
        steps = [] if factors.is_known else factors.steps(matrix)
        primitive = self.value.primitive
        if primitive in _NEEDED:
            right = arrays[self.inputs[1]] if primitive is SOLVE else np.eye(out.shape[-1])
            return [*steps, *factors.solutions(right, out, is_turned=self._is_turned)]
        if primitive is LOG_DETERMINANT:
            return [*steps, partial(logarithms, factors.diagonals, factors.signs, out)]
        take = determinants if primitive is DETERMINANT else determinant_signs
        return [*steps, partial(take, factors.diagonals, factors.signs, out)]


class CheckTask(Task):
    """Raises ValueError if a matrix is singular of which something was computed."""

    values = ()

    def __init__(self, tasks: Sequence[SolutionTask]) -> None:
        self._tasks = tasks
        self.inputs = [task.value for task in tasks]

    @property
    def owner(self) -> Any:
        """The block of the first one."""
        return next((task.owner for task in self._tasks if not task.factors.signs.all()), None)

    @property
    def covers(self) -> Sequence[Value]:
        """Nothing is computed."""
        return ()

    def bind(self, arrays: Arrays) -> list[Step]:
        """One step."""
        return [self._check]

    def _check(self) -> None:
        for task in self._tasks:
            if not task.factors.signs.all():
                raise refused(_NEEDED[task.value.primitive], task.value.shape)
