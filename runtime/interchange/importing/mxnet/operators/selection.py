"""Parts of a value: slices, elements at indices, and choices between two values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import indexing
from gradwire.runtime.interchange.importing.meanings.shapes import move

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _slice(call: MXNetCall) -> Staged:
    x = call.x()
    begin, end = call.attributes.bounds("begin"), call.attributes.bounds("end")
    step = call.attributes.bounds("step", ())
    if max(len(begin), len(end), len(step)) > x.ndim or len(begin) != len(end):
        raise call.unsupported(f"its bounds don't fit {x.shape}")
    for axis, (start, stop) in enumerate(zip(begin, end, strict=True)):
        width = step[axis] if axis < len(step) else None
        x = call.stage.cut(x, axis, start, stop, 1 if width is None else width)
    return x


def _slice_axis(call: MXNetCall) -> Staged:
    start, stop = (call.attributes.bounds(key, (0,))[0] for key in ("begin", "end"))
    if call.attributes.text("end") == "":
        stop = None
    return call.stage.cut(call.x(), call.attributes.whole("axis"), start, stop)


def _slice_like(call: MXNetCall) -> Staged:
    x, like = call.x(0), call.x(1)
    for axis in call.attributes.axes("axes") or range(min(x.ndim, like.ndim)):
        x = call.stage.cut(x, axis, 0, like.shape[axis])
    return x


def _within(call: MXNetCall, x: Staged, count: int) -> Staged:
    """Indices with those outside at the ends, or wrapped around."""
    return indexing.inside(indexing.whole(x), count, call.attributes.text("mode", "clip"))


def _take(call: MXNetCall) -> Staged:
    x, axis = call.x(0), call.attributes.whole("axis", 0)
    places = _within(call, call.x(1), x.shape[axis])
    return indexing.gather(x, places, axis)


def _pick(call: MXNetCall) -> Staged:
    """One element along an axis for each index, as that of the label in a row of scores."""
    x, axes = call.x(0), call.attributes.axes() or (-1,)
    axis = axes[0] % x.ndim
    kept = x.shape[:axis] + x.shape[axis + 1 :]
    places = _within(call, call.x(1, kept), x.shape[axis])
    return indexing.pick(x, places, axis, call.attributes.flag("keepdims"))


def _one_hot(call: MXNetCall) -> Staged:
    depth = call.attributes.whole("depth")
    dtype = call.attributes.text("dtype", "float32")
    on, off = (
        call.stage.constant(np.asarray(call.attributes.number(key, default), dtype))
        for key, default in (("on_value", 1.0), ("off_value", 0.0))
    )
    return indexing.one_hot(indexing.whole(call.x()), depth, dtype, -1, on, off)


def _gather_nd(call: MXNetCall) -> Staged:
    """Along the first axis of the indices are tuples."""
    return indexing.gather_nd(call.x(0), move(indexing.whole(call.x(1)), 0, -1))


def _where(call: MXNetCall) -> Staged:
    condition, a, b = (call.x(number) for number in range(3))
    if condition.dtype != "bool":
        condition = call.stage.block("NotEqual", condition, condition.like(0))
    if condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (a.shape[0], *(1,) * (a.ndim - 1)))
    return call.block("Where", condition, a, b)


def _embedding(call: MXNetCall) -> Staged:
    rows, width = call.attributes.whole("input_dim"), call.attributes.whole("output_dim")
    places = _within(call, call.x(0), rows)
    return call.block("Embedding", places, call.x(1, (rows, width)))


OPERATORS: dict[str, Operator] = {
    "slice": _slice, "crop": _slice, "slice_axis": _slice_axis, "slice_like": _slice_like,
    "take": _take, "pick": _pick, "choose_element_0index": _pick, "one_hot": _one_hot,
    "where": _where, "gather_nd": _gather_nd, "Embedding": _embedding,
}  # fmt: skip
