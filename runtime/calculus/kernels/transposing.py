"""Copies of transposed arrays, in blocks whose rows don't push each other out of the cache.

Rows at a distance of a power of two share few places in a processor's cache: copied one element of
each row at a time, a transposed array of 1,024 × 1,024 takes ten times as long.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

LARGE = 1 << 16
"""Elements from which blocks are faster."""

_BLOCK = 8
"""Columns that are copied at a time: as many rows have room at one place in the cache."""


def contiguous(x: Any) -> Any:
    """``np.ascontiguousarray(x)``: x itself, if it is contiguous."""
    if x.flags.c_contiguous or not is_transposed(x):
        return np.ascontiguousarray(x)
    out = np.empty(x.shape, x.dtype)
    copy_transposed(x, out)
    return out


def is_transposed(x: Any) -> bool:
    """Whether x is large, and neighbours along its last axis are far apart in memory, but those
    along the axis before near each other.
    """
    if x.size < LARGE or x.ndim < 2:
        return False
    return bool(x.strides[-2] == x.itemsize and x.strides[-1] > _BLOCK * x.itemsize)


def copy_transposed(x: Any, out: Any) -> None:
    """Copy x to ``out`` of its shape, some columns of all its last two axes at a time."""
    sheets = prod(x.shape[:-2])
    for number in range(sheets):
        sheet = np.unravel_index(number, x.shape[:-2]) if x.ndim > 2 else ()
        source, target = x[sheet], out[sheet]
        for start in range(0, x.shape[-1], _BLOCK):
            target[:, start : start + _BLOCK] = source[:, start : start + _BLOCK]
