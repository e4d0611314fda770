"""Moving elements about: permute, flip, slice, embed, concatenate, gather, scatter, sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.block import Shape
from blocks.errors import DTypeError, ShapeError
from runtime.calculus.dtypes import INTEGERS, promote
from runtime.calculus.primitives.base import BaseNames, axes_of, axis_of, broadcast_shapes
from runtime.calculus.trace import Primitive, Value

Slices = tuple[slice, ...]


def _sliced_shape(shape: Shape, index: Slices) -> Shape:
    return tuple(len(range(*part.indices(n))) for part, n in zip(index, shape, strict=True))


def _embed_kernel(x: Any, *, out: Any, shape: Shape, index: Slices, fill: Any) -> None:
    out[...] = fill
    out[index] = x


def _concat_infer(*parts: Value, axis: int) -> tuple[Shape, str]:
    first = parts[0].shape
    for part in parts[1:]:
        same = len(part.shape) == len(first) and all(
            i == axis or n == m for i, (n, m) in enumerate(zip(part.shape, first, strict=True))
        )
        if not same:
            raise ShapeError(
                f"Shapes {list(first)} and {list(part.shape)} can't be joined along axis {axis}.",
                next_step="All other axes must have equal lengths.",
            )
    length = sum(part.shape[axis] for part in parts)
    return (*first[:axis], length, *first[axis + 1 :]), parts[0].dtype


def _concat_kernel(*parts: Any, out: Any, axis: int) -> None:
    np.concatenate(parts, axis=axis, out=out)


def _concat_rule(xp: Any, g: Value, out: Value, slot: int, *parts: Value, axis: int) -> Value:
    start = sum(part.shape[axis] for part in parts[:slot])
    index = [slice(None)] * g.ndim
    index[axis] = slice(start, start + parts[slot].shape[axis])
    return g[tuple(index)]


def _take_infer(x: Value, indices: Value, *, axis: int) -> tuple[Shape, str]:
    return (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype


def _checked(indices: Any, length: int) -> Any:
    if indices.size and (indices.min() < -length or indices.max() >= length):
        wrong = indices[(indices < -length) | (indices >= length)].flat[0]
        raise IndexError(f"index {wrong} is out of range for an axis of length {length}")
    return indices


def _take_kernel(x: Any, indices: Any, *, out: Any, axis: int) -> None:
    np.take(x, _checked(indices, x.shape[axis]), axis=axis, out=out, mode="wrap")


def _scatter_infer(x: Value, indices: Value, updates: Value, *, axis: int) -> tuple[Shape, str]:
    wanted, _ = _take_infer(x, indices, axis=axis)
    if updates.shape != wanted:
        raise ShapeError(
            "Updates of scatter_add have the wrong shape.",
            expected=str(list(wanted)),
            got=str(list(updates.shape)),
        )
    return x.shape, x.dtype


def _scatter_kernel(x: Any, indices: Any, updates: Any, *, out: Any, axis: int) -> None:
    """Adds in the order of the indices, so that repeated ones are deterministic."""
    out[...] = x
    _checked(indices, x.shape[axis])
    np.add.at(out, (slice(None),) * axis + (indices,), updates)


def _along_infer(x: Value, indices: Value, *, axis: int) -> tuple[Shape, str]:
    fits = len(x.shape) == len(indices.shape) and all(
        i == axis or n == m for i, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"Indices of shape {list(indices.shape)} don't fit {list(x.shape)} along axis {axis}."
        )
    return indices.shape, x.dtype


def _along_kernel(x: Any, indices: Any, *, out: Any, axis: int) -> None:
    out[...] = np.take_along_axis(x, _checked(indices, x.shape[axis]), axis)


def _add_along_kernel(x: Any, indices: Any, updates: Any, *, out: Any, axis: int) -> None:
    out[...] = x
    place: list[Any] = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    place[axis] = _checked(indices, x.shape[axis])
    np.add.at(out, tuple(place), updates)


def _argsort_kernel(x: Any, *, out: Any, axis: int, descending: bool) -> None:
    """Stable: equal elements keep their order, also when descending."""
    if descending:
        back = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
        np.subtract(x.shape[axis] - 1, back, out=out)
    else:
        out[...] = np.argsort(x, axis=axis, kind="stable")


def _one_hot_kernel(indices: Any, *, out: Any, depth: int, dtype: str) -> None:
    out[...] = indices[..., None] == np.arange(depth)


def _unpermuted(xp: Any, g: Value, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    return xp.permute_dims(g, tuple(int(i) for i in np.argsort(axes)))  # type: ignore[no-any-return]  # xp is untyped in rules


PERMUTE = Primitive(
    "permute_dims",
    lambda x, *, axes: (tuple(x.shape[i] for i in axes), x.dtype),
    lambda x, *, axes: np.transpose(x, axes),
    (_unpermuted,),
    view=True,
)
FLIP = Primitive(
    "flip",
    lambda x, *, axes: (x.shape, x.dtype),
    lambda x, *, axes: np.flip(x, axes),
    (lambda xp, g, out, x, *, axes: xp.flip(g, axes),),
    view=True,
)
SLICE = Primitive(
    "slice",
    lambda x, *, index: (_sliced_shape(x.shape, index), x.dtype),
    lambda x, *, index: x[index],
    (lambda xp, g, out, x, *, index: xp.embed(g, x.shape, index),),
    view=True,
)
EMBED = Primitive(
    "embed",
    lambda x, *, shape, index, fill: (shape, x.dtype),
    _embed_kernel,
    (lambda xp, g, out, x, *, shape, index, fill: g[index],),
)
CONCAT = Primitive("concat", _concat_infer, _concat_kernel, (_concat_rule,), variadic=True)
TAKE = Primitive(
    "take",
    _take_infer,
    _take_kernel,
    (
        lambda xp, g, out, x, i, *, axis: xp.scatter_add(xp.zeros_like(x), i, g, axis),
        None,
    ),
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
)
TAKE_ALONG = Primitive(
    "take_along_axis",
    _along_infer,
    _along_kernel,
    (
        lambda xp, g, out, x, i, *, axis: xp.add_along_axis(xp.zeros_like(x), i, g, axis),
        None,
    ),
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
)
ARGSORT = Primitive(
    "argsort",
    lambda x, *, axis, descending: (x.shape, "int64"),
    _argsort_kernel,
    (None,),
)
ONE_HOT = Primitive(
    "one_hot",
    lambda i, *, depth, dtype: ((*i.shape, depth), dtype),
    _one_hot_kernel,
    (None,),
)


class ShapeNames(BaseNames):
    """Names that move elements; all of them pass gradient except to indices."""

    __slots__ = ()

    def permute_dims(self, x: Any, axes: Sequence[int]) -> Value:
        """Axes in another order."""
        x = self.asarray(x)
        order = tuple(axis_of(a, x.ndim) for a in axes)
        if sorted(order) != list(range(x.ndim)):
            raise ShapeError(
                f"{list(axes)} is no order of the {x.ndim} axes of shape {list(x.shape)}.",
                expected=f"each of 0 … {x.ndim - 1} once",
            )
        return x if order == tuple(range(x.ndim)) else self.trace.apply(PERMUTE, x, axes=order)

    def flip(self, x: Any, axis: int | tuple[int, ...] | None = None) -> Value:
        x = self.asarray(x)
        axes = axes_of(axis, x.ndim)
        return self.trace.apply(FLIP, x, axes=axes) if axes else x

    def expand_dims(self, x: Any, axis: int) -> Value:
        """A new axis of length 1 at ``axis``."""
        x = self.asarray(x)
        at = axis_of(axis, x.ndim + 1)
        return self.reshape(x, (*x.shape[:at], 1, *x.shape[at:]))

    def squeeze(self, x: Any, axis: int | tuple[int, ...]) -> Value:
        """Remove axes of length 1."""
        x = self.asarray(x)
        axes = axes_of(axis, x.ndim)
        if any(x.shape[a] != 1 for a in axes):
            raise ShapeError(f"Axis {axis} of shape {list(x.shape)} is not of length 1.")
        return self.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))

    def index(self, x: Value, index: Any) -> Value:
        """``x[index]`` with static ints, slices, None and one Ellipsis."""
        parts = list(index) if isinstance(index, tuple) else [index]
        taken = sum(1 for part in parts if part is not None and part is not Ellipsis)
        if taken > x.ndim:
            raise ShapeError(f"{taken} indices for shape {list(x.shape)}.")
        fill: list[Any] = [slice(None)] * (x.ndim - taken)
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts[at : at + 1] = fill
        else:
            parts += fill
        slices: list[slice] = []
        shape: list[int] = []
        for part in parts:
            if part is None:
                shape.append(1)
                continue
            length = x.shape[len(slices)]
            if isinstance(part, slice):
                slices.append(part)
                shape.append(len(range(*part.indices(length))))
            elif isinstance(part, int) and not isinstance(part, bool):
                if not -length <= part < length:
                    raise ShapeError(
                        f"Index {part} is out of range for axis {len(slices)} of length {length}."
                    )
                slices.append(slice(part % length, part % length + 1))
            else:
                raise DTypeError(
                    f"A value is indexed with static ints and slices, not {type(part).__name__}.",
                    next_step="Use xp.take for computed indices.",
                )
        picked = tuple(slices)
        if all(part == slice(None) for part in picked):
            return self.reshape(x, tuple(shape))
        return self.reshape(self.trace.apply(SLICE, x, index=picked), tuple(shape))

    def slice_(self, x: Any, begin: Sequence[int], size: Sequence[int]) -> Value:
        """``size`` elements an axis from ``begin``; a size of -1 takes the rest."""
        x = self.asarray(x)
        if not len(begin) == len(size) == x.ndim:
            raise ShapeError(
                f"begin {list(begin)} and size {list(size)} must have one entry an axis.",
                expected=str(x.ndim),
            )
        parts = []
        for axis, (start, count) in enumerate(zip(begin, size, strict=True)):
            stop = x.shape[axis] if count == -1 else start + count
            if not 0 <= start <= stop <= x.shape[axis]:
                raise ShapeError(
                    f"Elements {start} to {stop} of axis {axis} are outside "
                    f"shape {list(x.shape)}."
                )
            parts.append(slice(start, stop))
        return self.index(x, tuple(parts))

    def embed(self, x: Value, shape: Shape, index: Slices, fill: float = 0) -> Value:
        """An array of ``fill`` with ``x`` at ``index``: the transpose of a slice."""
        return self.trace.apply(EMBED, x, shape=shape, index=index, fill=fill)

    def pad(self, x: Any, widths: Sequence[tuple[int, int]], value: float = 0) -> Value:
        """``value`` around ``x``: (before, after) for each axis."""
        x = self.asarray(x)
        if len(widths) != x.ndim or any(before < 0 or after < 0 for before, after in widths):
            raise ShapeError(
                f"Padding {list(widths)} doesn't fit shape {list(x.shape)}.",
                expected="a pair of widths ≥ 0 for each axis",
            )
        shape = tuple(a + n + b for (a, b), n in zip(widths, x.shape, strict=True))
        index = tuple(slice(a, a + n) for (a, _), n in zip(widths, x.shape, strict=True))
        return x if shape == x.shape else self.embed(x, shape, index, value)

    def concat(self, parts: Sequence[Any], axis: int = 0) -> Value:
        """Arrays joined along an axis they have."""
        values = self._common(parts)
        if not values[0].ndim:
            raise ShapeError("Scalars can't be joined along an axis.", next_step="Stack them.")
        return self.trace.apply(CONCAT, *values, axis=axis_of(axis, values[0].ndim))

    def stack(self, parts: Sequence[Any], axis: int = 0) -> Value:
        """Arrays of one shape joined along a new axis."""
        values = self._common(parts)
        if len({x.shape for x in values}) > 1:
            raise ShapeError(
                "Only arrays of one shape can be stacked.",
                got=" and ".join(str(list(x.shape)) for x in values),
            )
        return self.concat([self.expand_dims(x, axis) for x in values], axis)

    def _common(self, parts: Sequence[Any]) -> list[Value]:
        values = [self.asarray(part) for part in parts]
        if not values:
            raise ShapeError("Nothing to join.", expected="at least one array")
        dtype = values[0].dtype
        for x in values[1:]:
            dtype = promote(dtype, x.dtype)
        return [self.astype(x, dtype) for x in values]

    def _indices(self, x: Any) -> Value:
        x = self.asarray(x)
        if x.dtype not in INTEGERS:
            raise DTypeError("Indices must be integers.", got=x.dtype, next_step="Cast them.")
        return x

    def take(self, x: Any, indices: Any, axis: int = 0) -> Value:
        """Elements of ``x`` at integer ``indices`` along ``axis``; repeats add up in the gradient.

        Negative indices count from the end; others out of range fail when the diagram runs.
        """
        x = self.asarray(x)
        return self.trace.apply(TAKE, x, self._indices(indices), axis=axis_of(axis, x.ndim))

    def take_along_axis(self, x: Any, indices: Any, axis: int = -1) -> Value:
        """``x[…, indices[…, j], …]``: one index for each place along ``axis``."""
        x = self.asarray(x)
        return self.trace.apply(TAKE_ALONG, x, self._indices(indices), axis=axis_of(axis, x.ndim))

    def add_along_axis(self, x: Value, indices: Value, updates: Value, axis: int) -> Value:
        """``x`` with ``updates`` added where ``take_along_axis`` would read."""
        return self.trace.apply(ADD_ALONG, x, indices, updates, axis=axis)

    def scatter_add(self, x: Any, indices: Any, updates: Any, axis: int = 0) -> Value:
        """``x`` with ``updates`` added at ``indices`` along ``axis``; repeats add up."""
        x, updates, _ = self._promoted(self.asarray(x), self.asarray(updates))
        indices = self._indices(indices)
        return self.trace.apply(SCATTER_ADD, x, indices, updates, axis=axis_of(axis, x.ndim))

    def one_hot(self, indices: Any, depth: int, dtype: str = "float32") -> Value:
        """1 at each index along a new last axis of length ``depth``; a row of 0 where the index is
        out of range. No gradient."""
        return self.trace.apply(ONE_HOT, self._indices(indices), depth=depth, dtype=dtype)

    def argsort(self, x: Any, axis: int = -1, descending: bool = False) -> Value:
        """Indices that sort, int64, stable. No gradient."""
        x = self.asarray(x)
        return self.trace.apply(ARGSORT, x, axis=axis_of(axis, x.ndim), descending=descending)

    def sort(self, x: Any, axis: int = -1, descending: bool = False) -> Value:
        """Sorted along an axis; the gradient goes back to where each element came from."""
        x = self.asarray(x)
        return self.take_along_axis(x, self.argsort(x, axis, descending), axis)

    def broadcast_arrays(self, *arrays: Any) -> list[Value]:
        """All arrays in their common shape."""
        values = [self.asarray(x) for x in arrays]
        shape = broadcast_shapes(*(x.shape for x in values))
        return [self.broadcast_to(x, shape) for x in values]
