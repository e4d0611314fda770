"""Sums, largest and smallest elements along one axis of an array, however long the axes are."""

from __future__ import annotations

from functools import lru_cache
from math import inf

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel

FOLD = (
    "source", "out", "source_row", "out_row", "levels", "level", "columns", "source_column",
    "out_column",
)  # fmt: skip
"""The frame of the kernels: addresses, bytes and counts, all int64. What is folded are ``levels``,
which are ``level`` bytes apart; there are rows of columns of them.
"""

HOW = ("sum", "max", "min")
"""What there is code for. The largest and smallest are NaN where an element is."""


@lru_cache(maxsize=32)
def folded_across(how: str, dtype: str, lanes: int) -> Kernel:
    """Folds where columns lie side by side in both arrays: level by level, as numpy does.

    ``call(frame, 0, start, stop)`` folds the rows from start to stop.
    """
    w = Assembly("folded_across", dtype, lanes, FOLD)
    vectors = w.put(f"udiv i64 {w.add('%columns', lanes - 1)}, {lanes}")
    with w.loop("row", "%start", "%stop") as row:
        source = w.add("%source", w.multiply(row, "%source_row"))
        out = w.add("%out", w.multiply(row, "%out_row"))
        with w.loop("vector", 0, vectors) as vector:
            (mask,) = w.lanes_before(w.subtract("%columns", w.multiply(vector, lanes)), 1)
            away = w.multiply(vector, lanes * w.bytes)
            first = w.add(source, away)
            start = w.load_where(mask, first)
            with w.loop("deeper", 1, "%levels", {"%fold": start}) as level:
                found = w.load_where(mask, w.add(first, w.multiply(level, "%level")))
                w.name(_more(w, how, "%fold", found), "%fold.next")
            w.store_where(mask, "%fold", w.add(out, away))
    return Kernel(*machine.function(w.text(), "folded_across", is_vector=True))


@lru_cache(maxsize=32)
def folded_along(how: str, dtype: str, lanes: int) -> Kernel:
    """Folds where levels lie side by side: a vector at a time, whose elements are folded last.

    ``call(frame, 0, start, stop)`` folds the rows from start to stop.
    """
    w = Assembly("folded_along", dtype, lanes, FOLD)
    vectors = w.put(f"udiv i64 {w.add('%levels', lanes - 1)}, {lanes}")
    nothing = {"sum": "zeroinitializer", "max": w.constant(-inf), "min": w.constant(inf)}[how]
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


def _more(w: Assembly, how: str, fold: str, found: str) -> str:
    if how == "sum":
        return w.plus(fold, found)
    return w.largest(fold, found) if how == "max" else w.smallest(fold, found)
