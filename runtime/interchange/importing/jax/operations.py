"""What each primitive of JAX is in blocks: a table for each way to read the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.indexing import INDEXING
from gradwire.runtime.interchange.importing.jax.jaxprs import LazyBroadcast, block_dtype
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings import (
    ordering,
    products,
    reductions,
    shapes,
    windows,
)
from gradwire.runtime.interchange.importing.meanings.shapes import flip, spread, swap
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


Elementwise: TypeAlias = "Callable[..., Staged]"
"""Takes values that broadcast to the shape of the result, which may itself be narrower."""
Lazy: TypeAlias = "Callable[..., LazyBroadcast]"
"""Takes values that are broadcast late, and gives one."""
Whole: TypeAlias = "Callable[..., Staged | Sequence[Staged]]"
"""Takes values in their full shapes."""


_BLOCKS = {
    "acos": "Arccos", "acosh": "Arccosh", "add": "Add", "add_any": "Add",
    "asin": "Arcsin", "asinh": "Arcsinh", "atan": "Arctan", "atan2": "Arctan2",
    "atanh": "Arctanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "eq": "Equal",
    "eq_to": "Equal", "erf": "Erf", "exp": "Exp", "expm1": "Expm1", "floor": "Floor",
    "ge": "GreaterEqual", "gt": "Greater", "is_finite": "IsFinite", "le": "LessEqual",
    "le_to": "LessEqual", "log": "Log", "log1p": "Log1p", "logistic": "Sigmoid", "lt": "Less",
    "lt_to": "Less", "max": "Maximum", "min": "Minimum", "mul": "Mul", "ne": "NotEqual",
    "neg": "Neg", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt",
    "square": "Square", "sub": "Sub", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
_PRECISIONS = {(5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}


def _block(kind: str, **parameters: str) -> Elementwise:
    return lambda stage, params, *inputs: stage.block(kind, *inputs, **parameters)


def _shift_right_logical(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if not a.dtype.startswith("u"):
        raise UnsupportedError("shift_right_logical", "it shifts signed integers")
    return put("Bits", a, b, op="right")


def _integer_pow(stage: Stage, params: Params, x: Staged) -> Staged:
    power = params["y"]
    if power == 2:
        return put("Square", x)
    if power == -1:
        return 1.0 / x
    return x ** (float(power) if x.is_float else power)


def _clamp(stage: Stage, params: Params, low: Staged, x: Staged, high: Staged) -> Staged:
    """Between bounds, at which the gradient is 0."""
    known = [y.array.reshape(-1)[0] for y in (low, high) if y.array is not None and y.size == 1]
    if x.is_float and len(known) == 2:
        return act.hard_tanh(x, *(float(str(number)) for number in known))
    return el.clip(x, low, high)


def select(stage: Stage, params: Params, which: Staged, *cases: Staged) -> Staged:
    """``cases[which]``; False is 0."""
    if len(cases) == 1:
        return cases[0]
    if which.array is not None and which.size == 1:
        return cases[int(which.array.reshape(()))]
    if which.dtype == "bool":
        return put("Where", which, cases[1], cases[0])
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        chosen = put("Where", which <= number, cases[number], chosen)
    return chosen


def _reduce_precision(stage: Stage, params: Params, x: Staged) -> Staged:
    wanted = (params["exponent_bits"], params["mantissa_bits"])
    if wanted not in _PRECISIONS:
        raise UnsupportedError("reduce_precision", f"{wanted} bits are no dtype of blocks")
    return stage.cast(stage.cast(x, _PRECISIONS[wanted]), x.dtype)


ELEMENTWISE: dict[str, Elementwise] = {
    **{name: _block(kind) for name, kind in _BLOCKS.items()},
    **{op: lambda _, params, a, b, op=op: el.bitwise(op, a, b) for op in ("and", "or", "xor")},
    "abs": lambda _, params, x: put("Where", x >= 0, x, -x) if x.is_float else put("Abs", x),
    "cbrt": lambda _, params, x: el.cube_root(x),
    "clamp": _clamp,
    "convert_element_type": lambda stage, params, x: stage.cast(
        x, block_dtype(str(np.dtype(params["new_dtype"])))
    ),
    "div": lambda _, params, a, b: el.quotient(a, b),
    "erfc": lambda _, params, x: 1.0 - put("Erf", x),
    "exp2": lambda _, params, x: put("Exp", x * math.log(2)),
    "integer_pow": _integer_pow,
    "log2": lambda _, params, x: el.logarithm(x, 2),
    "not": lambda _, params, x: el.inverted(x),
    "one_minus_square": lambda _, params, x: (1.0 + x) * (1.0 - x),  # exact near ``|x| = 1``
    "polynomial": lambda _, params, x, *given: reduce(lambda y, c: y * x + c, given[::-1]),
    "pow": lambda stage, params, a, b: put("Pow", a, stage.cast(b, a.dtype)),
    "reduce_precision": _reduce_precision,
    "rem": lambda _, params, a, b: el.remainder(a, b),
    "round": lambda _, params, x: (
        put("Round", x) if int(params["rounding_method"]) == 1 else el.rounded_away(x)
    ),
    "rsqrt": lambda _, params, x: 1.0 / put("Sqrt", x),
    "select_n": select,
    "shift_left": _block("Bits", op="left"),
    "shift_right_arithmetic": _block("Bits", op="right"),
    "shift_right_logical": _shift_right_logical,
}  # fmt: skip


def _broadcast_in_dim(
    stage: Stage, params: Params, x: LazyBroadcast, *_: LazyBroadcast
) -> LazyBroadcast:
    """Axes of length 1 where the input has none; what follows repeats them."""
    shape = tuple(int(n) for n in params["shape"])
    padded = (1,) * (len(x.shape) - x.narrow.ndim) + x.narrow.shape
    between = [1] * len(shape)
    for axis, place in enumerate(params["broadcast_dimensions"]):
        between[place] = padded[axis]
    return _narrow(stage, x.narrow, tuple(between), shape)


def _reshaped(stage: Stage, x: LazyBroadcast, lengths: Iterable[int]) -> LazyBroadcast:
    shape = tuple(lengths)
    if x.narrow.size != math.prod(shape):
        return LazyBroadcast(stage.reshape(x.wide(stage), shape), shape)
    return _narrow(stage, x.narrow, shape, shape)


def _narrow(stage: Stage, x: Staged, between: Shape, shape: Shape) -> LazyBroadcast:
    """``x`` in the shape ``between``, which broadcasts to ``shape``.

    Leading axes of length 1 are left out, since broadcasting adds them.
    """
    first = next((i for i, n in enumerate(between) if n != 1), len(between))
    same = between[first:] == x.shape
    return LazyBroadcast(x if same else stage.reshape(x, between), shape)


def _iota(stage: Stage, params: Params, *_: Staged) -> Staged:
    """Indices along one axis."""
    shape, axis = params["shape"], params["dimension"]
    along = [1] * len(shape)
    along[axis] = -1
    indices = np.arange(shape[axis]).reshape(along)
    dtype = block_dtype(str(np.dtype(params["dtype"])))
    return stage.constant(np.broadcast_to(indices, shape).astype(dtype))


def _slice(stage: Stage, params: Params, x: Staged) -> Staged:
    """A box of the elements, with steps."""
    steps = params["strides"] or (1,) * x.ndim
    bounds = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    for axis, (start, end, step) in enumerate(bounds):
        x = stage.cut(x, axis, start, end, step)
    return x


def _pad(stage: Stage, params: Params, x: Staged, value: Staged) -> Staged:
    """Elements between and around those of x; negative widths cut elements off."""
    if value.array is None:
        raise UnsupportedError("pad", "the value is computed")
    number = float(value.array)
    for axis, (_, _, between) in enumerate(params["padding_config"]):
        x = shapes.spread(x, axis, int(between), number)
    return shapes.pad(
        x, [(int(low), int(high)) for low, high, _ in params["padding_config"]], number
    )


LAZY: dict[str, Lazy] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": lambda stage, params, x, *_: _reshaped(stage, x, map(int, params["new_sizes"])),
    "squeeze": lambda stage, params, x: _reshaped(
        stage, x, [n for axis, n in enumerate(x.shape) if axis not in params["dimensions"]]
    ),
    "expand_dims": lambda stage, params, x: _reshaped(
        stage, x, np.expand_dims(np.empty(x.shape, bool), params["dimensions"]).shape
    ),
    **dict.fromkeys(
        ("copy", "copy_p", "name", "pvary", "sharding_constraint"), lambda stage, params, x: x
    ),
}
SHAPES: dict[str, Whole] = {
    "concatenate": lambda _, params, *xs: shapes.concat(xs, params["dimension"]),
    "iota": _iota,
    "pad": _pad,
    "rev": lambda _, params, x: shapes.flip(x, params["dimensions"]),
    "slice": _slice,
    "split": lambda _, params, x: shapes.split(x, params["sizes"], params["axis"]),
    "stack": lambda _, params, *xs: shapes.stack(xs, params["axis"]),
    "tile": lambda _, params, x: shapes.tile(x, params["reps"]),
    "transpose": lambda stage, params, x: stage.transpose(x, params["permutation"]),
    "unstack": lambda _, params, x: shapes.unstack(x, params["axis"]),
}


def _reduced(kind: str, stage: Stage, params: Params, x: Staged) -> Staged:
    if kind in ("AllTrue", "AnyTrue") and x.dtype != "bool":
        raise UnsupportedError(kind, "it combines the bits of integers")
    return reductions.reduce(kind, x, tuple(int(axis) for axis in params["axes"]))


def _place(kind: str, stage: Stage, params: Params, x: Staged) -> Staged:
    (axis,) = params["axes"]
    dtype = block_dtype(str(np.dtype(params["index_dtype"])))
    return stage.cast(ordering.place(kind, x, int(axis)), dtype)


def _running(kind: str) -> Whole:
    """Along an axis, from the first element or from the last."""
    return lambda _, params, x: reductions.running(
        kind, x, params["axis"], bool(params.get("reverse"))
    )


def _running_extreme(kind: str) -> Whole:
    return lambda _, params, x: reductions.running_by(
        partial(put, kind), x, params["axis"], bool(params.get("reverse"))
    )


REDUCTIONS: dict[str, Whole] = {
    "argmax": partial(_place, "ArgMax"),
    "argmin": partial(_place, "ArgMin"),
    "cumlogsumexp": lambda _, params, x: reductions.running_log_sum_exp(
        x, params["axis"], bool(params.get("reverse"))
    ),
    "cummax": _running_extreme("Maximum"),
    "cummin": _running_extreme("Minimum"),
    "cumprod": _running("CumulativeProduct"),
    "cumsum": _running("CumulativeSum"),
    "reduce_and": partial(_reduced, "AllTrue"),
    "reduce_max": partial(_reduced, "Max"),
    "reduce_min": partial(_reduced, "Min"),
    "reduce_or": partial(_reduced, "AnyTrue"),
    "reduce_prod": partial(_reduced, "Prod"),
    "reduce_sum": partial(_reduced, "Sum"),
    "sort": lambda _, params, *xs: ordering.sort_together(
        xs, params["dimension"], params["num_keys"]
    ),
    "top_k": lambda _, params, x: ordering.top_k(x, params["k"], params.get("axis", -1)),
}


MAX_RANK = 3
"""The most axes that a block moves a window along."""


def _convolution(stage: Stage, params: Params, x: Staged, weight: Staged) -> Staged:
    """Cross-correlation of images with filters, or a transposed convolution."""
    axes, rank = params["dimension_numbers"], x.ndim - 2
    if not 1 <= rank <= MAX_RANK:
        raise UnsupportedError("conv_general_dilated", f"it is over {rank} axes")
    x, weight = stage.transpose(x, axes.lhs_spec), stage.transpose(weight, axes.rhs_spec)
    x, groups = _grouped(stage, x, params)
    y = _transposed(params, x, weight, groups)
    if y is None:
        for axis, step in enumerate(params["lhs_dilation"], 2):
            x = spread(x, axis, step - 1)
        stride, padding = params["window_strides"], params["padding"]
        y = windows.conv(x, weight, None, stride, padding, params["rhs_dilation"], groups)
    return stage.transpose(y, np.argsort(axes.out_spec).tolist())


def _grouped(stage: Stage, x: Staged, params: Params) -> tuple[Staged, int]:
    """Groups of images, which have filters of their own, become groups of channels."""
    groups = params["batch_group_count"]
    if groups == 1:
        return x, params["feature_group_count"]
    images, channels = x.shape[0] // groups, x.shape[1]
    apart = stage.reshape(x, (groups, images, *x.shape[1:]))
    ahead = stage.transpose(apart, (1, 0, *range(2, apart.ndim)))
    return stage.reshape(ahead, (images, groups * channels, *x.shape[2:])), groups


def _transposed(params: Params, x: Staged, weight: Staged, groups: int) -> Staged | None:
    """The transposed convolution that it is, if it is one: its filters are turned around."""
    stride, dilation = params["lhs_dilation"], params["rhs_dilation"]
    if groups != 1 or all(n == 1 for n in stride) or any(n != 1 for n in params["window_strides"]):
        return None
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    ends = [(r - low, r - high) for r, (low, high) in zip(reach, params["padding"], strict=True)]
    if any(n < 0 for pair in ends for n in pair):
        return None
    turned = swap(flip(weight, range(2, x.ndim)), 0, 1)
    return windows.conv_transpose(x, turned, None, stride, ends, dilation=dilation)


def _pooled(kind: str, stage: Stage, params: Params, x: Staged) -> Staged:
    """The "Max" or "Sum" of windows over some axes, which come last for it."""
    keys = ("window_dimensions", "window_strides", "padding", "window_dilation")
    found: list[Any] = [params.get(key) or (1,) * x.ndim for key in keys]
    window, stride, padding, _ = found
    places = range(x.ndim)
    axes = [a for a in places if window[a] != 1 or stride[a] != 1 or any(padding[a])]
    axes = axes or [x.ndim - 1]
    if len(axes) > MAX_RANK or any(n != 1 for n in params.get("base_dilation") or ()):
        raise UnsupportedError("reduce_window", "no block has such a window")
    order = [*(a for a in places if a not in axes), *axes]
    x = stage.transpose(x, order)
    outer, inner = x.shape[: -len(axes)], x.shape[-len(axes) :]
    images = outer if len(outer) == 2 else (math.prod(outer), 1)
    size, steps, ends, apart = ([given[a] for a in axes] for given in found)
    y = windows.pool(kind, stage.reshape(x, (*images, *inner)), size, steps, ends, apart)
    return stage.transpose(stage.reshape(y, (*outer, *y.shape[2:])), np.argsort(order).tolist())


def _spread_back(stage: Stage, params: Params, given: Staged, x: Staged) -> Staged:
    """Values put at the largest element of each window: the gradient of pooling."""
    if str(params["select_prim"]) != "ge":
        raise UnsupportedError("select_and_scatter_add", "it is not of the largest elements")
    return put("Gradient", _pooled("Max", stage, params, x) * given, x)


NETWORKS: dict[str, Whole] = {
    "conv_general_dilated": _convolution,
    "reduce_window_max": partial(_pooled, "Max"),
    "reduce_window_min": lambda stage, params, x: -_pooled("Max", stage, params, -x),
    "reduce_window_sum": partial(_pooled, "Sum"),
    "select_and_scatter_add": _spread_back,
}


def _triangular_solve(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if params["conjugate_a"] and not a.is_float:
        raise UnsupportedError("triangular_solve", "it has complex numbers")
    left, transpose, unit = (params[k] for k in ("left_side", "transpose_a", "unit_diagonal"))
    return products.triangular_solve(a, b, not params["lower"], left, transpose, unit)


def _dot_general(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    over, batch = params["dimension_numbers"]
    wanted = params.get("preferred_element_type")
    if not a.is_float and wanted is not None:
        a, b = (stage.cast(x, str(np.dtype(wanted))) for x in (a, b))
    return products.contract(a, b, over, batch)


OF_LIBRARY: dict[str, Whole] = {
    "det": lambda _, params, x: put("Determinant", x),
    "inv": lambda _, params, x: put("Inverse", x),
    "slogdet": lambda stage, params, x: stage.blocks("LogDeterminant", x)[::-1],
    "solve": lambda _, params, a, b: products.solve(a, b),
}
"""Functions of ``jax.numpy.linalg``."""
MATRICES: dict[str, Whole] = {
    "cholesky": lambda _, params, x: put("Cholesky", x),
    "dot_general": _dot_general,
    "triangular_solve": _triangular_solve,
}


__all__ = ["ELEMENTWISE", "LAZY", "WHOLE"]

WHOLE: dict[str, Whole] = {
    **SHAPES,
    **REDUCTIONS,
    **NETWORKS,
    **INDEXING,
    **MATRICES,
}
"""Primitives whose inputs must have their full shape."""
