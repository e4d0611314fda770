"""Elements that are each taken several times in a row, and what is added to them: by slices.

Resizing to the nearest element takes so; numpy would look up each place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

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
