"""Copies of transposed arrays: squares of a vector by a vector, turned in registers."""

from __future__ import annotations

from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

COPY = ("source", "target", "places", "source_step", "target_step", "rows", "columns", "bands")
"""The frame of ``transposed_copy``; steps are bytes, all are int64."""


@lru_cache(maxsize=8)
def transposed_copy(size: int, lanes: int) -> Kernel:
    """``target[j, i] = source[i, j]`` for bands of as many rows as a vector has elements.

    ``call(frame, 0, start, stop)`` copies the bands from start to stop. There are ``bands`` in each
    of the sheets, of which ``places`` has the bytes from the first one in both arrays.
    """
    w = Assembly("transposed_copy", f"float{8 * size}", lanes, COPY)
    with w.loop("unit", "%start", "%stop") as unit:
        sheet = w.put(f"udiv i64 {unit}, %bands")
        row = w.multiply(w.subtract(unit, w.multiply(sheet, "%bands")), lanes)
        source, target = (
            w.add(w.add(base, w.entry("%places", w.add(w.multiply(sheet, 2), i))), away)
            for i, (base, away) in enumerate(
                (("%source", w.multiply(row, size)), ("%target", w.multiply(row, "%target_step")))
            )
        )
        left = w.subtract("%rows", row)
        is_whole = w.most(w.least(w.add(left, 1 - lanes), 1), 0)
        whole = w.multiply(w.put(f"udiv i64 %columns, {lanes}"), is_whole)
        with w.loop("whole", 0, whole) as j:
            _turn(w, source, target, w.multiply(j, lanes))
        squares = w.put(f"udiv i64 {w.add('%columns', lanes - 1)}, {lanes}")
        with w.loop("rest", whole, squares) as j:
            _turn(w, source, target, w.multiply(j, lanes), left)
    return Kernel(*machine.function(w.text(), "transposed_copy", is_vector=True))


def _turn(w: Assembly, source: str, target: str, column: str, left: str | None = None) -> None:
    """Copy a square; with ``left``, of so many rows, as far as there are columns."""
    source = w.add(source, w.multiply(column, "%source_step"))
    target = w.add(target, w.multiply(column, w.bytes))
    sources = [w.add(source, w.multiply("%source_step", i)) for i in range(w.lanes)]
    targets = [w.add(target, w.multiply("%target_step", i)) for i in range(w.lanes)]
    if left is None:
        for vector, place in zip(w.transposed([w.load(x) for x in sources]), targets, strict=True):
            w.store(vector, place)
        return
    columns = w.subtract("%columns", column)
    (of_rows,), (of_columns,) = w.lanes_before(left, 1), w.lanes_before(columns, 1)
    found = [w.load_where(w.if_more(of_rows, columns, i), x) for i, x in enumerate(sources)]
    for i, (vector, place) in enumerate(zip(w.transposed(found), targets, strict=True)):
        w.store_where(w.if_more(of_columns, left, i), vector, place)
