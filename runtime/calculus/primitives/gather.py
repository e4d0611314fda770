"""Indexing by computed indices: gather, scatter, sort, one-hot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import DTypeError, ShapeError
from gradwire.runtime.calculus.dtypes import INTEGERS, checked_dtype
from gradwire.runtime.calculus.kernels.adding import add_rows
from gradwire.runtime.calculus.kernels.ordering import add_repeated, repeat, repeats, stable_order
from gradwire.runtime.calculus.primitives.base import BaseOps, axis_of, lengths_of
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.value import Operand

_LARGE = 1 << 12
"""Elements from which adding to those of a flat array, or slices of repeats, are faster."""


def _take_infer(x: Value, indices: Value, *, axis: int) -> tuple[Shape, str]:
    return (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype


def checked(indices: Array, length: int) -> Array:
    """The indices; raises IndexError for one that is out of range."""
    if indices.size and (indices.min() < -length or indices.max() >= length):
        wrong = indices[(indices < -length) | (indices >= length)].flat[0]
        raise IndexError(f"index {wrong} is out of range for an axis of length {length}")
    return indices


def _take_kernel(x: Array, indices: Array, *, out: Array, axis: int) -> None:
    count = repeats(indices, x.shape[axis]) if x.size >= _LARGE else 0
    if count:
        repeat(x, count, axis, out)
    else:
        np.take(x, checked(indices, x.shape[axis]), axis=axis, out=out, mode="wrap")


def _scatter_infer(x: Value, indices: Value, updates: Value, *, axis: int) -> tuple[Shape, str]:
    wanted, _ = _take_infer(x, indices, axis=axis)
    if updates.shape != wanted:
        raise ShapeError(
            "Updates of scatter_add have the wrong shape.",
            expected=str(list(wanted)),
            got=str(list(updates.shape)),
        )
    return x.shape, x.dtype


def _scatter_kernel(x: Array, indices: Array, updates: Array, *, out: Array, axis: int) -> None:
    """Adds in the order of the indices, so that repeated ones are deterministic."""
    length, rank = x.shape[axis], indices.ndim
    count = repeats(indices, length) if x.size >= _LARGE else 0
    if count:
        add_repeated(x, updates, count, axis, out)
        return
    out[...] = x
    flat = checked(indices, length).reshape(-1).astype(np.intp) % max(1, length)
    rows = np.moveaxis(updates, range(axis, axis + rank), range(rank))
    add_rows(np.moveaxis(out, axis, 0), flat, rows.reshape(flat.size, *rows.shape[rank:]))


def _along_infer(x: Value, indices: Value, *, axis: int) -> tuple[Shape, str]:
    fits = len(x.shape) == len(indices.shape) and all(
        i == axis or n == m for i, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"Indices of shape {list(indices.shape)} don't fit {list(x.shape)} along axis {axis}."
        )
    return indices.shape, x.dtype


def _along_kernel(x: Array, indices: Array, *, out: Array, axis: int) -> None:
    if x.flags.c_contiguous and indices.size >= _LARGE and axis < x.ndim - 1:
        np.take(x.reshape(-1), flat_places(x, indices, axis), out=out, mode="wrap")
    else:
        out[...] = x[places_along(x, indices, axis)]


def _add_along_kernel(x: Array, indices: Array, updates: Array, *, out: Array, axis: int) -> None:
    out[...] = x
    is_large = indices.size >= _LARGE and out.flags.c_contiguous
    if indices.shape[axis] > 1 and not is_large:
        np.add.at(out, places_along(x, indices, axis), updates)
    elif indices.shape[axis] > 1:
        np.add.at(out.reshape(-1), flat_places(x, indices, axis).reshape(-1), updates.reshape(-1))
    elif is_large and axis < x.ndim - 1:  # no element is added to twice
        out.reshape(-1)[flat_places(x, indices, axis)] += updates
    else:
        out[places_along(x, indices, axis)] += updates


def flat_places(x: Array, indices: Array, axis: int) -> Array:
    """Where the elements at ``places_along`` are in a contiguous array like x: numpy adds to those
    of a flat array ten times as fast.
    """
    lengths = x.shape
    found = checked(indices, lengths[axis]).astype(np.intp)
    if found.size and found.min() < 0:
        found += lengths[axis] * (found < 0)
    found *= math.prod(lengths[axis + 1 :])
    for i, length in enumerate(indices.shape):
        if i != axis:
            along = np.arange(length) * math.prod(lengths[i + 1 :])
            found += along.reshape(-1, *(1,) * (len(lengths) - 1 - i))
    return found


def places_along(x: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    """An index of x that takes ``indices`` along ``axis`` and every element of the other axes."""
    rank = len(indices.shape)
    places = [np.arange(n).reshape(n, *(1,) * (rank - 1 - i)) for i, n in enumerate(indices.shape)]
    places[axis] = checked(indices, x.shape[axis])
    return tuple(places)


def _argsort_kernel(x: Array, *, out: Array, axis: int, descending: bool) -> None:
    """Stable: equal elements keep their order, also when descending."""
    out[...] = stable_order(x, axis, descending)


def _one_hot_kernel(indices: Array, *, out: Array, depth: int, dtype: str) -> None:
    out[...] = indices[..., None] == np.arange(depth)


POSITIONS = NoDerivative("takes positions, which have no derivative")
"""Why indices have no derivative."""
TAKE = Primitive(
    "take",
    _take_infer,
    _take_kernel,
    (
        lambda xp, g, out, x, i, *, axis: xp.scatter_add(xp.zeros_like(x), i, g, axis),
        None,
    ),
    no_derivative=POSITIONS,
    spelling=Spelling("np.take(a, b, axis=axis)", jax='jnp.take(a, b, axis=axis, mode="wrap")'),
)
SCATTER_ADD = Primitive(
    "scatter_add",
    _scatter_infer,
    _scatter_kernel,
    (
        lambda xp, g, out, x, i, u, *, axis: g,
        None,
        lambda xp, g, out, x, i, u, *, axis: xp.take(g, i, axis),
    ),
    no_derivative=POSITIONS,
    spelling=Spelling("_scatter_add(a, b, c, axis=axis)"),
)
TAKE_ALONG = Primitive(
    "take_along_axis",
    _along_infer,
    _along_kernel,
    (
        lambda xp, g, out, x, i, *, axis: xp.add_along_axis(xp.zeros_like(x), i, g, axis),
        None,
    ),
    no_derivative=POSITIONS,
    spelling=Spelling("np.take_along_axis(a, b, axis=axis)"),
)
ADD_ALONG = Primitive(
    "add_along_axis",
    lambda x, i, u, *, axis: (x.shape, x.dtype),
    _add_along_kernel,
    (
        lambda xp, g, out, x, i, u, *, axis: g,
        None,
        lambda xp, g, out, x, i, u, *, axis: xp.take_along_axis(g, i, axis),
    ),
    no_derivative=POSITIONS,
    spelling=Spelling(
        "_add_along_axis(a, b, c, axis=axis)", jax="_add_along_axis(a, b, c, axis=axis)"
    ),
)
ARGSORT = Primitive(
    "argsort",
    lambda x, *, axis, descending: (x.shape, "int64"),
    _argsort_kernel,
    (None,),
    no_derivative=NoDerivative("returns positions, which are piecewise constant"),
    spelling=Spelling(
        "_argsort(a, axis, descending=descending)",
        "a.argsort(dim=axis, descending=descending, stable=True)",
        "_argsort(a, axis, descending=descending)",
    ),
)
ONE_HOT = Primitive(
    "one_hot",
    lambda i, *, depth, dtype: ((*i.shape, depth), dtype),
    _one_hot_kernel,
    (None,),
    no_derivative=NoDerivative("takes classes, which have no derivative"),
    spelling=Spelling(
        "(a[..., None] == np.arange(depth)).astype(dtype)",
        "(a[..., None] == torch.arange(depth)).to(dtype)",
        "(a[..., None] == jnp.arange(depth)).astype(dtype)",
    ),
)


class GatherOps(BaseOps):
    """Gradient passes to the elements that indices pick, never to the indices themselves."""

    __slots__ = ()

    def indices(self, x: Operand) -> Value:
        """``x`` as indices; raises DTypeError unless they are integers."""
        found = self.asarray(x)
        if found.dtype not in INTEGERS:
            raise DTypeError("Indices must be integers.", got=found.dtype, next_step="Cast them.")
        return found

    def take(self, x: Operand, indices: Operand, axis: int = 0) -> Value:
        """Elements of ``x`` at integer ``indices`` along ``axis``; repeats add up in the gradient.

        Negative indices count from the end; others out of range fail when the diagram runs.
        """
        x = self.asarray(x)
        return self.trace.apply(TAKE, x, self.indices(indices), axis=axis_of(axis, x.ndim))

    def take_along_axis(self, x: Operand, indices: Operand, axis: int = -1) -> Value:
        """``x[…, indices[…, j], …]``: one index for each place along ``axis``.

        Where the indices are shorter on another axis, the rest of x is left out.
        """
        x, indices = self.asarray(x), self.indices(indices)
        axis = axis_of(axis, x.ndim)
        if x.ndim == indices.ndim:
            pairs = enumerate(zip(x.shape, indices.shape, strict=True))
            lengths = tuple(n if i == axis else min(n, m) for i, (n, m) in pairs)
            x = x if lengths == x.shape else self.xp.slice_(x, (0,) * x.ndim, lengths)
        return self.trace.apply(TAKE_ALONG, x, indices, axis=axis)

    def add_along_axis(self, x: Value, indices: Value, updates: Value, axis: int) -> Value:
        """``x`` with ``updates`` added where ``take_along_axis`` would read."""
        return self.trace.apply(ADD_ALONG, x, indices, updates, axis=axis)

    def scatter_add(self, x: Operand, indices: Operand, updates: Operand, axis: int = 0) -> Value:
        """``x`` with ``updates`` added at ``indices`` along ``axis``; repeats add up."""
        x, updates = self._common([x, updates], numbers=True)
        indices = self.indices(indices)
        return self.trace.apply(SCATTER_ADD, x, indices, updates, axis=axis_of(axis, x.ndim))

    def one_hot(self, indices: Operand, depth: int, dtype: str = "float32") -> Value:
        """1 at each index along a new last axis of length ``depth``, else 0. No gradient.

        An index out of range gives a row of 0.
        """
        indices = self.indices(indices)
        lengths_of(depth)
        return self.trace.apply(ONE_HOT, indices, depth=depth, dtype=checked_dtype(dtype))

    def argsort(self, x: Operand, axis: int = -1, descending: bool = False) -> Value:
        """Indices that sort, int64, stable. No gradient."""
        x = self.asarray(x)
        return self.trace.apply(ARGSORT, x, axis=axis_of(axis, x.ndim), descending=descending)

    def sort(self, x: Operand, axis: int = -1, descending: bool = False) -> Value:
        """Sorted along an axis; the gradient goes back to where each element came from."""
        x = self.asarray(x)
        return self.take_along_axis(x, self.argsort(x, axis, descending), axis)
