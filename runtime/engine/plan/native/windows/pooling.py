"""Derivatives of pooling as loops of machine code that write no windows.

All work on planes: the rows and columns of one channel of an image, of which vectors are taken
along the columns of the result. The last vector of a row overlaps the one before. Where windows
overlap, each element of the image adds up what the windows around it give it, place by place in the
window, as the kernels do; neighbours whose places in their windows differ, because windows move by
two, are computed side by side.

It is beside the compiler, whose terms have no places that depend on remainders of strides: without
it, pooling and its gradient take 1.8 to 4.7 times as long, and a network of two convolutions 1.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from numpy import typing as npt

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

SHARED = ("image", "image_plane", "image_row", "out", "out_plane", "out_row", "won", "g", "g_plane",
          "g_row", "rows", "columns")  # fmt: skip
"""The frame of ``shared``: addresses, bytes, and the lengths of ``g``, all int64."""

AROUND = ("image", "image_plane", "image_row", "out", "out_plane", "out_row", "most",
          "most_plane", "most_row", "won", "rows", "columns")  # fmt: skip
"""The frame of ``around``: ``rows`` are those of the image, ``columns`` groups of neighbours."""

TURNS = ("g", "g_plane", "g_row", "phase", "out", "out_plane", "out_row", "rows", "columns")
"""The frame of ``in_turns``: addresses, bytes and the lengths of ``g``, all int64."""


def planes(**arrays: npt.NDArray[Any]) -> dict[str, Any]:
    """What frames have of images: where each is, and bytes from plane to plane and row to row."""
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        found[name] = array
        found[f"{name}_plane"], found[f"{name}_row"] = array.strides[-3:-1]
    return found


class Window(NamedTuple):
    """A window and how it moves, in elements, (rows, columns); columns by one or two."""

    dtype: str
    lanes: int
    window: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)


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
def shared(how: Window, beside: bool, clipped: bool) -> Kernel:
    """What the largest elements of windows get of ``g``, which they share evenly.

    ``out`` is the largest of each window and ``won`` what each that is so large gets, ``g / n``,
    where n is their number. Of windows ``beside`` each other, ``out`` is the gradient of the image
    instead: each that is so large gets ``g · 1 / n``, the others ``g · 0 / n``; with ``clipped``
    what belongs to elements that are not above 0 is 0. Elements in no window are not written.
    """
    w = Assembly("shared", how.dtype, how.lanes, SHARED)
    zero, one, no_number = (w.constant(x) for x in (0.0, 1.0, float("nan")))
    with _vectors_of(w) as (plane, row, column):
        top, step = w.multiply(row, how.stride[0]), how.stride[1] * w.bytes
        first = _place(w, "image", "image", plane, top, column, step)
        elements = []
        for i in range(how.window[0]):
            for j in range(how.window[1]):
                away = w.multiply("%image_row", i * how.dilation[0])
                away = w.add(away, j * how.dilation[1] * w.bytes)
                elements.append(w.every(how.stride[1], w.add(first, away)))
        most = reduce(w.largest, elements)
        ties = [w.compare("oeq", x, most) for x in elements]
        count = reduce(w.plus, [w.choose(tie, one, zero) for tie in ties])
        g = w.load(_place(w, "g", "g", plane, row, column, w.bytes))
        if beside:
            # Divisions of 0 and 1 that need no division; + 0 makes 0 of −0, as the kernels do.
            other = w.choose(w.compare("oeq", count, zero), no_number, w.times(g, zero))
            won, lost = w.plus(w.over(g, count), zero), w.plus(other, zero)
            parts = [w.choose(tie, won, lost) for tie in ties]
            if clipped:
                parts = [_clipped(w, *pair) for pair in zip(parts, elements, strict=True)]
            first = _place(w, "out", "out", plane, top, column, step)
            for i in range(how.window[0]):
                some = parts[i * how.window[1] : (i + 1) * how.window[1]]
                w.store_side_by_side(some, w.add(first, w.multiply("%out_row", i)))
        else:
            for base, found in (("out", most), ("won", w.over(g, count))):
                w.store(found, _place(w, base, "out", plane, row, column, w.bytes))
    return Kernel(*machine.function(w.text(), "shared"))


@lru_cache(maxsize=64)
def around(how: Around, compares: bool, clipped: bool) -> Kernel:
    """The image each of whose elements gets what all windows around it have ``won``.

    With ``compares`` it gets it from windows whose ``most`` it is, and that times 0 from others;
    with ``clipped`` nothing where it is not above 0.
    """
    w = Assembly("around", how.dtype, how.lanes, AROUND)
    zero = w.constant(0.0)
    down, across = len(how.rows), len(how.columns)
    step = across * w.bytes
    with w.loop("plane", "%start", "%stop") as plane:
        for phase, above in enumerate(how.rows):
            rows = w.put(f"sdiv i64 {w.add('%rows', down - 1 - phase)}, {down}")
            with w.loop(f"row{phase}", 0, rows) as row, _columns(w, str(phase)) as column:
                y = w.add(w.multiply(row, down), phase)
                start = _place(w, "image", "image", plane, y, column, step)
                found = []
                for beside, left in enumerate(how.columns):
                    x = w.every(across, w.add(start, beside * w.bytes)) if compares else ""
                    total = zero
                    for i in above:
                        for j in left:
                            at = plane, w.add(row, i), w.add(column, j), w.bytes
                            share = w.load(_place(w, "won", "most", *at))
                            if compares:
                                most = w.load(_place(w, "most", "most", *at))
                                wins = w.compare("oeq", x, most)
                                share = w.choose(wins, share, w.times(share, zero))
                            total = w.plus(total, share)
                    found.append(_clipped(w, total, x) if clipped else total)
                w.store_side_by_side(found, _place(w, "out", "out", plane, y, column, step))
    return Kernel(*machine.function(w.text(), "around"))


@lru_cache(maxsize=64)
def in_turns(dtype: str, lanes: int, phases: int) -> Kernel:
    """The columns of images in turns: of one or two, ``phase`` bytes apart."""
    w = Assembly("in_turns", dtype, lanes, TURNS)
    with _vectors_of(w) as (plane, row, column):
        first = _place(w, "g", "g", plane, row, column, w.bytes)
        places = (w.add(first, w.multiply("%phase", i)) for i in range(phases))
        parts = [w.plus(w.load(x), w.constant(0.0)) for x in places]  # makes 0 of −0
        out = _place(w, "out", "out", plane, row, column, phases * w.bytes)
        w.store_side_by_side(parts, out)
    return Kernel(*machine.function(w.text(), "in_turns"))


@contextmanager
def _vectors_of(w: Assembly) -> Iterator[tuple[str, str, str]]:
    """Loops over planes, rows and vectors of columns: their numbers, and that of a first column."""
    with w.loop("plane", "%start", "%stop") as plane, w.loop("row", 0, "%rows") as row:
        with _columns(w) as column:
            yield plane, row, column


@contextmanager
def _columns(w: Assembly, name: str = "") -> Iterator[str]:
    """A loop over vectors of columns: the number of the first column of each."""
    last = w.add("%columns", -w.lanes)
    count = w.put(f"sdiv i64 {w.add('%columns', w.lanes - 1)}, {w.lanes}")
    with w.loop(f"vector{name}", 0, count) as vector:
        yield w.least(w.multiply(vector, w.lanes), last)


def _place(w: Assembly, base: str, lies: str, plane: str, row: str, column: str, step: int) -> str:
    """An address: a base and so many steps of planes, rows and columns, as another lies."""
    away = w.add(w.multiply(plane, f"%{lies}_plane"), w.multiply(row, f"%{lies}_row"))
    return w.add(w.add(f"%{base}", away), w.multiply(column, step))


def _clipped(w: Assembly, part: str, x: str) -> str:
    """A part, 0 where x is not above 0."""
    zero = w.constant(0.0)
    return w.choose(w.compare("ogt", x, zero), part, zero)
