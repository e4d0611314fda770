"""Running sums of rows by machine code: as many rows at once as a vector has elements."""

from __future__ import annotations

from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

RUNNING_SUMS = ("source", "target", "places", "columns")
"""The frame of ``running_sums``: addresses and counts, all int64."""


@lru_cache(maxsize=8)
def running_sums(dtype: str, lanes: int, backwards: bool) -> Kernel:
    """``target[i, j] = source[i, 0] + … + source[i, j]``, added in that order.

    ``call(frame, 0, start, stop)`` computes the bands from start to stop, of as many rows each as a
    vector has elements. ``places`` has where each row begins in both arrays, in bytes, for whole
    bands. Elements of a row lie side by side, those of the source in reverse if ``backwards``.
    """
    w = Assembly("running_sums", dtype, lanes, RUNNING_SUMS)
    with w.loop("band", "%start", "%stop") as band:
        first = w.multiply(band, lanes)
        pairs = [w.multiply(w.add(first, i), 2) for i in range(lanes)]
        sources = [w.add("%source", w.entry("%places", pair)) for pair in pairs]
        targets = [w.add("%target", w.entry("%places", w.add(pair, 1))) for pair in pairs]
        whole = w.put(f"udiv i64 %columns, {lanes}")
        squares = w.put(f"udiv i64 {w.add('%columns', lanes - 1)}, {lanes}")
        start = w.constant(-0.0)  # of which the sum with any number is that number
        with w.loop("whole", 0, whole, {"%sum": start}) as square:
            _square(w, sources, targets, square, "%sum", backwards)
        with w.loop("rest", whole, squares, {"%last": "%sum"}) as square:
            left = w.subtract("%columns", w.multiply(square, lanes))
            _square(w, sources, targets, square, "%last", backwards, left)
    return Kernel(*machine.function(w.text(), "running_sums", is_vector=True))


def _square(
    w: Assembly,
    sources: list[str],
    targets: list[str],
    square: str,
    total: str,
    backwards: bool,
    left: str | None = None,
) -> None:
    """As many columns as a vector has elements; with ``left``, so many of them."""
    away = w.multiply(square, w.lanes * w.bytes)
    back = w.subtract(-(w.lanes - 1) * w.bytes, away) if backwards else away
    places = [w.add(x, back) for x in sources]
    mask = None
    if left is None:
        found = [w.load(x) for x in places]
    else:
        (mask,) = w.lanes_before(left, 1)
        read = w.lanes_from(w.subtract(w.lanes, left)) if backwards else mask
        found = [w.load_where(read, x) for x in places]
    columns = w.transposed(found)
    sums: list[str] = []
    for i, column in enumerate(reversed(columns) if backwards else columns):
        more = w.plus(sums[-1] if sums else total, column)
        if i == w.lanes - 1:
            w.name(more, f"{total}.next")
            more = f"{total}.next"
        sums.append(more)
    for vector, x in zip(w.transposed(sums), targets, strict=True):
        place = w.add(x, away)
        if mask is None:
            w.store(vector, place)
        else:
            w.store_where(mask, vector, place)
