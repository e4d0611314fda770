"""Elements put at indices, and what is written into parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.indexing import inside, scatter_along
from gradwire.runtime.interchange.importing.meanings.shapes import flatten
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.indexing import merged, spelled
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Operand,
    enter,
    like,
    operator,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

_MODES = {
    "sum": "add", "mean": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip
_NEUTRAL = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}
"""What leaves any other number as it is."""


def put_back(base: Staged, part: Staged, places: Array) -> Staged:
    """``base`` with the numbers of ``part`` at flat places, which are as many as it has."""
    stage, where = base.stage, np.zeros(base.size, np.int64)
    where[places.ravel()] = np.arange(places.size)
    part = stage.cast(flatten(part), base.dtype)
    spread = stage.reshape(stage.take(part, where, 0), base.shape)
    if np.unique(places).size == base.size:
        return spread
    there = np.zeros(base.size, bool)
    there[places.ravel()] = True
    return put("Where", stage.constant(there.reshape(base.shape)), spread, base)


def _places(x: Staged) -> Array:
    return np.arange(x.size).reshape(x.shape)


@operator("put")
def _put(x: Staged, indices: Staged, source: Staged, accumulate: bool = False) -> Staged:
    """``x`` with other numbers at flat indices, or with them added."""
    where = inside(flatten(indices), x.size)
    done = _rows(flatten(x), 0, where, flatten(source), accumulate)
    return x.stage.reshape(done, x.shape)


def _copy(x: Staged, source: Staged, *_: object) -> Staged:
    """The numbers of another tensor, in the shape and dtype of this one."""
    return x.stage.broadcast(x.stage.cast(source, x.dtype), x.shape)


@operator("scatter.reduce", "scatter.value_reduce", "scatter_reduce")
def scatter_reduce(
    x: Staged, dim: int, indices: Staged, source: Operand, reduce: str, include_self: bool = True
) -> Staged:
    """``x`` combined with other numbers at indices along an axis, or replaced by them there."""
    if reduce not in _MODES or not (x.is_float or (include_self and reduce != "mean")):
        raise UnsupportedError("scatter_reduce", f"by {reduce} of {x.dtype}")
    mode = _MODES[reduce]
    if include_self and reduce != "mean":
        return _along(x, dim, indices, source, mode)
    none = x.stage.constant(np.zeros(x.shape, x.dtype))
    count = _along(none, dim, indices, 1.0, "add")
    base = x
    if not include_self:
        base = put("Where", count > 0, x.like(_NEUTRAL[mode]), x)
    combined = _along(base, dim, indices, source, mode)
    if mode in ("max", "min"):  # PyTorch counts what is left out among equals all the same
        equal = put("And", count > 0, put("Equal", x, combined))
        left_out = put("StopGradient", x, name="include_self=False")
        base = put("Where", equal, left_out, base)
        return _along(base, dim, indices, source, mode)
    if reduce != "mean":
        return combined
    return combined / (count + 1 if include_self else put("Maximum", count, count.like(1)))


@operator("index_reduce")
def index_reduce(
    x: Staged, dim: int, indices: Staged, source: Staged, reduce: str, *, include_self: bool = True
) -> Staged:
    """``x`` combined with rows at indices along an axis, or replaced by them there."""
    dim %= x.ndim
    return scatter_reduce(x, dim, _spread(indices, dim, source), source, reduce, include_self)


def _along(x: Staged, dim: int, indices: Staged, source: Operand, mode: str) -> Staged:
    return scatter_along(x, indices, x.stage.cast(like(source, x), x.dtype), dim, mode)


@operator("index_put", "_unsafe_index_put")
def index_put(
    x: Staged, indices: Sequence[Staged | None], values: Staged, accumulate: bool = False
) -> Staged:
    """``x`` with other numbers at ``x[i, :, j]``, or with them added."""
    stage, (mask, *more) = x.stage, indices
    if mask is not None and mask.dtype == "bool" and not more and not values.ndim:
        mask = stage.reshape(mask, mask.shape + (1,) * (x.ndim - mask.ndim))
        value = stage.cast(values, x.dtype)
        return put("Where", mask, x + value if accumulate else value, x)
    given = spelled(indices)
    along = [axis for axis, i in enumerate(given) if i is not None]
    rest = [axis for axis in range(x.ndim) if axis not in along]
    first = along[0] if along == list(range(along[0], along[-1] + 1)) else 0
    flat_x, flat = merged(x, given, along, first)
    shape = (*flat_x.shape[:first], *flat.shape, *flat_x.shape[first + 1 :])
    values = stage.broadcast(stage.cast(values, x.dtype), shape)
    rows = stage.reshape(values, (*flat_x.shape[:first], flat.size, *flat_x.shape[first + 1 :]))
    done = _rows(flat_x, first, flatten(flat), rows, accumulate)
    order = (*rest[:first], *along, *rest[first:])
    apart = stage.reshape(done, [x.shape[axis] for axis in order])
    return stage.transpose(apart, [order.index(axis) for axis in range(x.ndim)])


def _rows(x: Staged, axis: int, indices: Staged, rows: Staged, accumulate: bool) -> Staged:
    """``x`` with whole rows put or added at indices along an axis."""
    mode = "add" if accumulate else "set"
    return put("ScatterAlong", x, _spread(indices, axis, rows), rows, mode=mode, axis=axis)


def _spread(indices: Staged, axis: int, rows: Staged) -> Staged:
    """Indices of whole rows along an axis, one for each element of these."""
    row = indices.stage.reshape(indices, (indices.size,) + (1,) * (rows.ndim - 1 - axis))
    return indices.stage.broadcast(row, rows.shape)


@operator("index_fill")
def _index_fill(x: Staged, dim: int, indices: Staged, value: Operand) -> Staged:
    """``x`` with one number in the rows at indices along an axis."""
    shape = (*x.shape[: dim % x.ndim], indices.size, *x.shape[dim % x.ndim + 1 :])
    rows = x.stage.broadcast(x.stage.cast(like(value, x), x.dtype), shape)
    return _rows(x, dim % x.ndim, indices, rows, accumulate=False)


@operator("masked_scatter")
def _masked_scatter(x: Staged, mask: Staged, source: Staged) -> Staged:
    """``x`` with the next numbers of another tensor where a mask is true, known at import."""
    places = np.flatnonzero(np.broadcast_to(x.stage.numbers(mask, "masked_scatter"), x.shape))
    return put_back(x, x.stage.cut(flatten(source), 0, 0, places.size), places)


enter({
    "slice_scatter": lambda x, source, dim=0, start=None, end=None, step=1: put_back(
        x, source, np.take(_places(x), np.arange(x.shape[dim])[start:end:step], dim)
    ),
    "select_scatter": lambda x, source, dim, index: put_back(
        x, source, np.take(_places(x), index, dim)
    ),
    "diagonal_scatter": lambda x, source, offset=0, dim1=0, dim2=1: put_back(
        x, source, np.diagonal(_places(x), offset, dim1, dim2)
    ),
    "copy": _copy,
    "fill": lambda x, value: _copy(x, like(value, x)),
    "zero": lambda x: x.stage.constant(np.zeros(x.shape, x.dtype)),
    "scatter.src scatter.value": partial(_along, mode="set"),
    "scatter_add": partial(_along, mode="add"),
    "index_add": lambda x, dim, indices, source, alpha=1: _rows(
        x, dim % x.ndim, indices, source if alpha == 1 else source * alpha, True
    ),
    "index_copy": lambda x, dim, indices, source: _rows(x, dim % x.ndim, indices, source, False),
})  # fmt: skip
