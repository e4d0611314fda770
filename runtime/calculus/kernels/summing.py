"""Sums of which numpy would add only a few numbers at a time.

The library of matrix products multiplies a row by ones, which adds it up, two to five times as fast
as numpy. Rows and columns are multiplied in parts: so errors are no larger than numpy's, a row has
the same bits among any others, and no part is worth several threads, which might share it in
another way each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

SHORTEST, LONGEST = 2, 8
"""Lengths of a last axis that is added slice by slice."""

ROWS = 512
"""Rows from which adding slice by slice is faster."""

NARROW = 16
"""Elements behind an axis, up to which it is added half to half."""

FEWEST = 8
"""Length of an axis from which that is faster, in an array of at least ``LARGE`` elements."""

LARGE = 1 << 13

ROW, ROW_PART = 32, 512
"""Lengths of rows that are multiplied by ones, and of the parts of long ones: in large arrays."""

COLUMN, WIDEST, COLUMN_PART = 8, 256, 9 << 10
"""Lengths of columns that are, how many may be side by side, and elements of their parts."""

_KNOWN = 1 << 12
"""Shapes of which is remembered how they are summed."""

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))

WIDE = 16
"""Elements behind an axis from which running sums are added level by level,"""

LEVEL = 256
"""if a level has as many elements: numpy adds up one column after another."""


def total(x: Array, axes: tuple[int, ...], dtype: DTypeLike) -> Array:
    """``Σ x`` over axes that stay with length 1, added in ``dtype``."""
    if _adds_halves(x.shape, axes):
        return _halves(x, axes[0], dtype)
    if _is_sliced(x, axes):
        return _slices(x, dtype)
    if x.dtype == dtype and (product := _product(x, axes)) is not None:
        last = np.empty(product.last, dtype)
        _multiply(x.reshape(product.whole), last)
        return np.add.reduce(last, axis=product.before, keepdims=True) if product.before else last
    return np.add.reduce(x, axis=axes, keepdims=True, dtype=dtype)


def bound_total(x: Array, axes: tuple[int, ...], out: Array) -> Callable[[], object] | None:
    """A call that leaves ``total`` of x, added in its own dtype, in ``out``, for arrays that stay
    where they are; None if it takes more than one call.
    """
    in_order = x.flags.c_contiguous and out.flags.c_contiguous and x.dtype == out.dtype
    if not in_order or x.dtype == np.float16 or _adds_halves(x.shape, axes) or _is_sliced(x, axes):
        return None
    if (product := _product(x, axes)) is not None:
        whole = x.reshape(product.whole)
        if not product.before:
            return partial(_multiply, whole, out)
        return partial(_multiply_and_add, whole, np.empty(product.last, x.dtype), product, out)
    return partial(np.add.reduce, x, axes, x.dtype, out, True)


def has_order_of_its_own(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether a sum may be added in another order than numpy's: so that sums that are stacked might
    have other bits.
    """
    return _adds_halves(shape, axes) or _multiplied(shape, axes) is not None


@lru_cache(_KNOWN)
def _adds_halves(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether one half of an axis is added to the other."""
    if len(axes) != 1 or shape[axes[0]] < FEWEST or prod(shape) < LARGE:
        return False
    return 1 < prod(shape[axes[0] + 1 :]) <= NARROW


class _Product(NamedTuple):
    """How the last of the axes that are summed are added by a product."""

    whole: tuple[int, int, int]
    """Places, the elements that are added, and those behind;"""

    last: tuple[int, ...]
    """the shape once they are added;"""

    before: tuple[int, ...]
    """and the axes that are added up then."""


@lru_cache(_KNOWN)
def _multiplied(shape: tuple[int, ...], axes: tuple[int, ...]) -> _Product | None:
    """How sums are products with ones; None if they are not."""
    summed = [axis for axis in sorted(axes) if shape[axis] > 1]
    if not summed or prod(shape) < LARGE:
        return None
    first, end = summed[-1], summed[-1] + 1
    while first and (first - 1 in axes or shape[first - 1] == 1):
        first -= 1
    length, behind = prod(shape[first:end]), prod(shape[end:])
    fits = length >= ROW if behind == 1 else length >= COLUMN and NARROW < behind <= WIDEST
    if not fits:
        return None
    last = (*shape[:first], *(1 if i in axes else shape[i] for i in range(first, len(shape))))
    before = tuple(axis for axis in summed if axis < first)
    return _Product((prod(shape[:first]), length, behind), last, before)


def accumulate(x: Array, out: Array, axis: int) -> None:
    """Running sums along an axis, in ``out`` of the same shape and dtype, which is other memory."""
    behind = prod(x.shape[axis + 1 :])
    if behind < WIDE or x.size < LEVEL * max(1, x.shape[axis]):
        np.add.accumulate(x, axis, None, out)
        return
    levels, sums = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    np.copyto(sums[0], levels[0])
    for i in range(1, len(levels)):
        np.add(sums[i - 1], levels[i], sums[i])


def _product(x: Array, axes: tuple[int, ...]) -> _Product | None:
    """How the sums of an array are products; None if they are not."""
    if x.dtype not in _DTYPES or not x.flags.c_contiguous:
        return None
    return _multiplied(x.shape, axes)


@lru_cache(256)
def _ones(length: int, dtype: DTypeLike) -> Array:
    ones = np.ones((1, length), dtype)
    ones.flags.writeable = False
    return ones


def _multiply_and_add(x: Array, last: Array, product: _Product, out: Array) -> None:
    _multiply(x, last)
    np.add.reduce(last, axis=product.before, out=out, keepdims=True)


def _multiply(x: Array, out: Array) -> None:
    """The sums along the middle axis in ``out``, as products with ones."""
    places, _, behind = x.shape
    if behind > 1:
        _columns(x, out.reshape(places, 1, behind))
    else:
        _rows(x.reshape(places, -1), out.reshape(places))


def _rows(x: Array, out: Array) -> None:
    """The sum of each row; of long rows, of each part."""
    count, length = x.shape
    if length <= 2 * ROW_PART:
        np.matmul(x[:, None, :], _ones(length, x.dtype).T, out[:, None, None])
        return
    parts = length // ROW_PART
    whole = x[:, : parts * ROW_PART].reshape(count, parts, 1, ROW_PART)
    sums = np.matmul(whole, _ones(ROW_PART, x.dtype).T).reshape(count, parts)
    np.add.reduce(sums, 1, out=out)
    if rest := length % ROW_PART:
        np.add(out, np.add.reduce(x[:, -rest:], 1), out)


def _columns(x: Array, out: Array) -> None:
    """The sums along the middle axis; of long columns, of each part."""
    places, length, behind = x.shape
    most = COLUMN_PART // behind
    if length <= most:
        np.matmul(_ones(length, x.dtype), x, out)
        return
    each = next((n for n in range(most, most // 2, -1) if length % n == 0), most)
    parts = length // each
    whole = x[:, : parts * each].reshape(places, parts, each, behind)
    np.add.reduce(np.matmul(_ones(each, x.dtype), whole), 1, out=out)
    if rest := length % each:
        np.add(out, np.add.reduce(x[:, -rest:], axis=1, keepdims=True), out)


def _is_sliced(x: Array, axes: tuple[int, ...]) -> bool:
    if axes != (x.ndim - 1,) or not SHORTEST <= x.shape[-1] <= LONGEST:
        return False
    return bool(x.flags.c_contiguous and x.size >= ROWS * x.shape[-1])


def _slices(x: Array, dtype: DTypeLike) -> Array:
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


def _halves(x: Array, axis: int, dtype: DTypeLike) -> Array:
    """One half of an axis added to the other until one element is left."""
    before = (slice(None),) * axis
    while (length := x.shape[axis]) > 1:
        half = length // 2
        found = np.add(x[*before, :half], x[*before, half : 2 * half], dtype=dtype)
        if length % 2:
            found[*before, :1] += x[*before, -1:]
        x = found
    return x
