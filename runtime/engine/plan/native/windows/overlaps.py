"""Derivatives of pooling whose windows overlap, as loops of machine code.

Each element of the image adds up what the windows around it give it, place by place in the window,
as the kernels do. Neighbours whose places in their windows differ, because windows move by two, are
computed side by side.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import NamedTuple

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel
from gradwire.runtime.engine.plan.native.windows.pooling import (
    Window,
    elements_of,
    place_of,
    vectors_of,
)

WINNERS = ("image", "image_plane", "image_row", "most", "most_plane", "most_row", "won", "g",
           "g_plane", "g_row", "rows", "columns")  # fmt: skip
"""The frame of ``winners``: addresses, bytes and the lengths of ``g``, all int64."""

AROUND = ("image", "image_plane", "image_row", "out", "out_plane", "out_row", "most",
          "most_plane", "most_row", "won", "rows", "columns")  # fmt: skip
"""The frame of ``around``: ``rows`` are those of the image, ``columns`` groups of neighbours."""


class Around(NamedTuple):
    """Where windows lie around elements of an image.

    ``rows`` and ``columns`` have, for each remainder of the stride, the windows around the first
    element with this remainder, by their place in what ``won`` is.
    """

    dtype: str
    lanes: int
    rows: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=64)
def winners(how: Window) -> Kernel:
    """``most``, the largest element of each window, and ``won``, what each that is so large gets.

    That is ``g / n``, where n is their number. ``call(frame, 0, start, stop)`` computes the planes
    from start to stop; ``won`` lies as ``most`` does.
    """
    w = Assembly("winners", how.dtype, how.lanes, WINNERS)
    zero, one = w.constant(0.0), w.constant(1.0)
    with vectors_of(w) as (plane, row, column):
        elements = elements_of(w, how, plane, row, column)
        most = reduce(w.largest, elements)
        ties = [w.choose(w.compare("oeq", x, most), one, zero) for x in elements]
        g = w.load(place_of(w, "g", (plane, "g_plane"), (row, "g_row"), column, w.bytes))
        shares = w.over(g, reduce(w.plus, ties))
        for base, found in (("most", most), ("won", shares)):
            place = place_of(w, base, (plane, "most_plane"), (row, "most_row"), column, w.bytes)
            w.store(found, place)
    return Kernel(*machine.function(w.text(), "winners", is_vector=True))


@lru_cache(maxsize=64)
def around(how: Around, compares: bool, clipped: bool) -> Kernel:
    """The image each of whose elements gets what all windows around it have ``won``.

    With ``compares`` it gets it from windows whose ``most`` it is, and that times 0 from others;
    with ``clipped`` nothing where it is not above 0. ``call(frame, 0, start, stop)`` computes the
    planes from start to stop.
    """
    w = Assembly("around", how.dtype, how.lanes, AROUND)
    zero = w.constant(0.0)
    down, across = len(how.rows), len(how.columns)
    last = w.add("%columns", -w.lanes)
    count = w.put(f"sdiv i64 {w.add('%columns', w.lanes - 1)}, {w.lanes}")
    with w.loop("plane", "%start", "%stop") as plane:
        for phase, above in enumerate(how.rows):
            rows = w.put(f"sdiv i64 {w.add('%rows', down - 1 - phase)}, {down}")
            with (
                w.loop(f"row{phase}", 0, rows) as row,
                w.loop(f"vector{phase}", 0, count) as vector,
            ):
                column = w.least(w.multiply(vector, w.lanes), last)
                y = w.add(w.multiply(row, down), phase)
                step = across * w.bytes
                start = place_of(w, "image", (plane, "image_plane"), (y, "image_row"), column, step)
                found = []
                for beside, left in enumerate(how.columns):
                    x = w.every(across, w.add(start, beside * w.bytes)) if compares else ""
                    total = zero
                    for i in above:
                        for j in left:
                            at = [(plane, "most_plane"), (w.add(row, i), "most_row")]
                            places = [
                                place_of(w, base, at[0], at[1], w.add(column, j), w.bytes)
                                for base in ("most", "won")
                            ]
                            share = w.load(places[1])
                            if compares:
                                wins = w.compare("oeq", x, w.load(places[0]))
                                share = w.choose(wins, share, w.times(share, zero))
                            total = w.plus(total, share)
                    if clipped:
                        total = w.masked(w.compare("ogt", x, zero), total)
                    found.append(total)
                target = place_of(w, "out", (plane, "out_plane"), (y, "out_row"), column, step)
                w.store_side_by_side(found, target)
    return Kernel(*machine.function(w.text(), "around", is_vector=True))
