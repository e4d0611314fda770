"""Sums, largest and smallest elements along one axis of an array, however long the axes are."""

from __future__ import annotations

from functools import lru_cache
from math import inf

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

FOLD = (
    "source", "out", "source_row", "out_row", "levels", "level", "columns", "source_column",
    "out_column",
)  # fmt: skip
"""The frame of the kernels: addresses, bytes and counts, all int64. What is folded are ``levels``,
which are ``level`` bytes apart; there are rows of columns of them.
"""

HOW = ("sum", "max", "min")
"""What there is code for. The largest and smallest are NaN where an element is."""


PART = 256
"""Levels that are added one after another; then the sums of so many are."""

ABREAST = 4
"""Vectors of columns that are folded at once."""


@lru_cache(maxsize=32)
def folded_across(how: str, dtype: str, lanes: int) -> Kernel:
    """Folds where columns lie side by side in both arrays: level by level, as numpy does.

    ``call(frame, 0, start, stop)`` folds the rows from start to stop.
    """
    w = Assembly("folded_across", dtype, lanes, FOLD)
    whole = w.put(f"udiv i64 %columns, {lanes * ABREAST}")
    done = w.multiply(whole, ABREAST)
    vectors = w.put(f"udiv i64 {w.add('%columns', lanes - 1)}, {lanes}")
    with w.loop("row", "%start", "%stop") as row:
        source = w.add("%source", w.multiply(row, "%source_row"))
        out = w.add("%out", w.multiply(row, "%out_row"))
        with w.loop("some", 0, whole) as some:
            away = w.multiply(some, lanes * ABREAST * w.bytes)
            starts = [w.add(w.add(source, away), v * lanes * w.bytes) for v in range(ABREAST)]
            found = _folded(w, how, "some", starts, None)
            for v, vector in enumerate(found):
                w.store(vector, w.add(w.add(out, away), v * lanes * w.bytes))
        with w.loop("one", done, vectors) as one:
            (mask,) = w.lanes_before(w.subtract("%columns", w.multiply(one, lanes)), 1)
            away = w.multiply(one, lanes * w.bytes)
            (vector,) = _folded(w, how, "one", [w.add(source, away)], mask)
            w.store_where(mask, vector, w.add(out, away))
    return Kernel(*machine.function(w.text(), "folded_across", is_vector=True))


def _folded(w: Assembly, how: str, name: str, starts: list[str], mask: str | None) -> list[str]:
    """Some vectors of columns that begin at these addresses, folded over all levels."""

    def at(level: str) -> list[str]:
        places = [w.add(start, w.multiply(level, "%level")) for start in starts]
        return [w.load(x) if mask is None else w.load_where(mask, x) for x in places]

    parts = w.put(f"udiv i64 {w.add('%levels', PART - 1)}, {PART}")
    nothing = _nothing(w, how)
    wholes = {f"%{name}.whole{v}": nothing for v in range(len(starts))}
    with w.loop(f"{name}.part", 0, parts, wholes) as part:
        first = w.multiply(part, PART)
        folds = {f"%{name}.fold{v}": x for v, x in enumerate(at(first))}
        stop = w.least(w.add(first, PART), "%levels")
        with w.loop(f"{name}.level", w.add(first, 1), stop, folds) as level:
            for fold, found in zip(folds, at(level), strict=True):
                w.name(_more(w, how, fold, found), f"{fold}.next")
        for whole, fold in zip(wholes, folds, strict=True):
            w.name(_more(w, how, whole, fold), f"{whole}.next")
    return list(wholes)


@lru_cache(maxsize=32)
def folded_along(how: str, dtype: str, lanes: int) -> Kernel:
    """Folds where levels lie side by side: a vector at a time, whose elements are folded last.

    ``call(frame, 0, start, stop)`` folds the rows from start to stop.
    """
    w = Assembly("folded_along", dtype, lanes, FOLD)
    vectors = w.put(f"udiv i64 {w.add('%levels', lanes - 1)}, {lanes}")
    nothing = _nothing(w, how)
    with w.loop("row", "%start", "%stop") as row, w.loop("column", 0, "%columns") as column:
        source, out = (
            w.add(w.add(f"%{name}", w.multiply(row, f"%{name}_row")),
                  w.multiply(column, f"%{name}_column"))
            for name in ("source", "out")
        )  # fmt: skip
        with w.loop("vector", 0, vectors, {"%fold": nothing}) as vector:
            (mask,) = w.lanes_before(w.subtract("%levels", w.multiply(vector, lanes)), 1)
            found = w.load_where(mask, w.add(source, w.multiply(vector, lanes * w.bytes)))
            if how != "sum":
                found = w.choose(mask, found, nothing)
            w.name(_more(w, how, "%fold", found), "%fold.next")
        w.store_element(w.total("%fold") if how == "sum" else w.extreme(how, "%fold"), out)
    return Kernel(*machine.function(w.text(), "folded_along", is_vector=True))


def _nothing(w: Assembly, how: str) -> str:
    """What changes nothing."""
    return "zeroinitializer" if how == "sum" else w.constant(-inf if how == "max" else inf)


def _more(w: Assembly, how: str, fold: str, found: str) -> str:
    if how == "sum":
        return w.plus(fold, found)
    return w.largest(fold, found) if how == "max" else w.smallest(fold, found)
