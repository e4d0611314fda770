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
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
from gradwire.runtime.engine.plan.copies import LARGEST, copies
from gradwire.runtime.engine.plan.jobs import Job, KernelCall
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.solving import (
    FACTOR,
    SUBSTITUTE,
    factored,
    substituted,
)
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


PANEL = 4
"""Vectors of right sides that are solved side by side."""


class Factors:
    """The factors of some matrices in float64, as numpy computes them, in memory of their own."""

    def __init__(self) -> None:
        self.signs: NDArray[np.float64] = np.ones(0)
        """0 for each matrix that is singular, else 1 or −1 by changes of places."""

    @property
    def is_known(self) -> bool:
        """Whether there are steps that compute them."""
        return self.signs.size > 0

    def steps(self, matrices: Array) -> list[Step]:
        """The steps that compute them, of matrices (…, n, n)."""
        *batch, size, _ = matrices.shape
        self.batch, self._size, self._lanes = tuple(batch), size, machine.lanes() // 2
        self._count = prod(batch)
        self._rows = self._apart(size, 1)
        self._pivots = np.zeros((self._count, size), np.int64)
        self.signs = np.ones(self._count)
        frame = machine.frame(FACTOR, **self._numbers())
        kernel = factored(self._lanes)
        call = KernelCall(kernel, machine.address(frame), 0, 0, self._count)
        work = self._count * size**3
        copied = conversion(self._rows[..., :size], matrices)
        return [copied, Job([[call]], work, kept=(self, frame))]

    @property
    def diagonals(self) -> Array:
        """The diagonals of the upper factors."""
        return self._rows[..., : self._size].diagonal(0, -2, -1)

    def solutions(self, right: Array, out: Array, *, is_turned: bool) -> list[Step]:
        """The steps that leave ``matrix⁻¹ @ right`` in ``out``, or that of the transposes."""
        columns = out.shape[-1]
        vectors = PANEL if columns > self._lanes else 1
        sides = self._apart(columns, vectors)
        panels = -(-columns // (self._lanes * vectors))
        numbers = self._numbers()
        frame = machine.frame(
            SUBSTITUTE, **numbers, right=sides, right_row=sides.strides[-2], panels=panels
        )
        kernel = substituted(self._lanes, vectors, is_turned)
        call = KernelCall(kernel, machine.address(frame), 0, 0, self._count * panels)
        work = self._count * self._size**2 * columns
        inside = sides[..., :columns]
        job = Job([[call]], work, kept=(self, sides, frame))
        return [conversion(inside, right), job, conversion(out, inside)]

    def _apart(self, columns: int, vectors: int) -> Array:
        """Memory for matrices with so many columns, in groups of vectors. Where rows are an even
        number of vectors one more is between them, or the same few lines of a cache would have
        them all.
        """
        each = self._lanes * vectors
        length = -(-columns // each) * vectors
        shape = (*self.batch, self._size, (length + (length % 2 == 0)) * self._lanes)
        whole = np.zeros(prod(shape) + self._lanes)
        first = -machine.address(whole) % (8 * self._lanes) // 8  # no vector is in two lines
        return whole[first : first + prod(shape)].reshape(shape)

    def _numbers(self) -> dict[str, Any]:
        return {
            "rows": self._rows,
            "signs": self.signs,
            "pivots": self._pivots,
            "size": self._size,
            "row": self._rows.strides[-2],
        }


def conversion(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of a shape to which it is repeated: a job if it is
    small.
    """
    job = copies([(target, source)]) if 0 < target.size <= LARGEST else None
    return job or partial(np.copyto, target, source, "same_kind")


def logarithms(diagonals: Array, signs: Array, out: Array) -> None:
    """``ln |det|`` by the diagonals of the factors; −∞ of a singular matrix."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(np.abs(diagonals)).sum(-1)
    _write(np.where(_is_singular(signs, found), -np.inf, found), out)


def determinants(diagonals: Array, signs: Array, out: Array) -> None:
    """Determinants by the diagonals of the factors, and signs for changes of places."""
    found = diagonals.prod(-1)
    _write(np.where(_is_singular(signs, found), 0, found * signs.reshape(found.shape)), out)


def determinant_signs(diagonals: Array, signs: Array, out: Array) -> None:
    """−1, 0 or 1, as the determinants are."""
    determinants(np.sign(diagonals), signs, out)


def _is_singular(signs: Array, found: Array) -> Array:
    """Of which matrices: what follows a pivot of 0 in their factors is no number."""
    singular: Array = signs.reshape(found.shape) == 0
    return singular


def _write(found: Array, out: Array) -> None:
    np.copyto(out, found, "same_kind")


MOST = 256
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
    fits = 0 < matrix.shape[-1] <= MOST and batch == matrix.shape[:-2] and task.value.size > 0
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
