"""Parts of a value: slices, elements at indices, and choices between two values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _slice(call: Call) -> Staged:
    x = call.x()
    begin, end = call.attributes.bounds("begin"), call.attributes.bounds("end")
    step = call.attributes.bounds("step", ())
    if max(len(begin), len(end), len(step)) > x.ndim or len(begin) != len(end):
        raise call.unsupported(f"its bounds don't fit {x.shape}")
    for axis, (start, stop) in enumerate(zip(begin, end, strict=True)):
        width = step[axis] if axis < len(step) else None
        x = call.stage.cut(x, axis, start, stop, 1 if width is None else width)
    return x


def _slice_axis(call: Call) -> Staged:
    start, stop = (call.attributes.bounds(key, (0,))[0] for key in ("begin", "end"))
    if call.attributes.text("end") == "":
        stop = None
    return call.stage.cut(call.x(), call.attributes.whole("axis"), start, stop)


def _slice_like(call: Call) -> Staged:
    x, like = call.x(0), call.x(1)
    for axis in call.attributes.axes("axes") or range(min(x.ndim, like.ndim)):
        x = call.stage.cut(x, axis, 0, like.shape[axis])
    return x


def indices(call: Call, x: Staged) -> Staged:
    """Indices as integers; in MXNet they are usually floats."""
    return call.stage.cast(x, "int64") if x.is_float else x


def _within(call: Call, x: Staged, count: int) -> Staged:
    """Indices with those outside at the ends, or wrapped around."""
    integers = indices(call, x)
    mode = call.attributes.text("mode", "clip")
    if mode == "wrap":
        return call.stage.block("Mod", integers, integers.like(count))
    if mode == "clip":
        low = call.stage.block("Maximum", integers, integers.like(0))
        return call.stage.block("Minimum", low, integers.like(count - 1))
    return integers


def _take(call: Call) -> Staged:
    x, axis = call.x(0), call.attributes.whole("axis", 0)
    places = _within(call, call.x(1), x.shape[axis])
    return call.block("Gather", x, places, axis=axis)


def _pick(call: Call) -> Staged:
    """One element along an axis for each index, as that of the label in a row of scores."""
    x, axes = call.x(0), call.attributes.axes() or (-1,)
    axis = axes[0] % x.ndim
    kept = x.shape[:axis] + x.shape[axis + 1 :]
    places = call.stage.reshape(_within(call, call.x(1, kept), x.shape[axis]), kept)
    picked = call.block("PickAlong", x, places, axis=axis)
    keepdims = call.attributes.flag("keepdims")
    return call.stage.reshape(picked, (*kept[:axis], 1, *kept[axis:])) if keepdims else picked


def _one_hot(call: Call) -> Staged:
    depth = call.attributes.whole("depth")
    on, off = call.attributes.number("on_value", 1.0), call.attributes.number("off_value", 0.0)
    dtype = call.attributes.text("dtype", "float32")
    hot = call.block("OneHot", indices(call, call.x()), depth=depth, dtype=dtype)
    return hot if (on, off) == (1.0, 0.0) else hot * (on - off) + off


def _where(call: Call) -> Staged:
    condition, a, b = (call.x(number) for number in range(3))
    if condition.dtype != "bool":
        condition = call.stage.block("NotEqual", condition, condition.like(0))
    if condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (a.shape[0], *(1,) * (a.ndim - 1)))
    return call.block("Where", condition, a, b)


def _embedding(call: Call) -> Staged:
    rows, width = call.attributes.whole("input_dim"), call.attributes.whole("output_dim")
    places = _within(call, call.x(0), rows)
    return call.block("Embedding", places, call.x(1, (rows, width)))


OPERATORS: dict[str, Operator] = {
    "slice": _slice, "crop": _slice, "slice_axis": _slice_axis, "slice_like": _slice_like,
    "take": _take, "pick": _pick, "choose_element_0index": _pick, "one_hot": _one_hot,
    "where": _where, "Embedding": _embedding,
}  # fmt: skip
