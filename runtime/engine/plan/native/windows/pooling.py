"""Derivatives of pooling as loops of machine code that read each image once and write no windows.

All work on planes: the rows and columns of one channel of an image, of which vectors are taken
along the columns of the result. The last vector of a row overlaps the one before.
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

SHARES = ("image", "image_plane", "image_row", "out", "out_plane", "out_row", "rows", "columns",
          "g", "g_plane", "g_row")  # fmt: skip
"""The frame of ``shares``: addresses, bytes, and the lengths of ``g``; ``out`` is as large as the
image. All are int64.
"""

SPREAD = ("g", "tap_row", "tap_column", "g_plane", "g_row", "out", "out_plane", "out_row", "rows",
          "columns", "image")  # fmt: skip
"""The frame of ``spread``: addresses, bytes and the lengths of ``g``, all int64."""


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

    @property
    def taps(self) -> list[tuple[int, int]]:
        """The places in a window, row by row."""
        return [(i, j) for i in range(self.window[0]) for j in range(self.window[1])]


@lru_cache(maxsize=64)
def shares(how: Window, clipped: bool) -> Kernel:
    """The gradient of the image whose windows, which lie side by side, have gradients ``g``.

    The largest elements of a window share it evenly: each gets ``g · 1 / n``, the others
    ``g · 0 / n``, where n is their number. With ``clipped`` what belongs to elements that are not
    above 0 is 0 instead. Elements in no window are not written.
    """
    w = Assembly("shares", how.dtype, how.lanes, SHARES)
    zero, one, no_number = (w.constant(x) for x in (0.0, 1.0, float("nan")))
    with vectors_of(w) as (plane, row, column):
        elements = elements_of(w, how, plane, row, column)
        g = w.load(place_of(w, "g", (plane, "g_plane"), (row, "g_row"), column, w.bytes))
        most = reduce(w.largest, elements)
        ties = [w.compare("oeq", x, most) for x in elements]
        count = reduce(w.plus, [w.choose(tie, one, zero) for tie in ties])
        # Divisions of 0 and 1 that need no division; + 0 makes 0 of −0, as the kernels do.
        other = w.choose(w.compare("oeq", count, zero), no_number, w.times(g, zero))
        won, lost = w.plus(w.over(g, count), zero), w.plus(other, zero)
        parts = [w.choose(tie, won, lost) for tie in ties]
        if clipped:
            parts = _clipped(w, parts, elements)
        _store_windows(w, how, parts, plane, row, column)
    return Kernel(*machine.function(w.text(), "shares", is_vector=True))


@lru_cache(maxsize=64)
def spread(how: Window, clipped: bool) -> Kernel:
    """The image whose windows, which lie side by side, are ``g``: (places in the window, planes).

    With ``clipped`` it is 0 where ``image``, which lies as ``out`` does, is not above 0. Elements
    in no window are not written.
    """
    w = Assembly("spread", how.dtype, how.lanes, SPREAD)
    zero = w.constant(0.0)
    with vectors_of(w) as (plane, row, column):
        first = place_of(w, "g", (plane, "g_plane"), (row, "g_row"), column, w.bytes)
        parts = []
        for i, j in how.taps:
            away = w.add(w.multiply("%tap_row", i), w.multiply("%tap_column", j))
            parts.append(w.plus(w.load(w.add(first, away)), zero))  # makes 0 of −0
        if clipped:
            step, top = how.window[1] * w.bytes, w.multiply(row, how.window[0])
            start = place_of(w, "image", (plane, "out_plane"), (top, "out_row"), column, step)
            elements = _elements(w, how, start, "%out_row")
            parts = _clipped(w, parts, elements)
        _store_windows(w, how, parts, plane, row, column)
    return Kernel(*machine.function(w.text(), "spread", is_vector=True))


@contextmanager
def vectors_of(w: Assembly) -> Iterator[tuple[str, str, str]]:
    """Loops over planes, rows and vectors of columns: their numbers, and that of a first column."""
    last = w.add("%columns", -w.lanes)
    count = w.put(f"sdiv i64 {w.add('%columns', w.lanes - 1)}, {w.lanes}")
    with (
        w.loop("plane", "%start", "%stop") as plane,
        w.loop("row", 0, "%rows") as row,
        w.loop("vector", 0, count) as vector,
    ):
        yield plane, row, w.least(w.multiply(vector, w.lanes), last)


def place_of(
    w: Assembly, base: str, plane: tuple[str, str], row: tuple[str, str], column: str, step: int
) -> str:
    """An address: a base and so many steps of planes, rows and columns."""
    planes = w.multiply(plane[0], f"%{plane[1]}")
    rows = w.multiply(row[0], f"%{row[1]}")
    return w.add(w.add(f"%{base}", planes), w.add(rows, w.multiply(column, step)))


def elements_of(w: Assembly, how: Window, plane: str, row: str, column: str) -> list[str]:
    """A vector for each place in the window, of neighbouring windows."""
    top = w.multiply(row, how.stride[0])
    step = how.stride[1] * w.bytes
    first = place_of(w, "image", (plane, "image_plane"), (top, "image_row"), column, step)
    return _elements(w, how, first, "%image_row")


def _elements(w: Assembly, how: Window, first: str, row_step: str) -> list[str]:
    """A vector for each place in windows of which the first begins there."""
    found = []
    for i, j in how.taps:
        away = w.add(w.multiply(row_step, i * how.dilation[0]), j * how.dilation[1] * w.bytes)
        found.append(w.every(how.stride[1], w.add(first, away)))
    return found


def _clipped(w: Assembly, parts: list[str], elements: list[str]) -> list[str]:
    """The parts, 0 where the elements are not above 0."""
    zero = w.constant(0.0)
    above = [w.compare("ogt", x, zero) for x in elements]
    return [w.choose(up, x, zero) for up, x in zip(above, parts, strict=True)]


def _store_windows(
    w: Assembly, how: Window, parts: list[str], plane: str, row: str, column: str
) -> None:
    """Write a vector for each place in the window back where ``elements_of`` would read it."""
    top = w.multiply(row, how.window[0])
    step = how.window[1] * w.bytes
    first = place_of(w, "out", (plane, "out_plane"), (top, "out_row"), column, step)
    for i in range(how.window[0]):
        some = parts[i * how.window[1] : (i + 1) * how.window[1]]
        w.store_side_by_side(some, w.add(first, w.multiply("%out_row", i)))
