"""Solves equations, inverts matrices and takes determinants by factors that are computed once.

numpy computes those of a matrix for each of these, and again for the gradient of each. As in numpy
all is computed in float64. A singular matrix is an error after the last of them.

It is beside the compiler, whose loops carry no values through memory: with numpy in its place, the
likelihood of a Gaussian process and its gradient take 1.6 to 1.8 times as long, a Kalman filter 1.6
and a thousand equations of three unknowns 3.7.

Factors are found by Gauss's elimination with pivots, on vectors of rows. Source: Golub and Van Loan
2013, "Matrix Computations", sections 3.2 and 3.4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
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
from gradwire.runtime.engine.plan.jobs import Job, KernelCall
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.writer import Assembly
from gradwire.runtime.engine.plan.tasks import LARGEST, Arrays, PlainTask, Step, Task, copies

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native.machine import Kernel


FACTOR = ("rows", "signs", "pivots", "size", "row")
"""The frame of ``factored``, int64: the addresses of the matrices, of a float64 for each and of an
int64 for each row; their size; and bytes from row to row, whole vectors.
"""

SUBSTITUTE = (*FACTOR, "right", "right_row", "panels")
"""The frame of ``substituted``: also the address of the right sides, the bytes from row to row, and
how many panels of vectors a row consists of.
"""


@lru_cache(maxsize=2)
def factored(lanes: int) -> Kernel:
    """Replaces matrices by their factors: below the diagonal the lower one, negative, whose own
    diagonal is 1. A pivot is the number of the row that changes places with this one.

    ``call(frame, 0, start, stop)`` does so for the matrices from start to stop. The sign of one is
    −1 if rows changed places an odd number of times, 1 if an even one, and 0 if it is singular.
    """
    w = Assembly("factored", "float64", lanes, FACTOR)
    vectors = w.put(f"udiv i64 {w.add('%size', lanes - 1)}, {lanes}")
    with w.loop("number", "%start", "%stop") as number:
        first = w.add("%rows", w.multiply(number, w.multiply("%size", "%row")))
        sign = w.add("%signs", w.multiply(number, w.bytes))
        pivots = w.add("%pivots", w.multiply(number, w.multiply("%size", 8)))
        w.store_element("1.0", sign)
        with w.loop("step", 0, "%size") as step:
            upper, best = _pivot(w, first, step)
            w.store_element(best, w.add(pivots, w.multiply(step, 8)), "i64")
            with w.loop("swap", 0, vectors) as v:
                away = w.multiply(v, lanes * w.bytes)
                _swap(w, w.add(upper, away), w.add(_row(w, first, best), away))
            pivot = w.load_element(w.add(upper, w.multiply(step, w.bytes)))
            _note(w, sign, pivot, w.put(f"icmp eq i64 {step}, {best}"))
            _eliminate(w, first, step, pivot, vectors)
    return machine.function(w.text(), "factored")


def _row(w: Assembly, first: str, i: str) -> str:
    return w.add(first, w.multiply(i, "%row"))


def _pivot(w: Assembly, first: str, step: str) -> tuple[str, str]:
    """The row of a step, and the number of the one at or below it with the largest element."""
    column = w.multiply(step, w.bytes)
    with w.loop("seek", w.add(step, 1), "%size", {"%best": step}, kind="i64") as i:
        found, best = (
            w.size(w.load_element(w.add(_row(w, first, x), column))) for x in (i, "%best")
        )
        is_more = w.put(f"fcmp ogt {w.element} {found}, {best}")
        w.name(w.put(f"select i1 {is_more}, i64 {i}, i64 %best"), "%best.next")
    return _row(w, first, step), "%best"


def _swap(w: Assembly, a: str, b: str) -> None:
    first, second = w.load(a), w.load(b)
    w.store(second, a)
    w.store(first, b)


def _note(w: Assembly, sign: str, pivot: str, stays: str) -> None:
    """Change the sign if a row changed places, and make it 0 if the pivot is."""
    before = w.load_element(sign)
    turned = w.put(f"fneg {w.element} {before}")
    after = w.put(f"select i1 {stays}, {w.element} {before}, {w.element} {turned}")
    is_zero = w.put(f"fcmp oeq {w.element} {pivot}, 0.0")
    w.store_element(w.put(f"select i1 {is_zero}, {w.element} 0.0, {w.element} {after}"), sign)


def _eliminate(w: Assembly, first: str, step: str, pivot: str, vectors: str) -> None:
    """Subtract the row of a step from those below, so that the column of its pivot becomes 0."""
    upper, below = _row(w, first, step), w.add(step, 1)
    column = w.multiply(step, w.bytes)
    edge = w.put(f"udiv i64 {step}, {w.lanes}")
    behind = w.multiply(edge, w.lanes * w.bytes)
    mask = w.lanes_from(w.subtract(below, w.multiply(edge, w.lanes)))
    at_edge = w.masked(mask, w.load(w.add(upper, behind)))
    with w.loop("lower", below, "%size") as i:
        row = _row(w, first, i)
        place = w.add(row, column)
        factor = w.put(f"fdiv {w.element} {w.load_element(place)}, {pivot}")
        factor = w.put(f"fneg {w.element} {factor}")
        times, first_place = w.everywhere(w.element, factor), w.add(row, behind)
        w.store(w.fused(times, at_edge, w.load(first_place)), first_place)
        w.store_element(factor, place)
        with w.loop("more", w.add(edge, 1), vectors) as v:
            away = w.multiply(v, w.lanes * w.bytes)
            there = w.add(row, away)
            w.store(w.fused(times, w.load(w.add(upper, away)), w.load(there)), there)


@lru_cache(maxsize=8)
def substituted(lanes: int, vectors: int, is_turned: bool) -> Kernel:
    """Replaces right sides by ``matrix⁻¹ @ right``, by the factors of the matrices; if it is turned
    by ``matrixᵀ⁻¹ @ right``. A panel has so many vectors.

    ``call(frame, 0, start, stop)`` does so for the panels from start to stop of all matrices.
    """
    w = Assembly("substituted", "float64", lanes, SUBSTITUTE)
    with w.loop("unit", "%start", "%stop") as unit:
        number = w.put(f"udiv i64 {unit}, %panels")
        panel = w.subtract(unit, w.multiply(number, "%panels"))
        matrix = w.add("%rows", w.multiply(number, w.multiply("%size", "%row")))
        pivots = w.add("%pivots", w.multiply(number, w.multiply("%size", 8)))
        right = w.add("%right", w.multiply(number, w.multiply("%size", "%right_row")))
        right = w.add(right, w.multiply(panel, vectors * lanes * w.bytes))
        sides = _Sides(w, matrix, right, vectors, is_turned)
        if not is_turned:
            sides.change_places(pivots)
        sides.substitute("down", divides=is_turned)
        sides.substitute("up", divides=not is_turned)
        if is_turned:
            sides.change_places(pivots)
    return machine.function(w.text(), "substituted")


class _Sides:
    """A panel of right sides."""

    def __init__(self, w: Assembly, matrix: str, right: str, vectors: int, is_turned: bool) -> None:
        self._w = w
        self._right = right
        self._vectors = vectors
        self._matrix = matrix
        self._steps = (str(w.bytes), "%row") if is_turned else ("%row", str(w.bytes))
        self._is_turned = is_turned

    def _places(self, i: str) -> list[str]:
        w, first = self._w, self._w.add(self._right, self._w.multiply(i, "%right_row"))
        return [w.add(first, v * w.lanes * w.bytes) for v in range(self._vectors)]

    def _element(self, i: str, j: str) -> str:
        w, (down, across) = self._w, self._steps
        return w.load_element(
            w.add(w.add(self._matrix, w.multiply(i, down)), w.multiply(j, across))
        )

    def change_places(self, pivots: str) -> None:
        """Change rows as those of the matrix were; if it is turned, back."""
        w = self._w
        with w.loop("change", 0, "%size") as n:
            i = w.subtract(w.add("%size", -1), n) if self._is_turned else n
            other = w.entry(pivots, i)
            for a, b in zip(self._places(i), self._places(other), strict=True):
                _swap(w, a, b)

    def substitute(self, way: str, *, divides: bool) -> None:
        """Subtract from each row what the rows before it add, downwards or upwards; then divide it
        by the diagonal.
        """
        w = self._w
        with w.loop(way, 0, "%size") as n:
            i = n if way == "down" else w.subtract(w.add("%size", -1), n)
            places = self._places(i)
            start, stop = ("0", i) if way == "down" else (w.add(i, 1), "%size")
            sums = {f"%{way}{v}": w.load(place) for v, place in enumerate(places)}
            with w.loop(f"{way}.row", start, stop, sums) as j:
                element = self._element(i, j)
                if divides:  # of the other factor, negative elements are stored
                    element = w.put(f"fneg {w.element} {element}")
                times = w.everywhere(w.element, element)
                for name, place in zip(sums, self._places(j), strict=True):
                    w.name(w.fused(times, w.load(place), name), f"{name}.next")
            found = list(sums)
            if divides:
                pivot = w.everywhere(w.element, self._element(i, i))
                found = [w.over(x, pivot) for x in sums]
            for vector, place in zip(found, places, strict=True):
                w.store(vector, place)


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
