"""Updates of single elements along an axis, one after the other where an index repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow
from gradwire.runtime.engine.jax.rows.indexing import along, counted, inside, outside, why_outside

if TYPE_CHECKING:
    from jax import Array

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
    "add_along_axis": _row(lax.add, lax.scatter_add),
    "set_along_axis": _row(_last, _set),
    "multiply_along_axis": _row(lax.mul, lax.scatter_mul),
    "maximum_along_axis": _row(lax.max, lax.scatter_max),
    "minimum_along_axis": _row(lax.min, lax.scatter_min),
}
