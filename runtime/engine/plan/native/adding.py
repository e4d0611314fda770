"""Rows added at places that repeat, in one loop of machine code, in their order."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.kernels import Kernel

Array = NDArray[Any]

ADD = ("out", "places", "rows", "row_bytes", "vectors")
"""The frame of ``add``: addresses, bytes of a row, and vectors in it; all int64."""


def adder(dtype: str, width: int) -> Callable[[Array, Array, Array], None] | None:
    """What does ``np.add.at(out, places, rows)``, with the same bits, for contiguous ``out`` and
    rows of this width; None where there is no code for the dtype, or no compiler.
    """
    if dtype not in ("float32", "float64") or not machine.installed():
        return None
    lanes = machine.vector(dtype, max(1, width))
    while width % lanes:
        lanes //= 2
    return partial(_add, dtype, lanes)


def _add(dtype: str, lanes: int, out: Array, places: Array, rows: Array) -> None:
    places, rows = np.ascontiguousarray(places, np.int64), np.ascontiguousarray(rows)
    frame = machine.frame(
        ADD, out=out, places=places, rows=rows, row_bytes=rows.shape[1] * rows.itemsize,
        vectors=rows.shape[1] // lanes,
    )  # fmt: skip
    _kernel(dtype, lanes).call(frame.ctypes.data, 0, 0, len(rows))


@lru_cache(maxsize=16)
def _kernel(dtype: str, lanes: int) -> Kernel:
    """``out[places[i]] += rows[i]`` for the rows from start to stop, in their order."""
    w = Assembly("add_rows", dtype, lanes, ADD)
    with w.loop("row", "%start", "%stop") as row:
        source = w.add("%rows", w.multiply(row, "%row_bytes"))
        target = w.add("%out", w.multiply(w.entry("%places", row), "%row_bytes"))
        with w.loop("vector", 0, "%vectors") as vector:
            away = w.multiply(vector, w.lanes * w.bytes)
            place = w.add(target, away)
            w.store(w.plus(w.load(place), w.load(w.add(source, away))), place)
    return Kernel(*machine.function(w.text(), "add_rows"))
