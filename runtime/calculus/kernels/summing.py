"""Sums along one axis of which numpy would add only a few numbers at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

SHORTEST, LONGEST = 2, 8
"""Lengths of a last axis that is added slice by slice."""

ROWS = 512
"""Rows from which adding slice by slice is faster."""

NARROW = 16
"""Elements behind an axis, up to which it is added half to half."""

FEWEST = 8
"""Length of an axis from which that is faster, in an array of at least ``LARGE`` elements."""

LARGE = 1 << 13

WIDE = 16
"""Elements behind an axis from which running sums are added level by level,"""

LEVEL = 256
"""if a level has as many elements: numpy adds up one column after another."""


def total(x: Any, axes: tuple[int, ...], dtype: Any) -> Any:
    """``Σ x`` over axes that stay with length 1, added in ``dtype``."""
    if adds_halves(x.shape, axes):
        return _halves(x, axes[0], dtype)
    if _is_sliced(x, axes):
        return _slices(x, dtype)
    return np.add.reduce(x, axis=axes, keepdims=True, dtype=dtype)


def bound_total(x: Any, axes: tuple[int, ...], out: Any) -> Callable[[], object] | None:
    """A call that leaves ``total`` of x, added in its own dtype, in ``out``, for arrays that stay
    where they are; None if it takes more than one call, or may add in another order.
    """
    in_order = x.flags.c_contiguous and out.flags.c_contiguous and x.dtype == out.dtype
    if not in_order or x.dtype == np.float16 or adds_halves(x.shape, axes) or _is_sliced(x, axes):
        return None
    return partial(np.add.reduce, x, axes, x.dtype, out, True)


def adds_halves(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether one half of an axis is added to the other: in another order than numpy's, so that
    sums that are stacked might have other bits.
    """
    if len(axes) != 1 or shape[axes[0]] < FEWEST or prod(shape) < LARGE:
        return False
    return 1 < prod(shape[axes[0] + 1 :]) <= NARROW


def accumulate(x: Any, out: Any, axis: int) -> None:
    """Running sums along an axis, in ``out`` of the same shape and dtype, which is other memory."""
    behind = prod(x.shape[axis + 1 :])
    if behind < WIDE or x.size < LEVEL * max(1, x.shape[axis]):
        np.add.accumulate(x, axis, None, out)
        return
    levels, sums = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    np.copyto(sums[0], levels[0])
    for i in range(1, len(levels)):
        np.add(sums[i - 1], levels[i], sums[i])


def _is_sliced(x: Any, axes: tuple[int, ...]) -> bool:
    if axes != (x.ndim - 1,) or not SHORTEST <= x.shape[-1] <= LONGEST:
        return False
    return bool(x.flags.c_contiguous and x.size >= ROWS * x.shape[-1])


def _slices(x: Any, dtype: Any) -> Any:
    """The slices of the last axis added up, in the order in which numpy adds a row: for 8 numbers,
    that is pairs, and pairs of pairs.
    """
    parts = [x[..., i : i + 1] for i in range(x.shape[-1])]
    if len(parts) == LONGEST:
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [np.add(a, b, dtype=dtype) for a, b in pairs]
        return parts[0]
    found = np.add(parts[0], parts[1], dtype=dtype)
    for part in parts[2:]:
        np.add(found, part, out=found)
    return found


def _halves(x: Any, axis: int, dtype: Any) -> Any:
    """One half of an axis added to the other until one element is left."""
    before = (slice(None),) * axis
    while (length := x.shape[axis]) > 1:
        half = length // 2
        found = np.add(x[*before, :half], x[*before, half : 2 * half], dtype=dtype)
        if length % 2:
            found[*before, :1] += x[*before, -1:]
        x = found
    return x
