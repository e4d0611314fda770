"""Copies of transposed arrays, in blocks whose rows don't push each other out of the cache.

Rows at a distance of a power of two share few places in a processor's cache: copied one element of
each row at a time, a transposed array of 1,024 × 1,024 takes ten times as long.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

LARGE = 1 << 16
"""Elements of a sheet from which blocks are faster."""

_BLOCK = 8
"""Columns that are copied at a time: as many rows have room at one place in the cache."""


def contiguous(x: Array) -> Array:
    """``np.ascontiguousarray(x)``: x itself, if it is contiguous."""
    if x.flags.c_contiguous or not is_transposed(x):
        return np.ascontiguousarray(x)
    out = np.empty(x.shape, x.dtype)
    copy_transposed(x, out)
    return out


def is_transposed(x: Array) -> bool:
    """Whether sheets of x are large, and neighbours along its last axis are far apart in memory,
    but those along the axis before near each other. Axes before that are one with it where they
    go on in memory.
    """
    if x.size < LARGE or x.ndim < 2:
        return False
    if x.strides[-2] != x.itemsize or x.strides[-1] <= _BLOCK * x.itemsize:
        return False
    return _rows(x) * int(x.shape[-1]) >= LARGE


def _rows(x: Array) -> int:
    """Elements that lie side by side along the axes before the last."""
    rows = 1
    for length, step in zip(x.shape[-2::-1], x.strides[-2::-1], strict=True):
        if step != rows * x.itemsize:
            break
        rows *= length
    return rows


def copy_transposed(x: Array, out: Array) -> None:
    """Copy x to ``out`` of its shape, some columns of all its last two axes at a time."""
    while x.ndim > 2 and _go_on(x) and _go_on(out):
        shape = (*x.shape[:-3], x.shape[-3] * x.shape[-2], x.shape[-1])
        x, out = x.reshape(shape), out.reshape(shape)
    sheets = prod(x.shape[:-2])
    for number in range(sheets):
        sheet = np.unravel_index(number, x.shape[:-2]) if x.ndim > 2 else ()
        source, target = x[sheet], out[sheet]
        for start in range(0, x.shape[-1], _BLOCK):
            target[:, start : start + _BLOCK] = source[:, start : start + _BLOCK]


def _go_on(x: Array) -> bool:
    """Whether the last axis but two goes on in memory where that behind it ends."""
    return bool(x.strides[-3] == x.shape[-2] * x.strides[-2])
