"""Copies of matrices whose elements lie in any way."""

from __future__ import annotations

from functools import lru_cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly
from gradwire.runtime.engine.plan.native.loops import Kernel

COPY = (
    "source", "target", "source_row", "target_row", "columns", "source_column", "target_column",
)  # fmt: skip
"""The frame of the kernels: addresses, bytes from row to row and from column to column, and how
many columns there are, all int64.
"""


@lru_cache(maxsize=8)
def copied_rows(size: int, lanes: int) -> Kernel:
    """Copies elements of so many bytes, which lie side by side in rows of both.

    ``call(frame, 0, start, stop)`` copies the rows from start to stop.
    """
    w = Assembly("copied_rows", f"float{8 * size}", lanes, COPY)
    vectors = w.put(f"udiv i64 {w.add('%columns', lanes - 1)}, {lanes}")
    with w.loop("row", "%start", "%stop") as row:
        source, target = (
            w.add(f"%{name}", w.multiply(row, f"%{name}_row")) for name in ("source", "target")
        )
        with w.loop("vector", 0, vectors) as vector:
            (mask,) = w.lanes_before(w.subtract("%columns", w.multiply(vector, lanes)), 1)
            away = w.multiply(vector, lanes * size)
            w.store_where(mask, w.load_where(mask, w.add(source, away)), w.add(target, away))
    return Kernel(*machine.function(w.text(), "copied_rows", is_vector=True))


@lru_cache(maxsize=8)
def copied_elements(size: int) -> Kernel:
    """Copies elements of so many bytes one by one; see ``copied_rows``."""
    w = Assembly("copied_elements", f"float{8 * size}", 2, COPY)
    with w.loop("row", "%start", "%stop") as row, w.loop("column", 0, "%columns") as column:
        source, target = (
            w.add(w.add(f"%{name}", w.multiply(row, f"%{name}_row")),
                  w.multiply(column, f"%{name}_column"))
            for name in ("source", "target")
        )  # fmt: skip
        w.copy(source, target)
    return Kernel(*machine.function(w.text(), "copied_elements", is_vector=True))
