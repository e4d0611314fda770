"""How ONNX writes each primitive: its operators, cast where these lack a dtype."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.export.systems.onnx.arithmetic import ARITHMETIC
from gradwire.runtime.interchange.export.systems.onnx.images import IMAGES
from gradwire.runtime.interchange.export.systems.onnx.nodes import CLIP, LOSS, STOP, SURROGATE

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.systems.onnx.nodes import (
        Attribute,
        NodeList,
        Rows,
        Write,
    )

_WIDE = {"float32", "float64", "int32", "int64"}
"""What reductions compute with; other integers and booleans go through int64."""


def _through_int64(op: str, *kept: str, inputs: int = 1) -> Write:
    """An operator without axes whose first inputs are int64 if their dtype is not supported."""

    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        if value.dtype in _WIDE or value.dtype in ("float16", *kept):
            return body.node(op, *a)
        wide = [body.cast(x, "int64") for x in a[:inputs]]
        return body.cast(body.node(op, *wide, *a[inputs:]), value.dtype)

    return write


def _axes(value: Value) -> tuple[int, ...]:
    axes: tuple[int, ...] = value.attributes["axes"]
    return axes


def _axis(value: Value) -> int:
    axis: int = value.attributes["axis"]
    return axis


def _reduced(body: NodeList, op: str, value: Value, x: str) -> str:
    """A reduction over axes; over none it is what is reduced."""
    return body.node(op, x, body.integers(*_axes(value)), keepdims=1, noop_with_empty_axes=1)


def _reduction(op: str, *kept: str) -> Write:
    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        dtype = value.inputs[0].dtype
        if dtype in _WIDE or dtype in ("float16", *kept):
            return _reduced(body, op, value, a[0])
        return body.cast(_reduced(body, op, value, body.cast(a[0], "int64")), value.dtype)

    return write


def _sum(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if value.dtype == "float16":  # which loses whole elements beyond 2048
        return body.cast(_reduced(body, "ReduceSum", value, body.cast(a[0], "float32")), "float16")
    return _reduction("ReduceSum")(body, value, a)


def _cumulative(body: NodeList, value: Value, a: Sequence[str]) -> str:
    wide = {"float16": "float32"}.get(value.dtype, "int64")
    axis = body.constant(np.array(_axis(value)))
    if value.dtype in _WIDE:
        return body.node("CumSum", a[0], axis)
    return body.cast(body.node("CumSum", body.cast(a[0], wide), axis), value.dtype)


def _extreme_place(op: str) -> Write:
    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        narrow = value.inputs[0].dtype in ("bool", "int16", "uint16", "uint32")
        x = body.cast(a[0], "int64") if narrow else a[0]
        return body.node(op, x, axis=_axis(value), keepdims=1)

    return write


def _argsort(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Of equal elements TopK gives the first one first."""
    axis = _axis(value)
    x = a[0]
    if value.inputs[0].dtype in ("bool", "uint16", "uint32"):
        x = body.cast(x, "int64")
    largest = int(value.attributes["descending"])
    count = body.integers(value.shape[axis])
    _, places = body.several("TopK", 2, x, count, axis=axis, largest=largest)
    return places


def _shaped(op: str) -> Write:
    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        empty: dict[str, Attribute] = {"allowzero": 1} if 0 in value.shape else {}
        more = empty if op == "Reshape" else {}
        return body.node(op, a[0], body.integers(*value.shape), **more)

    return write


def _with_axis(op: str, **more: int) -> Write:
    return lambda body, value, a: body.node(op, *a, axis=_axis(value), **more)


def _slice(body: NodeList, value: Value, a: Sequence[str]) -> str:
    return _sliced(body, a[0], value.attributes["index"], value.inputs[0].shape)


def _sliced(body: NodeList, x: str, index: Sequence[slice], shape: Sequence[int]) -> str:
    """A part of an array; axes that are whole are not named."""
    ends = {
        axis: part.indices(n)
        for axis, (part, n) in enumerate(zip(index, shape, strict=True))
        if part.indices(n) != (0, n, 1)
    }
    if not ends:
        return body.node("Identity", x)
    starts = body.integers(*(start for start, _, _ in ends.values()))
    before_first = -(2**62)  # a stop of -1 would be the last element
    stops = body.integers(*(stop if stop >= 0 else before_first for _, stop, _ in ends.values()))
    steps = body.integers(*(step for _, _, step in ends.values()))
    return body.node("Slice", x, starts, stops, body.integers(*ends), steps)


def _flip(body: NodeList, value: Value, a: Sequence[str]) -> str:
    back = slice(None, None, -1)
    index = [back if axis in _axes(value) else slice(None) for axis in range(value.ndim)]
    return _sliced(body, a[0], index, value.shape)


def _embed(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Spread by the steps of the slice, turned where they are negative, then padded."""
    x, lengths = a[0], list(value.inputs[0].shape)
    fill = body.number(value.attributes["fill"], value.dtype)
    before, after = [], []
    for axis, (part, n) in enumerate(zip(value.attributes["index"], value.shape, strict=True)):
        places = range(n)[part]
        step = abs(places.step)
        if places.step < 0:
            index = [slice(None)] * value.ndim
            index[axis] = slice(None, None, -1)
            x = _sliced(body, x, index, lengths)
        if step > 1 and len(places) > 1:
            x = _spread(body, x, lengths, axis, step, fill)
        first = min(places, default=0)
        before.append(first)
        after.append(n - first - lengths[axis])
    if not value.ndim:
        return body.node("Identity", x)
    return body.node("Pad", x, body.integers(*before, *after), fill)


def _spread(body: NodeList, x: str, lengths: list[int], axis: int, step: int, fill: str) -> str:
    """``step − 1`` fills between the elements along an axis; ``lengths`` are changed with it."""
    apart = [*lengths[: axis + 1], 1, *lengths[axis + 1 :]]
    widths = [0] * (2 * len(apart))
    widths[len(apart) + axis + 1] = step - 1
    x = body.node("Reshape", x, body.integers(*apart))
    x = body.node("Pad", x, body.integers(*widths), fill)
    whole = lengths[axis] * step
    lengths[axis] = whole
    x = body.node("Reshape", x, body.integers(*lengths))
    index = [slice(None)] * len(lengths)
    index[axis] = slice(0, whole - step + 1)
    x = _sliced(body, x, index, lengths)
    lengths[axis] = whole - step + 1
    return x


def _indices(body: NodeList, value: Value, name: str) -> str:
    dtype = value.inputs[1].dtype
    return name if dtype in ("int32", "int64") else body.cast(name, "int64")


def _take(op: str) -> Write:
    return lambda body, value, a: body.node(
        op, a[0], _indices(body, value, a[1]), axis=_axis(value)
    )


def _along(reduction: str) -> Write:
    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        inputs = a[0], _indices(body, value, a[1]), a[2]
        return body.node("ScatterElements", *inputs, axis=_axis(value), reduction=reduction)

    return write


def _scatter_add(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """One place for each element of the updates: the same for all of a row."""
    axis, x, count = _axis(value), value.inputs[0].shape, value.inputs[1].size
    rows = (*x[:axis], count, *x[axis + 1 :])
    places = body.node(
        "Reshape",
        _indices(body, value, a[1]),
        body.integers(*(count if i == axis else 1 for i in range(len(x)))),
    )
    places = body.node("Expand", places, body.integers(*rows))
    updates = body.node("Reshape", a[2], body.integers(*rows))
    return body.node("ScatterElements", a[0], places, updates, axis=axis, reduction="add")


def _one_hot(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Not OneHot, which counts negative classes from the end."""
    dtype = value.inputs[0].dtype
    classes = body.node("Unsqueeze", a[0], body.integers(-1))
    every = body.constant(np.arange(value.attributes["depth"]).astype(dtype))
    return body.cast(body.node("Equal", classes, every), value.dtype)


def _einsum(body: NodeList, value: Value, a: Sequence[str]) -> str:
    terms, output = ",".join(value.attributes["terms"]), value.attributes["output"]
    return body.node("Einsum", *a, equation=f"{terms}->{output}")


def _stop(body: NodeList, value: Value, a: Sequence[str]) -> str:
    name = body.node("Identity", a[0])
    body.remark(STOP, "true")
    return name


def _surrogate(body: NodeList, value: Value, a: Sequence[str]) -> str:
    name = body.node("Identity", a[0])
    body.remark(SURROGATE, a[1])
    return name


def _settings(key: str, *names: str) -> Write:
    """An Identity with attributes of the primitive in its metadata."""

    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        name = body.node("Identity", a[0])
        body.remark(key, json.dumps({name: value.attributes[name] for name in names}))
        return name

    return write


ROWS: Rows = {
    "cast": lambda body, value, a: body.cast(a[0], value.dtype),
    "broadcast_to": _shaped("Expand"),
    "reshape": _shaped("Reshape"),
    **ARITHMETIC,
    **IMAGES,
    "sum": _sum,
    "max": _reduction("ReduceMax", "bool", "int8", "uint8", "uint64"),
    "min": _reduction("ReduceMin", "bool", "int8", "uint8", "uint64"),
    "any": _reduction("ReduceMax", "bool"),
    "all": _reduction("ReduceMin", "bool"),
    "argmax": _extreme_place("ArgMax"),
    "argmin": _extreme_place("ArgMin"),
    "logsumexp": _reduction("ReduceLogSumExp"),
    "softmax": _with_axis("Softmax"),
    "log_softmax": _with_axis("LogSoftmax"),
    "cumulative_sum": _cumulative,
    "permute_dims": lambda body, value, a: body.node("Transpose", a[0], perm=_axes(value)),
    "flip": _flip,
    "slice": _slice,
    "embed": _embed,
    "concat": _with_axis("Concat"),
    "take": _take("Gather"),
    "scatter_add": _scatter_add,
    "take_along_axis": _take("GatherElements"),
    "add_along_axis": _along("add"),
    "set_along_axis": _along("none"),
    "multiply_along_axis": _along("mul"),
    "maximum_along_axis": _along("max"),
    "minimum_along_axis": _along("min"),
    "argsort": _argsort,
    "one_hot": _one_hot,
    "matmul": _through_int64("MatMul", "uint32", "uint64", inputs=2),
    "einsum": _einsum,
    "stop_gradient": _stop,
    "surrogate": _surrogate,
    "clip_gradient": _settings(CLIP, "limit", "by"),
    "loss_head": _settings(LOSS, "scale", "normalization", "threshold"),
}
"""What is more than operators on the inputs."""
