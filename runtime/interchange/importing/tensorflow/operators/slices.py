"""Parts of values: slices, and elements at indices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import indexing

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _slice(call: TensorFlowCall) -> Staged:
    x, begin, size = call.x(), call.wholes(1), call.wholes(2)
    for axis, (start, length) in enumerate(zip(begin, size, strict=True)):
        stop = None if length == -1 else start + length
        x = call.stage.cut(x, axis, start, stop)
    return x


def _strided(call: TensorFlowCall) -> Staged:
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


def _inside(call: TensorFlowCall, index: int, length: int) -> int:
    if not -length <= index < length:
        raise call.unsupported(f"index {index} is outside an axis of length {length}")
    return index


def _gather(call: TensorFlowCall) -> Staged:
    x = call.x(0)
    axis = call.axis(2, x.ndim) if len(call) > 2 else 0
    return gathered(call, x, call.x(1), axis, call.attributes.whole("batch_dims"))


def gathered(call: TensorFlowCall, x: Staged, indices: Staged, axis: int, batch: int) -> Staged:
    """Elements at indices along an axis; the first ``batch`` axes of both go together."""
    batch %= indices.ndim + 1
    if batch and (axis < batch or x.shape[:batch] != indices.shape[:batch]):
        raise call.unsupported(f"{batch} axes of {x.shape} and {indices.shape} don't go together")
    return indexing.gather(x, indices, axis, batch)


def _scattered(mode: str) -> Operator:
    return lambda call: indexing.scatter_nd(call.x(0), call.x(1), call.x(2), mode, "")


def _scatter_zeros(call: TensorFlowCall) -> Staged:
    indices, updates = call.x(0), call.x(1)
    zeros = call.stage.constant(np.zeros(call.shape(2), updates.dtype))
    return indexing.scatter_nd(zeros, indices, updates, "add", "")


def _segment_sum(call: TensorFlowCall) -> Staged:
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
    "GatherNd": lambda call: indexing.gather_nd(call.x(0), call.x(1), mode=""),
    "UnsortedSegmentSum": _segment_sum, "ScatterNd": _scatter_zeros,
    "TensorScatterUpdate": _scattered("set"), "TensorScatterAdd": _scattered("add"),
    "TensorScatterMax": _scattered("max"), "TensorScatterMin": _scattered("min"),
}  # fmt: skip
