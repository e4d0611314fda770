"""Parts of values: slices, and elements at indices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice(call: Call) -> Staged:
    x, begin, size = call.x(), call.wholes(1), call.wholes(2)
    for axis, (start, length) in enumerate(zip(begin, size, strict=True)):
        stop = None if length == -1 else start + length
        x = call.stage.cut(x, axis, start, stop)
    return x


def _strided(call: Call) -> Staged:
    """``x[begin:end:step]`` with bits that say which bounds count, and which axes are new."""
    x = call.x()
    begin, end, step = (call.wholes(number) for number in (1, 2, 3))
    masks = [call.attributes.whole(key) for key in _MASKS]
    axis = 0
    for place in range(len(begin)):
        open_start, open_stop, ellipsis, new, shrink = (mask >> place & 1 for mask in masks)
        if ellipsis:
            taken = sum(not masks[3] >> other & 1 for other in range(place + 1, len(begin)))
            axis = x.ndim - taken
        elif new:
            x = call.stage.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))
            axis += 1
        elif shrink:
            x = call.stage.select(x, axis, _inside(call, begin[place], x.shape[axis]))
        else:
            start = None if open_start else begin[place]
            stop = None if open_stop else end[place]
            x = call.stage.cut(x, axis, start, stop, step[place])
            axis += 1
    return x


def _inside(call: Call, index: int, length: int) -> int:
    if not -length <= index < length:
        raise call.unsupported(f"index {index} is outside an axis of length {length}")
    return index


def _gather(call: Call) -> Staged:
    x = call.x(0)
    axis = call.axis(2, x.ndim) if len(call) > 2 else 0
    return gathered(call, x, call.x(1), axis, call.attributes.whole("batch_dims"))


def gathered(call: Call, x: Staged, indices: Staged, axis: int, batch: int) -> Staged:
    """Elements at indices along an axis; the first ``batch`` axes of both go together."""
    batch %= indices.ndim + 1
    if not batch:
        return call.block("Gather", x, indices, axis=axis)
    if axis < batch or x.shape[:batch] != indices.shape[:batch]:
        raise call.unsupported(f"{batch} axes of {x.shape} and {indices.shape} don't go together")
    order = [*range(batch), axis, *(a for a in range(batch, x.ndim) if a != axis)]
    rows = call.stage.transpose(x, order)
    count, length = math.prod(x.shape[:batch]), x.shape[axis]
    flat = call.stage.reshape(rows, (count * length, *rows.shape[batch + 1 :]))
    starts = np.arange(count).reshape(x.shape[:batch] + (1,) * (indices.ndim - batch)) * length
    places = indices + call.stage.constant(starts.astype(indices.dtype))
    picked = call.block("Gather", flat, places, axis=0)
    return _moved_back(call, picked, batch, axis, indices.ndim)


def _moved_back(call: Call, x: Staged, batch: int, axis: int, rank: int) -> Staged:
    """The axes of the indices, behind those of the batch, put where the gathered axis was."""
    own = list(range(batch, rank))
    rest = list(range(rank, x.ndim))
    before = rest[: axis - batch]
    return call.stage.transpose(x, [*range(batch), *before, *own, *rest[axis - batch :]])


def _gather_nd(call: Call) -> Staged:
    x, indices = call.x(0), call.x(1)
    depth = indices.shape[-1]
    flat = call.stage.reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return call.block("Gather", flat, _flat_places(call, indices, x.shape[:depth]), axis=0)


def _flat_places(call: Call, indices: Staged, shape: tuple[int, ...]) -> Staged:
    """Indices along several axes as ones along their product."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    weighed = indices * call.stage.constant(np.asarray(strides, indices.dtype))
    return call.stage.block("Sum", weighed, axis=-1)


def _scatter(mode: str) -> Operator:
    """Updates of a value at indices along its first axes."""

    def scatter(call: Call) -> Staged:
        x, indices, updates = call.x(0), call.x(1), call.x(2)
        return _scattered(call, x, indices, updates, mode)

    return scatter


def _scattered(call: Call, x: Staged, indices: Staged, updates: Staged, mode: str) -> Staged:
    depth = indices.shape[-1]
    rest = x.shape[depth:]
    places = _flat_places(call, indices, x.shape[:depth])
    count = math.prod(places.shape)
    flat = call.stage.reshape(x, (math.prod(x.shape[:depth]), *rest))
    changed = call.block(
        "ScatterRows", flat, call.stage.reshape(places, (count,)),
        call.stage.reshape(updates, (count, *rest)), mode=mode,
    )  # fmt: skip
    return call.stage.reshape(changed, x.shape)


def _scatter_zeros(call: Call) -> Staged:
    indices, updates = call.x(0), call.x(1)
    zeros = call.stage.constant(np.zeros(call.shape(2), updates.dtype))
    return _scattered(call, zeros, indices, updates, "add")


def _segment_sum(call: Call) -> Staged:
    """Sums of the rows with the same index."""
    x, indices, count = call.x(0), call.x(1), call.whole(2)
    rows = call.stage.reshape(x, (indices.size, *x.shape[indices.ndim :]))
    places = call.stage.reshape(indices, (indices.size,))
    hot = call.stage.block("OneHot", places, depth=count, dtype=x.dtype)
    flat = call.stage.reshape(rows, (indices.size, math.prod(rows.shape[1:])))
    summed = call.block("MatMul", call.stage.transpose(hot, (1, 0)), flat)
    return call.stage.reshape(summed, (count, *rows.shape[1:]))


OPERATORS: dict[str, Operator] = {
    "Slice": _slice, "StridedSlice": _strided, "Gather": _gather, "GatherV2": _gather,
    "GatherNd": _gather_nd, "UnsortedSegmentSum": _segment_sum, "ScatterNd": _scatter_zeros,
    "TensorScatterUpdate": _scatter("set"), "TensorScatterAdd": _scatter("add"),
    "TensorScatterMax": _scatter("max"), "TensorScatterMin": _scatter("min"),
}  # fmt: skip
