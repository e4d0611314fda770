"""Rearranging elements: permute, flip, slice, embed, concatenate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from types import EllipsisType
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import DTypeError, ShapeError
from gradwire.runtime.calculus.dtypes import array_of
from gradwire.runtime.calculus.primitives.base import (
    Axis,
    BaseOps,
    axes_of,
    axis_of,
    broadcast_shapes,
)
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.calculus.value import Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Index, Operand

Slices = tuple[slice, ...]


def _sliced_shape(shape: Shape, index: Slices) -> Shape:
    return tuple(len(range(*part.indices(n))) for part, n in zip(index, shape, strict=True))


def _embed_kernel(x: Array, *, out: Array, shape: Shape, index: Slices, fill: Array) -> None:
    out[...] = fill
    out[index] = x


def _concat_infer(*parts: Value, axis: int, ends: tuple[int, ...]) -> tuple[Shape, str]:
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
    return (*first[:axis], ends[-1], *first[axis + 1 :]), parts[0].dtype


def _concat_kernel(*parts: Array, out: Array, axis: int, ends: tuple[int, ...]) -> None:
    np.concatenate(parts, axis=axis, out=out)


def _concat_rule(
    xp: Namespace,
    g: Value,
    out: Value,
    slot: int,
    parts: tuple[Value, ...],
    *,
    axis: int,
    ends: tuple[int, ...],
) -> Value:
    index = [slice(None)] * g.ndim
    index[axis] = slice(ends[slot] - parts[slot].shape[axis], ends[slot])
    return g[tuple(index)]


def _unpermuted(xp: Namespace, g: Value, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    if g.primitive.name == "matmul" and axes == (1, 0):
        # (a b)ᵀ = bᵀ aᵀ: the gradient of weights used transposed comes in their own layout.
        a, b = g.inputs
        return xp.matmul(xp.permute_dims(b, axes), xp.permute_dims(a, axes))
    return xp.permute_dims(g, tuple(axes.index(i) for i in range(x.ndim)))


PERMUTE = Primitive(
    "permute_dims",
    lambda x, *, axes: (tuple(x.shape[i] for i in axes), x.dtype),
    lambda x, *, axes: np.transpose(x, axes),
    (_unpermuted,),
    view=True,
    spelling=Spelling(latex=(r"a:atom^{\top}", "power"), plain=("a:atomᵀ", "power")),
)
FLIP = Primitive(
    "flip",
    lambda x, *, axes: (x.shape, x.dtype),
    lambda x, *, axes: np.flip(x, axes),
    (lambda xp, g, out, x, *, axes: xp.flip(g, axes),),
    view=True,
    spelling=Spelling("np.flip(a, axes)", jax="jnp.flip(a, axes)"),
)
SLICE = Primitive(
    "slice",
    lambda x, *, index: (_sliced_shape(x.shape, index), x.dtype),
    lambda x, *, index: x[index],
    (lambda xp, g, out, x, *, index: xp.embed(g, x.shape, index),),
    view=True,
    spelling=Spelling("a[index]", jax="a[index]"),
)
EMBED = Primitive(
    "embed",
    lambda x, *, shape, index, fill: (shape, x.dtype),
    _embed_kernel,
    (lambda xp, g, out, x, *, shape, index, fill: g[index],),
)
CONCAT = Primitive(
    "concat",
    _concat_infer,
    _concat_kernel,
    (_concat_rule,),
    variadic=True,
    spelling=Spelling(
        "np.concatenate([inputs], axis=axis)",
        "torch.cat([inputs], dim=axis)",
        "jnp.concatenate([inputs], axis=axis)",
    ),
)


def _expanded(index: Index, shape: Shape) -> list[int | slice | None]:
    """The parts of an index, with a slice for every axis it leaves out."""
    parts = index if isinstance(index, tuple) else (index,)
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    taken = sum(part is not None for part in parts) - len(dots)
    if taken > len(shape):
        raise ShapeError(f"{taken} indices for shape {list(shape)}.")
    if len(dots) > 1:
        raise ShapeError(f"Shape {list(shape)} is indexed with more than one Ellipsis.")
    found: list[int | slice | None] = []
    for part in parts if dots else (*parts, ...):
        if isinstance(part, EllipsisType):
            found += [slice(None)] * (len(shape) - taken)
        else:
            found.append(part)
    return found


def _as_slice(part: object, axis: int, length: int) -> slice:
    """The slice of its axis that one part of an index takes."""
    if isinstance(part, slice):
        ends = (part.start, part.stop, part.step)
        if all(end is None or isinstance(end, int | np.integer) for end in ends) and part.step != 0:
            return part
        raise DTypeError(
            "A slice needs static integers and a step that is not 0.", got=repr(part)[:60]
        )
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        if not -length <= part < length:
            raise ShapeError(f"Index {part} is out of range for axis {axis} of length {length}.")
        start = int(part) % length
        return slice(start, start + 1)
    raise DTypeError(
        f"A value is indexed with static ints and slices, not {type(part).__name__}.",
        next_step="Use xp.take for computed indices.",
    )


class ShapeOps(BaseOps):
    """Operations that rearrange elements; all of them pass gradient."""

    __slots__ = ()

    def permute_dims(self, x: Operand, axes: Sequence[int]) -> Value:
        """Axes in another order."""
        x = self.asarray(x)
        order = tuple(axis_of(a, x.ndim) for a in axes)
        if sorted(order) != list(range(x.ndim)):
            raise ShapeError(
                f"{list(axes)} is not a permutation of the {x.ndim} axes of shape {list(x.shape)}.",
                expected=f"each of 0 … {x.ndim - 1} once",
            )
        if x.primitive is PERMUTE:
            inner = x.attributes["axes"]
            x, order = x.inputs[0], tuple(inner[i] for i in order)
        return x if order == tuple(range(x.ndim)) else self.trace.apply(PERMUTE, x, axes=order)

    def flip(self, x: Operand, axis: Axis = None) -> Value:
        """Elements in reverse order along ``axis``, all axes by default."""
        x = self.asarray(x)
        axes = axes_of(axis, x.ndim)
        return self.trace.apply(FLIP, x, axes=axes) if axes else x

    def expand_dims(self, x: Operand, axis: int) -> Value:
        """A new axis of length 1 at ``axis``."""
        x = self.asarray(x)
        at = axis_of(axis, x.ndim + 1)
        return self.reshape(x, (*x.shape[:at], 1, *x.shape[at:]))

    def squeeze(self, x: Operand, axis: int | tuple[int, ...]) -> Value:
        """Remove axes of length 1."""
        x = self.asarray(x)
        axes = axes_of(axis, x.ndim)
        if any(x.shape[a] != 1 for a in axes):
            raise ShapeError(f"Axis {axis} of shape {list(x.shape)} is not of length 1.")
        return self.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))

    def index(self, x: Value, index: Index) -> Value:
        """``x[index]`` with static ints, slices, None and one Ellipsis."""
        parts = _expanded(index, x.shape)
        picked: list[slice] = []
        shape: list[int] = []
        for part in parts:
            if part is None:
                shape.append(1)
                continue
            axis, length = len(picked), x.shape[len(picked)]
            picked.append(_as_slice(part, axis, length))
            if isinstance(part, slice):
                shape.append(len(range(*part.indices(length))))
        if any(part != slice(None) for part in picked):
            x = self.trace.apply(SLICE, x, index=tuple(picked))
        return self.reshape(x, tuple(shape))

    def slice_(self, x: Operand, begin: Sequence[int], size: Sequence[int]) -> Value:
        """``size`` elements of each axis from ``begin`` on; a size of -1 takes the rest."""
        x = self.asarray(x)
        if not len(begin) == len(size) == x.ndim:
            raise ShapeError(
                f"begin {list(begin)} and size {list(size)} must have one entry for each axis.",
                expected=str(x.ndim),
            )
        parts = []
        for axis, (start, count) in enumerate(zip(begin, size, strict=True)):
            stop = x.shape[axis] if count == -1 else start + count
            if not 0 <= start <= stop <= x.shape[axis]:
                raise ShapeError(
                    f"Elements {start} to {stop} of axis {axis} are outside shape {list(x.shape)}."
                )
            parts.append(slice(start, stop))
        return self.index(x, tuple(parts))

    def embed(self, x: Value, shape: Shape, index: Slices, fill: float = 0) -> Value:
        """An array of ``fill`` with ``x`` at ``index``: the transpose of a slice."""
        return self.trace.apply(EMBED, x, shape=shape, index=index, fill=fill)

    def pad(self, x: Operand, widths: Sequence[tuple[int, int]], value: float = 0) -> Value:
        """``value`` around ``x``: (before, after) for each axis.

        Raises DTypeError for a value that an integer or boolean dtype can't hold.
        """
        x = self.asarray(x)
        array_of(value, x.dtype)
        if len(widths) != x.ndim or any(before < 0 or after < 0 for before, after in widths):
            raise ShapeError(
                f"Padding {list(widths)} doesn't fit shape {list(x.shape)}.",
                expected="a pair of widths ≥ 0 for each axis",
            )
        shape = tuple(a + n + b for (a, b), n in zip(widths, x.shape, strict=True))
        index = tuple(slice(a, a + n) for (a, _), n in zip(widths, x.shape, strict=True))
        return x if shape == x.shape else self.embed(x, shape, index, value)

    def concat(self, parts: Sequence[Operand], axis: int = 0) -> Value:
        """Arrays joined along an axis they have."""
        values = self._joined(parts)
        if not values[0].ndim:
            raise ShapeError("Scalars can't be joined along an axis.", next_step="Stack them.")
        at = axis_of(axis, values[0].ndim)
        ends = tuple(accumulate(x.shape[at] if at < x.ndim else 0 for x in values))
        return self.trace.apply(CONCAT, *values, axis=at, ends=ends)

    def stack(self, parts: Sequence[Operand], axis: int = 0) -> Value:
        """Arrays of one shape joined along a new axis."""
        values = self._joined(parts)
        if len({x.shape for x in values}) > 1:
            raise ShapeError(
                "Only arrays of one shape can be stacked.",
                got=" and ".join(str(list(x.shape)) for x in values),
            )
        return self.concat([self.expand_dims(x, axis) for x in values], axis)

    def _joined(self, parts: Sequence[Operand]) -> list[Value]:
        if not parts:
            raise ShapeError("Nothing to join.", expected="at least one array")
        return self._common(parts)

    def broadcast_arrays(self, *arrays: Operand) -> list[Value]:
        """All arrays in their common shape."""
        values = [self.asarray(x) for x in arrays]
        shape = broadcast_shapes(*(x.shape for x in values))
        return [self.broadcast_to(x, shape) for x in values]
