"""Elements at indices, read and written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings.shapes import move
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def whole(indices: Staged) -> Staged:
    """Indices as integers, where a system has floats."""
    return indices.stage.cast(indices, "int64") if indices.is_float else indices


def inside(indices: Staged, length: int | Sequence[int], mode: str = "negative") -> Staged:
    """Those outside as ones inside: "negative" counts from the end, or "clip", or "wrap" around.

    There may be a length for each place along the last axis. Other modes leave them as they are.
    """
    stage, known, lengths = indices.stage, indices.array, np.asarray(length, indices.dtype)
    if mode == "wrap":
        return put("Mod", indices, stage.constant(lengths))
    if mode == "clip" and (known is None or np.any((known < 0) | (known >= lengths))):
        low = put("Maximum", indices, indices.like(0))
        return put("Minimum", low, stage.constant(lengths - 1))
    if mode == "negative" and (known is None or np.any(known < 0)):
        return put("Where", indices < 0, indices + stage.constant(lengths), indices)
    return indices


def gather(x: Staged, indices: Staged, axis: int, batch: int = 0) -> Staged:
    """Elements at indices along an axis; the first ``batch`` axes of both go together."""
    if not batch:
        return put("Gather", x, indices, axis=axis)
    rows, count, length = move(x, axis, batch), math.prod(x.shape[:batch]), x.shape[axis]
    flat = x.stage.reshape(rows, (count * length, *rows.shape[batch + 1 :]))
    starts = np.arange(count).reshape(x.shape[:batch] + (1,) * (indices.ndim - batch)) * length
    places = indices + x.stage.constant(starts.astype(indices.dtype))
    picked = put("Gather", flat, places, axis=0)
    own, rest = range(batch, indices.ndim), range(indices.ndim, picked.ndim)
    order = [*range(batch), *rest[: axis - batch], *own, *rest[axis - batch :]]
    return x.stage.transpose(picked, order)


def pick(x: Staged, indices: Staged, axis: int, keepdims: bool = False) -> Staged:
    """One element along an axis for each index, as that of the label in a row of scores."""
    kept = x.shape[:axis] + x.shape[axis + 1 :]
    y = put("PickAlong", x, x.stage.reshape(indices, kept), axis=axis)
    return x.stage.reshape(y, (*kept[:axis], 1, *kept[axis:])) if keepdims else y


def take_along(x: Staged, indices: Staged, axis: int) -> Staged:
    """At each place the element whose index along the axis stands there."""
    if not x.ndim:
        return x
    axis %= x.ndim
    if indices.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :]):
        return pick(x, indices, axis, keepdims=True)
    for other, length in enumerate(indices.shape):
        x = x if other == axis else x.stage.cut(x, other, 0, length)
    return put("TakeAlong", x, indices, axis=axis)


def one_hot(
    indices: Staged,
    depth: int,
    dtype: str = "float32",
    axis: int = -1,
    on: Staged | None = None,
    off: Staged | None = None,
) -> Staged:
    """A vector for each index, on a new axis: ``on`` there and ``off`` elsewhere, or 1 and 0."""
    plain = on is None or off is None or (_is(on, 1) and _is(off, 0))
    hot = put("OneHot", indices, depth=depth, dtype=dtype if plain else "bool")
    hot = move(hot, -1, axis)
    return hot if plain else put("Where", hot, on, off)


def _is(x: Staged, number: int) -> bool:
    return x.array is not None and bool(np.all(x.array == number))


def flat_places(
    indices: Staged, shape: Sequence[int], batch: int = 0, mode: str = "negative"
) -> Staged:
    """Tuples along the last axis, which are indices into axes, as places in all these as one.

    The first ``batch`` axes of the shape go along with those of the indices.
    """
    stage, depth = indices.stage, indices.shape[-1]
    own = shape[batch : batch + depth]
    strides = np.array([math.prod(own[axis + 1 :]) for axis in range(depth)], np.int64)
    each = inside(stage.cast(indices, "int64"), own, mode) * stage.constant(strides)
    places = put("Sum", each, axis=(indices.ndim - 1,))
    if not batch:
        return places
    starts = np.arange(math.prod(shape[:batch])) * math.prod(own)
    ones = (1,) * (places.ndim - batch)
    return places + stage.constant(starts.reshape(*shape[:batch], *ones))


def gather_nd(x: Staged, indices: Staged, batch: int = 0, mode: str = "negative") -> Staged:
    """What lies at tuples of indices into the first axes, behind those of the batch."""
    reach = batch + indices.shape[-1]
    flat = x.stage.reshape(x, (math.prod(x.shape[:reach]), *x.shape[reach:]))
    return put("Gather", flat, flat_places(indices, x.shape, batch, mode), axis=0)


def scatter_nd(x: Staged, indices: Staged, new: Staged, how: str, mode: str = "negative") -> Staged:
    """``x`` with numbers set, or changed in another way, at tuples of indices."""
    stage, depth = x.stage, indices.shape[-1]
    places = flat_places(indices, x.shape, mode=mode)
    flat = stage.reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    rows = stage.reshape(new, (places.size, *x.shape[depth:]))
    index = stage.reshape(places, (places.size,))
    return stage.reshape(put("ScatterRows", flat, index, rows, mode=how, axis=0), x.shape)


def scatter_along(x: Staged, indices: Staged, new: Staged, axis: int, how: str) -> Staged:
    """``x`` with numbers, cut or repeated to fit, put at indices along an axis."""
    if new.ndim:
        for other, length in enumerate(indices.shape):
            new = x.stage.cut(new, other, 0, length)
    new = x.stage.broadcast(new, indices.shape)
    return put("ScatterAlong", x, indices, new, mode=how, axis=axis % x.ndim)
