"""Products of float32 matrices by blocks that stay in registers and caches.

As in BLIS: a block of ``DEEP`` columns of ``a`` is copied into panels of a few rows, as many rows
of ``b`` into panels of two registers' width, both in the order in which they are read; what a pair
of panels adds to the result stays in registers all the while. Sums run over ``DEEP`` products at a
time, in order, so that rounding errors are those of any such product. Source: Van Zee & van de
Geijn, BLIS, 2015.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.engine import threads
from runtime.engine.native import machine
from runtime.engine.native.panels import DEEP, FIELDS, PITCH, block_code, driver, tallest

Array = NDArray[Any]

_WORTH_THREADS = 1 << 25
"""Multiplications and additions from which several threads are faster than one."""

_OUT, _PLACES = FIELDS.index("out"), FIELDS.index("a_panels")


class Product:
    """``product(a, b, out=out)``: matrices, or as many as ``out`` has, of float32.

    An operand with no contiguous axis is multiplied by numpy. ``out`` is contiguous and shares no
    memory with the operands.
    """

    def __init__(self) -> None:
        self._operands: tuple[Array, Array] | None = None
        self._lanes: list[list[Frame]] = []

    def __call__(self, a: Array, b: Array, out: Array) -> None:
        """Compute, on as many threads as there may be where it is worth it."""
        if self._operands is None or a is not self._operands[0] or b is not self._operands[1]:
            fit = all(_runs_on(x, -1) or _runs_on(x, -2) for x in (a, b))
            self._lanes = _lanes(a, b, out) if fit else []
            self._operands = a, b
        place = _address(out)
        if not self._lanes:
            np.matmul(a, b, out)
        elif len(self._lanes) == 1:
            _go(self._lanes[0], place)
        else:
            threads.together([partial(_go, frames, place) for frames in self._lanes])


class Frame:
    """One product of two matrices, told to the driver."""

    def __init__(self, a: Array, b: Array, out: Array, away: int) -> None:
        (rows, depth), columns = a.shape, b.shape[1]
        panels = -(-rows // tallest())
        height, taller = divmod(rows, panels)
        self._code = driver(), block_code(height), block_code(height + (taller > 0))
        self.away = away
        """Bytes from the start of all results to this one."""
        self.scratch = panels * PITCH * min(depth, DEEP)
        """Elements that the panels of ``a`` take."""
        self.fields = (ctypes.c_int64 * len(FIELDS))(
            *_operand(a), *_operand(b), 0, out.strides[0], rows, columns, depth, height, panels,
            taller, self._code[1].address, self._code[2].address, 0, 0, 0,
        )  # fmt: skip
        self.place = ctypes.addressof(self.fields)
        self.call = self._code[0].call
        self.width = -(-columns // (2 * machine.lanes()))


def _lanes(a: Array, b: Array, out: Array) -> list[list[Frame]]:
    """All products, matrix by matrix, or one matrix by rows, divided among threads."""
    batch = out.shape[:-2]
    a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    start = _address(out)
    count = min(threads.count(), 1 if 2 * out.size * a.shape[-1] < _WORTH_THREADS else 1 << 16)
    parts = [(a[i], b[i], out[i]) for i in np.ndindex(*batch)]
    if len(parts) == 1:
        ((left, right, whole),) = parts
        count = min(count, -(-len(left) // tallest()))
        cuts = [len(left) * i // count for i in range(count + 1)]
        parts = [(left[i:j], right, whole[i:j]) for i, j in itertools.pairwise(cuts)]
    frames = [Frame(*part, _address(part[2]) - start) for part in parts]
    count = min(count, len(frames))
    cuts = [len(frames) * i // count for i in range(count + 1)]
    return [frames[i:j] for i, j in itertools.pairwise(cuts)]


def _go(frames: list[Frame], out: int) -> None:
    for frame in frames:
        fields = frame.fields
        fields[_OUT] = out + frame.away
        fields[_PLACES], fields[_PLACES + 1], fields[_PLACES + 2] = _scratch.places(frame.scratch)
        frame.call(frame.place, 0, 0, frame.width)


def _runs_on(x: Array, axis: int) -> bool:
    """Whether what follows along an axis follows in memory."""
    return x.strides[axis] == x.itemsize or x.shape[axis] == 1


def _operand(x: Array) -> tuple[int, int, int]:
    """Address, step, and whether columns are what is contiguous."""
    turned = not _runs_on(x, -1)
    return _address(x), x.strides[1 if turned else 0], int(turned)


def _address(x: Array) -> int:
    place: int = x.__array_interface__["data"][0]
    return place


class _Scratch(threading.local):
    """Memory for panels, of each thread its own, at the start of cache lines."""

    def __init__(self) -> None:
        self._elements = -1
        self._memory: Array | None = None
        self._places = 0, 0, 0

    def places(self, elements: int) -> tuple[int, int, int]:
        """Addresses for the panels of ``a``, one panel of ``b``, and one block of the result."""
        if elements > self._elements:
            panel, block = 2 * machine.lanes() * DEEP, 2 * machine.lanes() * PITCH
            self._elements = elements
            self._memory = np.zeros(elements + panel + block + PITCH, np.float32)
            first = -(-_address(self._memory) // 64) * 64
            self._places = first, first + 4 * elements, first + 4 * (elements + panel)
        return self._places


_scratch = _Scratch()
