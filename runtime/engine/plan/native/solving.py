"""Linear equations in float64: Gauss's elimination with pivots, on vectors of rows.

Source: Golub and Van Loan 2013, "Matrix Computations", sections 3.2 and 3.4.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly

if TYPE_CHECKING:
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
