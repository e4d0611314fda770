"""Products of matrices of which one has few rows: an example or some through a wide layer.

Nothing is packed but those rows: the large matrix is read or written once, as it lies in memory,
and sums of a few of its vectors are in registers. Vectors at edges are masked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

FEW_ROWS = (
    "left", "left_row", "left_next", "right", "right_row", "out", "out_row", "rows", "columns",
    "terms",
)  # fmt: skip
"""The frame of all kernels: addresses, bytes and counts, all int64. ``left_row`` and ``left_next``
are from row to row of the left operand and from term to term; ``right_row`` is from one line of the
right operand, along which elements lie side by side, to the next.
"""

PANEL = 512
"""Columns of the result that ``by_lines`` holds in the first-level cache."""

LINES = 8
"""Lines of the right operand that ``by_lines`` reads at once."""

MOST_ROWS = 8
"""Rows that ``by_lines`` and ``by_columns`` compute at once."""

ROWS_AT_ONCE = 4
"""Rows that ``of_few_terms`` computes at once."""

_SUMS = 24
"""Registers for sums; the rest is for operands."""


@lru_cache(maxsize=64)
def by_lines(dtype: str, lanes: int, rows: int) -> Kernel:
    """``out = left @ right`` for so many rows, where rows of the right operand lie contiguously.

    ``call(frame, scratch, start, stop)`` computes the panels of columns from start to stop. In
    scratch memory it has the sums, and in front of them what of the left operand they are made of.
    """
    w = Assembly("by_lines", dtype, lanes, FEW_ROWS)
    with w.loop("panel", "%start", "%stop") as number:
        first = w.multiply(number, PANEL)
        away = w.multiply(first, w.bytes)
        right = w.add("%right", away)
        sums = [w.add("%scratch", (LINES * rows + PANEL * t) * w.bytes) for t in range(rows)]
        width = w.least(w.subtract("%columns", first), PANEL)
        ahead = w.multiply("%right_row", LINES)

        def clear(column: str, mask: str | None) -> None:
            for place in sums:
                w.store("zeroinitializer", w.add(place, column))

        def add(count: int, lines: str, column: str, mask: str | None) -> None:
            places = [w.add(lines, w.multiply("%right_row", u)) for u in range(count)]
            for place in places:
                w.fetch(w.add(place, w.add(column, ahead)), for_writing=False)
            found = [_load(w, mask, w.add(place, column)) for place in places]
            for t, row in enumerate(sums):
                place = w.add(row, column)
                total = w.load(place)
                for u, vector in enumerate(found):
                    total = w.fused(w.spread("%scratch", u * rows + t), vector, total)
                w.store(total, place)

        def leave(column: str, mask: str | None) -> None:
            for t, row in enumerate(sums):
                out = w.add(w.add("%out", away), w.multiply("%out_row", t))
                _store(w, mask, w.load(w.add(row, column)), w.add(out, column))

        _along(w, "clear", width, clear)
        rounds = w.put(f"udiv i64 %terms, {LINES}")
        done = w.multiply(rounds, LINES)
        for name, count, start, stop in ("add", LINES, 0, rounds), ("rest", 1, done, "%terms"):
            with w.loop(name, start, stop) as some:
                term = w.multiply(some, count)
                _pack(w, w.add("%left", w.multiply(term, "%left_next")), rows, count)
                lines = w.add(right, w.multiply(term, "%right_row"))
                _along(w, name, width, partial(add, count, lines))
        _along(w, "leave", width, leave)
    return Kernel(*machine.function(w.text(), "by_lines", is_vector=True))


def _along(w: Assembly, name: str, width: str, body: Callable[[str, str | None], None]) -> None:
    """A loop over the vectors of a width: the body gets the bytes before it, and a mask for what
    is no whole vector.
    """
    whole = w.put(f"udiv i64 {width}, {w.lanes}")
    with w.loop(f"{name}.vectors", 0, whole) as vector:
        body(w.multiply(vector, w.lanes * w.bytes), None)
    done = w.multiply(whole, w.lanes)
    left = w.subtract(width, done)
    (mask,) = w.lanes_before(left, 1)
    with w.loop(f"{name}.edge", 0, w.least(left, 1)):
        body(w.multiply(done, w.bytes), mask)


def _load(w: Assembly, mask: str | None, address: str) -> str:
    return w.load(address) if mask is None else w.load_where(mask, address)


def _store(w: Assembly, mask: str | None, vector: str, address: str) -> None:
    if mask is None:
        w.store(vector, address)
    else:
        w.store_where(mask, vector, address)


def _pack(w: Assembly, left: str, rows: int, terms: int) -> None:
    """Copy elements of the left operand to the scratch memory: all rows of a term side by side."""
    for t in range(rows):
        row = w.add(left, w.multiply("%left_row", t))
        for u in range(terms):
            source = w.add(row, w.multiply("%left_next", u))
            w.copy(source, w.add("%scratch", (u * rows + t) * w.bytes))


def columns_at_once(rows: int) -> int:
    """Columns of the result that ``by_columns`` computes at once."""
    return max(1, min(8, _SUMS // rows))


@lru_cache(maxsize=64)
def by_columns(dtype: str, lanes: int, rows: int) -> Kernel:
    """``out = left @ right`` for so many rows, where columns of the right operand, and rows of the
    left one, lie contiguously; ``right_row`` is from one column to the next.

    ``call(frame, 0, start, stop)`` computes ``columns_at_once`` for each unit from start to stop;
    the last ones may be computed twice.
    """
    w = Assembly("by_columns", dtype, lanes, FEW_ROWS)
    some = columns_at_once(rows)
    whole = w.put(f"udiv i64 %terms, {lanes}")
    done = w.multiply(whole, lanes)
    (mask,) = w.lanes_before(w.subtract("%terms", done), 1)
    pairs = [(t, c) for t in range(rows) for c in range(some)]
    with w.loop("unit", "%start", "%stop") as unit:
        first = w.least(w.multiply(unit, some), w.add("%columns", -some))
        lines = w.add("%right", w.multiply(first, "%right_row"))
        columns = [w.add(lines, w.multiply("%right_row", c)) for c in range(some)]
        ahead = w.multiply("%right_row", some)
        lefts = [w.add("%left", w.multiply("%left_row", t)) for t in range(rows)]

        def add(column: str, mask: str | None, sums: str) -> None:
            for x in columns:
                w.fetch(w.add(x, w.add(column, ahead)), for_writing=False)
            right = [_load(w, mask, w.add(x, column)) for x in columns]
            for t, row in enumerate(lefts):
                left = _load(w, mask, w.add(row, column))
                for c, vector in enumerate(right):
                    w.name(w.fused(left, vector, f"{sums}{t}_{c}"), f"{sums}{t}_{c}.next")

        zeros = {f"%sum{t}_{c}": "zeroinitializer" for t, c in pairs}
        with w.loop("vector", 0, whole, zeros) as vector:
            add(w.multiply(vector, lanes * w.bytes), None, "%sum")
        ends = {f"%end{t}_{c}": f"%sum{t}_{c}" for t, c in pairs}
        rest = w.least(w.subtract("%terms", done), 1)
        with w.loop("last", 0, rest, ends):
            add(w.multiply(done, w.bytes), mask, "%end")
        for t, c in pairs:
            row = w.add("%out", w.multiply("%out_row", t))
            place = w.add(row, w.multiply(w.add(first, c), w.bytes))
            w.store_element(w.total(f"%end{t}_{c}"), place)
    return Kernel(*machine.function(w.text(), "by_columns", is_vector=True))


def scratch_bytes(rows: int, terms: int, size: int) -> int:
    """Bytes of memory that a call of any of the kernels needs for itself."""
    return (rows * (LINES + PANEL) + ROWS_AT_ONCE * terms) * size


@lru_cache(maxsize=64)
def of_few_terms(dtype: str, lanes: int, terms: int) -> Kernel:
    """``out = left @ right`` for so many terms, where rows of the right operand lie contiguously.

    ``call(frame, scratch, start, stop)`` computes ``ROWS_AT_ONCE`` for each unit from start to
    stop; the last ones may be computed twice.
    """
    w = Assembly("of_few_terms", dtype, lanes, FEW_ROWS)
    rows = ROWS_AT_ONCE
    with w.loop("unit", "%start", "%stop") as unit:
        first = w.least(w.multiply(unit, rows), w.add("%rows", -rows))
        _pack(w, w.add("%left", w.multiply(first, "%left_row")), rows, terms)
        out = w.add("%out", w.multiply(first, "%out_row"))
        outs = [w.add(out, w.multiply("%out_row", a)) for a in range(rows)]

        def write(column: str, mask: str | None) -> None:
            found = [
                _load(w, mask, w.add(w.add("%right", w.multiply("%right_row", t)), column))
                for t in range(terms)
            ]
            for a, row in enumerate(outs):
                total = w.times(w.spread("%scratch", a), found[0])
                for t, vector in enumerate(found[1:], start=1):
                    total = w.fused(w.spread("%scratch", t * rows + a), vector, total)
                _store(w, mask, total, w.add(row, column))

        _along(w, "write", "%columns", write)
    return Kernel(*machine.function(w.text(), "of_few_terms", is_vector=True))
