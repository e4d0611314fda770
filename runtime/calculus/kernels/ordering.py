"""Positions that sort, by sorting numbers that carry their positions.

Numpy sorts numbers several times as fast as it finds the positions of equal ones in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


# Elements that are each taken several times in a row, and what is added to them: by slices.
#
# Resizing to the nearest element takes so; numpy would look up each place.

_MOST = 64
"""Repeats up to which there are few slices."""


def repeats(indices: Array, length: int) -> int:
    """How many times each place of an axis comes in a row, the places in order; 0 if not so."""
    if indices.ndim != 1 or not length or indices.size % length:
        return 0
    count: int = indices.size // length
    if not 1 < count <= _MOST or indices[-1] != length - 1:
        return 0
    is_so = (indices.reshape(length, count) == np.arange(length)[:, None]).all()
    return count if is_so else 0


def repeat(x: Array, count: int, axis: int, out: Array) -> None:
    """``np.repeat(x, count, axis)``, into ``out``."""
    for part in _slices(out, count, axis):
        part[...] = x


def add_repeated(x: Array, updates: Array, count: int, axis: int, out: Array) -> None:
    """The transpose of ``repeat``, added to x in order, into ``out``."""
    first, *others = _slices(updates, count, axis)
    np.add(x, first, out=out)
    for part in others:
        out += part


def _slices(x: Array, count: int, axis: int) -> list[Array]:
    """Views of every so many elements along an axis, from each of the first ones on."""
    before = (slice(None),) * axis
    return [x[(*before, slice(i, None, count))] for i in range(count)]


LARGE = 1 << 11
"""Elements from which that is faster, in rows of at least ``LONG``."""

LONG = 64

_BITS = 32
"""Bits for a position; those above are for the number."""


def stable_order(x: Array, axis: int, descending: bool = False) -> Array:
    """Positions that sort along an axis; equal elements keep their order, and NaN counts as the
    largest.
    """
    is_long = x.size >= LARGE and LONG <= x.shape[axis] < 1 << _BITS - 1
    ranks = _ranks(x) if is_long else None
    if ranks is not None:
        return _packed_order(~ranks if descending else ranks, axis)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    back = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    found: Array = x.shape[axis] - 1 - back
    return found


def _packed_order(ranks: Array, axis: int) -> Array:
    """The order of ranks, which are int64 of 32 bits and are overwritten."""
    positions = np.arange(ranks.shape[axis])
    ranks <<= _BITS
    ranks |= positions.reshape(-1, *(1,) * (ranks.ndim - 1 - axis))
    found = np.sort(ranks, axis=axis)
    found &= (1 << _BITS) - 1
    return found


def _ranks(x: Array) -> Array | None:
    """Int64 numbers of 32 bits that are ordered as the elements; None if there are none."""
    if x.dtype in (np.float16, np.float32):
        return _float_ranks(x)
    if x.dtype.kind == "f":
        return None
    x = x if x.dtype.itemsize == 8 else x.astype(np.int64)
    least, most = x.min(), x.max()
    fits = int(most) - int(least) < 1 << _BITS - 1
    return (x - least).astype(np.int64) if fits else None


def _float_ranks(x: Array) -> Array:
    """The bits of float32, of which those of numbers below 0 are turned: −0 counts as 0."""
    wide = np.add(x, 0, dtype=np.float32)
    wide[np.isnan(wide)] = np.nan  # one of many, whose sign is 0
    bits = wide.view(np.int32)
    bits ^= (bits >> 31) & (2**31 - 1)
    return bits.astype(np.int64)
