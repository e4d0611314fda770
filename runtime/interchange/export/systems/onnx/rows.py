"""How ONNX writes each primitive: its operators, cast where these lack a dtype."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.export.systems.onnx.nodes import (
    CLIP,
    LOSS,
    STOP,
    SURROGATE,
    chosen,
    spelled,
)

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.primitives.convolution import Geometry
    from gradwire.runtime.interchange.export.systems.onnx.nodes import (
        Attribute,
        NodeList,
        Rows,
        Write,
    )


def _by_dtype(text: str, other: str, *dtypes: str) -> Write:
    """One spelling, or another one for some dtypes, which runtimes lack kernels of."""
    return chosen(lambda value: other if value.dtype in dtypes else text)


def _widened(text: str, *dtypes: str) -> Write:
    """A spelling, whose inputs in braces go through int64 where runtimes lack kernels of their
    dtypes; it wraps as they do. Sums of float16 lose whole elements beyond 2048: float32.
    """
    plain = re.sub(r"[{}]", "", text)

    def choose(value: Value) -> str:
        dtype = value.inputs[-1].dtype
        wide = "float32" if dtype == "float16" else "int64"
        cast = re.sub(r"\{(\w)\}", rf"{wide}(\1)", text)
        return f"dtype({cast})" if dtype in dtypes else plain

    return chosen(choose)


def _reduction(op: str, *dtypes: str) -> Write:
    """A reduction over axes, of some dtypes through int64; over none it is what is reduced."""
    return _widened(f"{op}({{a}}, axes, keepdims=1, noop_with_empty_axes=1)", *dtypes)


def _indexed(text: str) -> Write:
    """A spelling whose indices, in braces, are to be of int32 or int64."""

    def choose(value: Value) -> str:
        plain = value.inputs[1].dtype in ("int32", "int64")
        return text.format(b="b" if plain else "int64(b)")

    return chosen(choose)


def _place(op: str) -> Write:
    """Where an extreme is: int64, whatever the dtype of what it is of."""
    narrow = ("bool", "int16", "uint16", "uint32")
    cast, plain = (f"{op}({x}, axis=axis, keepdims=1)" for x in ("int64(a)", "a"))
    return chosen(lambda value: cast if value.inputs[0].dtype in narrow else plain)


def _by_kind(floats: str, others: str) -> Write:
    """A spelling for inputs of floats, and one for others."""
    return chosen(lambda v: floats if v.inputs[0].dtype.startswith("float") else others)


def _softplus(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """``log(eˣ + e⁰)`` in float64, for which onnxruntime has no kernel of Softplus."""
    if value.dtype != "float64":
        return body.node("Softplus", a[0])
    column = body.node("Unsqueeze", a[0], body.integers(-1))
    widths = body.integers(*[0] * (2 * value.ndim + 1), 1)
    pair = body.node("Pad", column, widths, body.number(0, value.dtype))
    return body.node("ReduceLogSumExp", pair, body.integers(-1), keepdims=0)


def _clip(body: NodeList, value: Value, a: Sequence[str]) -> str:
    how = value.attributes
    dtype = "int64" if value.dtype in ("int16", "uint16") else value.dtype
    bounds = [how["lo"], how["hi"]]
    given = ["" if bound is None else body.number(bound, dtype) for bound in bounds]
    given = given if given[1] else given[:1]
    if dtype == value.dtype:
        return body.node("Clip", a[0], *given)
    return body.cast(body.node("Clip", body.cast(a[0], dtype), *given), value.dtype)


_NARROW = ("int16", "uint16")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_SHIFTED = ("uint8", "uint32", "uint64")
"""Dtypes of BitShift, which takes numbers without a sign only."""
_FLOORED = """
rest = Mod(a, b, fmod=1)
other = And(Xor(Less(rest, 0), Less(b, 0)), Not(Equal(rest, 0)))
"""
"""The remainder by C, which has the sign of a, and where it is one of the other sign."""
_ARITHMETIC: Rows = {
    # Without the remainder the quotient is whole, but for rounding.
    "floor_divide": _by_kind(
        _FLOORED
        + """
whole = Sub(Round(Div(Sub(a, rest), b)), dtype(other))
Where(Equal(b, 0), Div(a, b), whole)
""",
        "Div(Sub(a, Mod(a, b)), b)",
    ),
    "remainder": _by_kind(_FLOORED + "Where(other, Add(rest, b), rest)", "Mod(a, b)"),
    "power": _widened("Pow({a}, {b})", "int8", "int16", *_UNSIGNED),
    "maximum": _widened("Max({a}, {b})", *_NARROW),
    "minimum": _widened("Min({a}, {b})", *_NARROW),
    # The angle of |a| and |b|, mirrored by the signs, also by those of zeros: 1 / -0 is -inf.
    "arctan2": spelled("""
        infinite = And(IsInf(a), IsInf(b))
        nothing = And(Equal(a, 0), Equal(b, 0))
        up = Where(infinite, 1, Where(Equal(a, 0), 0, Abs(a)))
        along = Where(infinite, 1, Where(Equal(b, 0), 0, Abs(b)))
        angle = Atan(Div(up, Where(nothing, 1, along)))
        below = Less(Where(Equal(a, 0), Div(1, a), a), 0)
        left = Less(Where(Equal(b, 0), Div(1, b), b), 0)
        turned = Where(left, Sub(3.141592653589793, angle), angle)
        Where(below, Neg(turned), turned)
    """),
    "negative": _by_dtype("Neg(a)", "Sub(0, a)", *_UNSIGNED),
    # tanh(x/2) (exp(x) + 1), exact near 0.
    "expm1": spelled("Mul(Tanh(Mul(a, 0.5)), Add(Exp(a), 1))"),
    # log(u) x / (u - 1) of u = 1 + x: what rounding u loses is in the quotient.
    "log1p": spelled("""
        u = Add(a, 1)
        kept = Sub(u, 1)
        lost = Equal(kept, 0)
        share = Where(Equal(kept, a), 1, Div(a, Where(lost, 1, kept)))
        Where(lost, a, Mul(Log(u), share))
    """),
    "tan": _by_dtype("Tan(a)", "Div(Sin(a), Cos(a))", "float64"),
    "softplus": _softplus,
    "isnan": _by_kind("IsNaN(a)", "Not(Equal(a, a))"),
    "isfinite": _by_kind("Not(Or(IsNaN(a), IsInf(a)))", "Equal(a, a)"),
    "relu": chosen(
        lambda v: (
            "Relu(a)"
            if v.dtype.startswith("float")
            else "dtype(Max(int64(a), int64(0)))"
            if v.dtype in _NARROW
            else "Max(a, 0)"
        )
    ),
    "clip": _clip,
    "bitwise_and": _by_dtype("BitwiseAnd(a, b)", "And(a, b)", "bool"),
    "bitwise_or": _by_dtype("BitwiseOr(a, b)", "Or(a, b)", "bool"),
    "bitwise_xor": _by_dtype("BitwiseXor(a, b)", "Xor(a, b)", "bool"),
    "left_shift": _by_dtype(
        "dtype(BitShift(uint64(a), uint64(b), direction='LEFT'))",
        "BitShift(a, b, direction='LEFT')",
        *_SHIFTED,
    ),
    # Of a number below 0 the bits are turned before and after, so that zeros come in.
    "right_shift": chosen(
        lambda v: (
            "BitShift(a, b, direction='RIGHT')"
            if v.dtype in _SHIFTED
            else "dtype(BitShift(uint64(a), uint64(b), direction='RIGHT'))"
            if v.dtype in _UNSIGNED
            else """
                negative = Less(a, 0)
                positive = Where(negative, BitwiseNot(a), a)
                moved = dtype(BitShift(uint64(positive), uint64(b), direction='RIGHT'))
                Where(negative, BitwiseNot(moved), moved)
            """
        )
    ),
    "where": chosen(
        lambda v: (
            "Or(And(a, b), And(Not(a), c))"
            if v.dtype == "bool"
            else "dtype(Where(a, int64(b), int64(c)))"
            if v.dtype in (*_NARROW, "uint64")
            else "Where(a, b, c)"
        )
    ),
    "matmul": _widened("MatMul({a}, {b})", "bool", "int8", "uint8", *_NARROW),
}
"""What works element by element and is more than operators, or not for all dtypes; matrices."""


def _pads(geometry: Geometry) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    (top, bottom), (left, right) = geometry.padding
    return top, left, bottom, right


def _moved(geometry: Geometry) -> dict[str, Attribute]:
    """How a window moves over an image."""
    pads, dilations = _pads(geometry), geometry.dilation
    return {"strides": geometry.stride, "pads": pads, "dilations": dilations}


def _conv2d(body: NodeList, value: Value, a: Sequence[str], **more: Attribute) -> str:
    geometry: Geometry = value.attributes["geometry"]
    op = "ConvTranspose" if more else "Conv"
    more |= {"kernel_shape": geometry.window, "group": value.attributes["groups"]}
    return body.node(op, *a, **_moved(geometry), **more)


def _conv2d_x(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """The transpose; rows and columns that no window reached are added again."""
    geometry: Geometry = value.attributes["geometry"]
    places = value.inputs[0].shape[2:]
    missed = [
        value.shape[2 + i]
        + sum(geometry.padding[i])
        - (places[i] - 1) * geometry.stride[i]
        - geometry.dilation[i] * (geometry.window[i] - 1)
        - 1
        for i in (0, 1)
    ]
    return _conv2d(body, value, a, output_padding=missed)


def _conv2d_w(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """A convolution with images as channels: strides and dilations change places."""
    groups = value.attributes["groups"]
    images, outputs = a
    if groups == 1:
        return _by_filters(body, value, images, outputs)
    parts = [
        body.several("Split", groups, x, axis=1, num_outputs=groups) for x in (images, outputs)
    ]
    found = [_by_filters(body, value, x, g) for x, g in zip(*parts, strict=True)]
    return body.node("Concat", *found, axis=0)


def _by_filters(body: NodeList, value: Value, images: str, outputs: str) -> str:
    geometry: Geometry = value.attributes["geometry"]
    swap = (1, 0, 2, 3)
    found = body.node(
        "Conv",
        body.node("Transpose", images, perm=swap),
        body.node("Transpose", outputs, perm=swap),
        strides=geometry.dilation,
        pads=_pads(geometry),
        dilations=geometry.stride,
    )
    ends = body.integers(*geometry.window)
    found = body.node("Slice", found, body.integers(0, 0), ends, body.integers(2, 3))
    return body.node("Transpose", found, perm=swap)


def _windows(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Every place of the window is a slice with steps; they are stacked."""
    geometry: Geometry = value.attributes["geometry"]
    top, left, bottom, right = _pads(geometry)
    widths = body.integers(0, 0, top, left, 0, 0, bottom, right)
    padded = body.node("Pad", a[0], widths, body.number(value.attributes["fill"], value.dtype))
    rows, columns = value.shape[4:]
    axes, steps = body.integers(2, 3), body.integers(*geometry.stride)
    seen = []
    for i in range(geometry.window[0]):
        for j in range(geometry.window[1]):
            first = i * geometry.dilation[0], j * geometry.dilation[1]
            last = (
                first[0] + (rows - 1) * geometry.stride[0] + 1,
                first[1] + (columns - 1) * geometry.stride[1] + 1,
            )
            ends = body.integers(*first), body.integers(*last)
            seen.append(body.node("Slice", padded, *ends, axes, steps))
    stacked = body.node("Concat", *seen, axis=0)
    return body.node("Reshape", stacked, body.integers(*value.shape))


def _fold(body: NodeList, value: Value, a: Sequence[str]) -> str:
    geometry: Geometry = value.attributes["geometry"]
    high, wide, images, channels, *places = value.inputs[0].shape
    columns = body.node("Transpose", a[0], perm=(2, 3, 0, 1, 4, 5))
    shape = images, channels * high * wide, places[0] * places[1]
    return body.node(
        "Col2Im",
        body.node("Reshape", columns, body.integers(*shape)),
        body.integers(*value.shape[2:]),
        body.integers(*geometry.window),
        **_moved(geometry),
    )


_IMAGES: Rows = {
    "conv2d": _conv2d,
    "conv2d_x": _conv2d_x,
    "conv2d_w": _conv2d_w,
    "windows": _windows,
    "fold": _fold,
}
"""Rows of primitives that work on images (N, C, H, W)."""


def _axis(value: Value) -> int:
    axis: int = value.attributes["axis"]
    return axis


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
    index = [
        back if axis in value.attributes["axes"] else slice(None) for axis in range(value.ndim)
    ]
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


def _scatter_add(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """One place for each element of the updates: the same for all of a row."""
    axis, x, count = _axis(value), value.inputs[0].shape, value.inputs[1].size
    plain = value.inputs[1].dtype in ("int32", "int64")
    rows = (*x[:axis], count, *x[axis + 1 :])
    places = body.node(
        "Reshape",
        a[1] if plain else body.cast(a[1], "int64"),
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


def _said(key: str, say: Callable[[Value, Sequence[str]], str]) -> Write:
    """An Identity that says in its metadata what becomes of the gradient."""

    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        name = body.node("Identity", a[0])
        body.remark(key, say(value, a))
        return name

    return write


def _settings(value: Value, _: Sequence[str]) -> str:
    """The attributes of the primitive."""
    return json.dumps(dict(value.attributes))


_INTEGERS = ("int8", "int16", *_UNSIGNED)
"""Integers that most reductions have no kernels of."""
ROWS: Rows = {
    "cast": spelled("dtype(a)"),
    "broadcast_to": spelled("Expand(a, shape)"),
    "reshape": chosen(lambda v: f"Reshape(a, shape{', allowzero=1' if 0 in v.shape else ''})"),
    **_ARITHMETIC,
    **_IMAGES,
    "sum": _reduction("ReduceSum", "float16", "bool", *_INTEGERS),
    "max": _reduction("ReduceMax", *_NARROW, "uint32"),
    "min": _reduction("ReduceMin", *_NARROW, "uint32"),
    "any": _reduction("ReduceMax", *_INTEGERS),
    "all": _reduction("ReduceMin", *_INTEGERS),
    "argmax": _place("ArgMax"),
    "argmin": _place("ArgMin"),
    "logsumexp": _reduction("ReduceLogSumExp"),
    "softmax": spelled("Softmax(a, axis=axis)"),
    "log_softmax": spelled("LogSoftmax(a, axis=axis)"),
    "cumulative_sum": _widened("CumSum({a}, int64(axis))", "float16", "bool", *_INTEGERS),
    "permute_dims": spelled("Transpose(a, perm=axes)"),
    "flip": _flip,
    "slice": _slice,
    "embed": _embed,
    "concat": lambda body, value, a: body.node("Concat", *a, axis=_axis(value)),
    "take": _indexed("Gather(a, {b}, axis=axis)"),
    "scatter_add": _scatter_add,
    "take_along_axis": _indexed("GatherElements(a, {b}, axis=axis)"),
    "add_along_axis": _indexed("ScatterElements(a, {b}, c, axis=axis, reduction='add')"),
    "set_along_axis": _indexed("ScatterElements(a, {b}, c, axis=axis, reduction='none')"),
    "multiply_along_axis": _indexed("ScatterElements(a, {b}, c, axis=axis, reduction='mul')"),
    "maximum_along_axis": _indexed("ScatterElements(a, {b}, c, axis=axis, reduction='max')"),
    "minimum_along_axis": _indexed("ScatterElements(a, {b}, c, axis=axis, reduction='min')"),
    "argsort": _argsort,
    "one_hot": _one_hot,
    "einsum": _einsum,
    "stop_gradient": _said(STOP, lambda value, a: "true"),
    "surrogate": _said(SURROGATE, lambda value, a: a[1]),
    "clip_gradient": _said(CLIP, _settings),
    "loss_head": _said(LOSS, _settings),
}
"""What is more than operators on the inputs."""
