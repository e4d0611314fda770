"""Gathers, sums at indices, sorting, one-hot; and updates of single elements along an axis, one
after the other where an index repeats.

Indices out of range are clipped or dropped, as ``fails`` says that the numbers don't count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.calculus.primitives.gather import ARGSORT
from gradwire.runtime.calculus.primitives.reduce import ARGMAX, ARGMIN
from gradwire.runtime.engine.jax.rows.base import JaxRow, origin, some

if TYPE_CHECKING:
    from jax import Array

    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus import Value


def counted(indices: Array, length: int) -> Array:
    """Indices from 0 on, int32 where that holds the length: negative ones count from the end."""
    narrow = length <= jnp.iinfo(jnp.int32).max
    found = indices.astype(jnp.int32 if narrow else jnp.int64)
    return jnp.where(found < 0, found + length, found)


def outside(x: Array, indices: Array, *_: Array, axis: int) -> Array:
    """Whether an index is out of range."""
    length = x.shape[axis]
    if jnp.issubdtype(indices.dtype, jnp.unsignedinteger):
        return some(indices.astype(jnp.uint64) >= length)
    found = indices.astype(jnp.int64)
    return some((found < -length) | (found >= length))


def why_outside(value: Value) -> str:
    """What numpy says about an index, but not which one."""
    length = value.inputs[0].shape[value.attributes["axis"]]
    return f"an index is out of range for an axis of length {length}"


def inside(value: Value) -> bool:
    """Whether all indices are known to be in range: constants, or positions of a sort."""
    length = value.inputs[0].shape[value.attributes["axis"]]
    indices = origin(value.inputs[1])
    if indices.primitive is CONSTANT:
        found = indices.attributes["array"]
        return not found.size or bool(found.min() >= -length and found.max() < length)
    if indices.primitive not in (ARGSORT, ARGMAX, ARGMIN):
        return False
    axis: int = indices.attributes["axis"]
    return indices.inputs[0].shape[axis] <= length


def along(x: Array, indices: Array, *, axis: int) -> Array:
    """``x[…, indices[…, j], …]``, by batches: other axes that are split stay so."""
    if not x.size:
        return jnp.zeros(indices.shape, x.dtype)
    others = tuple(a for a in range(x.ndim) if a != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    return _gathered(x, indices, axis, numbers, (1,) * x.ndim)


def _take(x: Array, indices: Array, *, axis: int) -> Array:
    before, after, rank = x.shape[:axis], x.shape[axis + 1 :], indices.ndim
    if not x.size:
        return jnp.zeros((*before, *indices.shape, *after), x.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + rank, x.ndim + rank - 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return _gathered(x, indices, axis, numbers, (*before, 1, *after))


def _gathered(
    x: Array, indices: Array, axis: int, numbers: lax.GatherDimensionNumbers, sizes: Shape
) -> Array:
    places = counted(indices, x.shape[axis])[..., None]
    return lax.gather(x, places, numbers, sizes, mode=lax.GatherScatterMode.CLIP)


def _scatter_add(x: Array, indices: Array, updates: Array, *, axis: int) -> Array:
    places = (slice(None),) * axis + (counted(indices, x.shape[axis]),)
    return x.at[places].add(updates, mode="drop")


def _argsort(x: Array, *, axis: int, descending: bool) -> Array:
    """Stable: equal elements keep their order, also when descending."""
    if not descending:
        return _sorting(x, axis)
    back = lax.rev(_sorting(lax.rev(x, (axis,)), axis), (axis,))
    return x.shape[axis] - 1 - back


def _sorting(x: Array, axis: int) -> Array:
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    return lax.sort((x, places), dimension=axis, is_stable=True, num_keys=1)[1]


def _one_hot(indices: Array, *, depth: int, dtype: str) -> Array:
    classes = lax.broadcasted_iota(jnp.int64, (*indices.shape, depth), indices.ndim)
    return (indices.astype(jnp.int64)[..., None] == classes).astype(dtype)


Scatter = Callable[..., "Array"]
"""One of ``lax.scatter_add`` and its kin."""
Combine = Callable[["Array", "Array"], "Array"]


def _scattered(scatter: Scatter, x: Array, indices: Array, updates: Array, axis: int) -> Array:
    """By batches: other axes that are split stay so. The indices are as long as x on these."""
    others = tuple(a for a in range(x.ndim) if a != axis)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(axis,),
        scatter_dims_to_operand_dims=(axis,),
        operand_batching_dims=others,
        scatter_indices_batching_dims=others,
    )
    places = counted(indices, x.shape[axis])[..., None]
    drop = lax.GatherScatterMode.FILL_OR_DROP
    return scatter(x, places, updates, numbers, mode=drop)


def _row(combine: Combine, scatter: Scatter) -> JaxRow:
    """The row that writes ``combine(old, update)`` at each index.

    One index for each row of x is a selection, which compiles into one loop with what comes before
    and after, where a scatter would be a loop of its own over the updates.
    """

    def everywhere(x: Array, indices: Array, updates: Array, axis: int) -> Array:
        if indices.shape[axis] != 1:
            return _scattered(scatter, x, indices, updates, axis)
        positions = lax.broadcasted_iota(jnp.int32, x.shape, axis)
        chosen = positions == counted(indices, x.shape[axis])
        return jnp.where(chosen, combine(x, updates), x)

    def compute(x: Array, indices: Array, updates: Array, *, axis: int) -> Array:
        region = tuple(x.shape[a] if a == axis else n for a, n in enumerate(indices.shape))
        if 0 in indices.shape or 0 in x.shape:
            return x
        if region == x.shape:
            return everywhere(x, indices, updates, axis)
        part = everywhere(lax.slice(x, (0,) * x.ndim, region), indices, updates, axis)
        return lax.dynamic_update_slice(x, part, (0,) * x.ndim)

    return JaxRow(compute, outside, why_outside, inside)


def _last(old: Array, new: Array) -> Array:
    return jnp.broadcast_to(new, old.shape)


def _set(x: Array, indices: Array, updates: Array, numbers: lax.ScatterDimensionNumbers,
         mode: lax.GatherScatterMode) -> Array:  # fmt: skip
    """The last update of each place, whatever the order in which a device writes them."""
    (axis,) = numbers.inserted_window_dims
    order = lax.broadcasted_iota(jnp.int32, updates.shape, axis)
    none = jnp.full(x.shape, -1, jnp.int32)
    last = lax.scatter_max(none, indices, order, numbers, mode=mode)
    found = along(updates, jnp.maximum(last, np.int32(0)), axis=axis)
    return jnp.where(last < 0, x, found)


ROWS = {
    "take": JaxRow(_take, outside, why_outside, inside),
    "scatter_add": JaxRow(_scatter_add, outside, why_outside, inside),
    "take_along_axis": JaxRow(along, outside, why_outside, inside),
    "argsort": JaxRow(_argsort),
    "one_hot": JaxRow(_one_hot),
    "add_along_axis": _row(lax.add, lax.scatter_add),
    "set_along_axis": _row(_last, _set),
    "multiply_along_axis": _row(lax.mul, lax.scatter_mul),
    "maximum_along_axis": _row(lax.max, lax.scatter_max),
    "minimum_along_axis": _row(lax.min, lax.scatter_min),
}
