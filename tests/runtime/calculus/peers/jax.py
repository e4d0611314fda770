"""What each block of the library is in JAX: ``FUNCTIONS[type](block, *arrays)``.

JAX has no Huber, no CosineSimilarity, no GridSample and no cross-entropy of probabilities, and
resizes with the ends half an element outside alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from gradwire.blocks.library.convolution.windows import each, widths

Function = Callable[..., Any]


def _plain(function: Function) -> Function:
    """Of a block without parameters."""
    return lambda _, *inputs: function(*inputs)


def _along(function: Function) -> Function:
    """Of a block that reduces axes."""
    return lambda block, x: function(x, axis=block.axis, keepdims=block.keepdims)


def _cumulative(function: Function, of_none: int) -> Function:
    """Of a block that runs along an axis."""

    def run(block: Any, x: Any) -> Any:
        out = function(jnp.flip(x, block.axis) if block.reverse else x, block.axis)
        if block.exclusive:
            shifted = jnp.delete(out, -1, block.axis)
            out = jnp.insert(shifted, 0, of_none, block.axis)
        return jnp.flip(out, block.axis) if block.reverse else out

    return run


def _take_along(block: Any, x: Any, indices: Any) -> Any:
    """jnp.take_along_axis, which would repeat a single row of indices."""
    axis = block.axis % x.ndim
    lengths = (None if d == axis else n for d, n in enumerate(indices.shape))
    return jnp.take_along_axis(x[tuple(map(slice, lengths))], indices, axis)


def _written(block: Any, x: Any, writes: Any) -> Any:
    """x after writes, each of places of which none repeats; of set, all in one write."""
    for places, updates in writes:
        at = x.at[places]
        write = {"set": at.set, "add": at.add, "mul": partial(at.multiply, unique_indices=True)}
        x = write[block.mode](updates)
    return x


def _scatter_rows(block: Any, x: Any, indices: Any, updates: Any) -> Any:
    before = (slice(None),) * (block.axis % x.ndim)
    if block.mode == "mul":
        return _written(
            block, x, (((*before, i), u) for i, u in zip(indices, updates, strict=True))
        )
    return _written(block, x, [((*before, indices), updates)])


def _scatter_along(block: Any, x: Any, indices: Any, updates: Any) -> Any:
    rows = jnp.arange(len(x))
    if block.mode == "mul":
        return _written(
            block, x, (((rows, i), u) for i, u in zip(indices.T, updates.T, strict=True))
        )
    return _written(block, x, [((rows[:, None], indices), updates)])


def _top_k(block: Any, x: Any) -> Any:
    """jax.lax.top_k, which takes the largest along the last axis; the smallest by sorting."""
    last = jnp.moveaxis(x, block.axis, -1)
    if block.largest:
        found = jax.lax.top_k(last, block.k)
    else:
        places = jnp.argsort(last, stable=True)[..., : block.k]
        found = jnp.take_along_axis(last, places, -1), places
    return tuple(jnp.moveaxis(each, -1, block.axis) for each in found)


def _clip(block: Any, x: Any) -> Any:
    """jnp.clip, which cuts the gradient at open limits; limits of integers are integers."""
    if block.open:
        low = -jnp.inf if block.min is None else block.min
        high = jnp.inf if block.max is None else block.max
        return jnp.where(x <= low, low, jnp.where(x >= high, high, x))
    kind = float if jnp.issubdtype(x.dtype, jnp.floating) else int
    return jnp.clip(x, *(None if end is None else kind(end) for end in (block.min, block.max)))


def _norm(block: Any, x: Any) -> Any:
    """jnp.linalg.norm, for any number of axes; of more than one it is a norm of matrices."""
    axis = tuple(range(x.ndim)) if block.axis is None else block.axis
    if not isinstance(axis, tuple):
        return jnp.linalg.norm(x, axis=axis, keepdims=block.keepdims)
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=block.keepdims))


def _reduced(block: Any, terms: Any) -> Any:
    return {"none": lambda x: x, "mean": jnp.mean, "sum": jnp.sum}[block.reduction](terms)


def _loss(function: Function) -> Function:
    """Of a loss whose terms are given."""
    return lambda block, *inputs: _reduced(block, function(block, *inputs))


def _cross_entropy(block: Any, logits: Any, labels: Any) -> Any:
    scores = jax.nn.log_softmax(logits, block.axis)
    if jnp.issubdtype(labels.dtype, jnp.floating):
        return -jnp.sum(labels * scores, block.axis)
    axis = block.axis % logits.ndim
    return -jnp.squeeze(jnp.take_along_axis(scores, jnp.expand_dims(labels, axis), axis), axis)


def _binary_cross_entropy(block: Any, prediction: Any, target: Any) -> Any:
    return jax.nn.softplus(prediction) - target.astype(prediction.dtype) * prediction


def _linear(_: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    return x @ weight.T if bias is None else x @ weight.T + bias


def _conv(block: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    stride, dilation = each(block.stride), each(block.dilation)
    padding = widths(x.shape[2:], weight.shape[2:], stride, block.padding, dilation)
    out = jax.lax.conv_general_dilated(
        x, weight, stride, padding, rhs_dilation=dilation, feature_group_count=block.groups
    )
    return out if bias is None else out + jnp.reshape(bias, (-1, *(1,) * block.axes))


def _conv_transpose(block: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    stride, dilation = each(block.stride), each(block.dilation)
    window, extra = weight.shape[2:], each(block.output_padding)
    cut = widths(x.shape[2:], window, stride, block.padding, dilation)
    reach = [spread * (k - 1) for k, spread in zip(window, dilation, strict=True)]
    padding = [(r - a, r - b + e) for r, (a, b), e in zip(reach, cut, extra, strict=True)]
    count, each_out = weight.shape[0] // block.groups, weight.shape[1]
    grouped = jnp.reshape(weight, (block.groups, count, each_out, *window))
    filters = jnp.reshape(
        jnp.flip(jnp.swapaxes(grouped, 1, 2), tuple(range(3, grouped.ndim))),
        (block.groups * each_out, count, *window),
    )
    out = jax.lax.conv_general_dilated(
        x, filters, (1,) * block.axes, padding, lhs_dilation=stride, rhs_dilation=dilation,
        feature_group_count=block.groups,
    )  # fmt: skip
    return out if bias is None else out + jnp.reshape(bias, (-1, *(1,) * block.axes))


def _pooled(start: float, by: Function) -> Function:
    def pool(block: Any, x: Any) -> Any:
        return _over_windows(start, by, block, x, _ends(block, x, block.ceil))

    return pool


def _ends(block: Any, x: Any, ceil: bool) -> Any:
    window, dilation = each(block.window), each(block.dilation)
    return widths(x.shape[2:], window, each(block.stride or window), block.padding, dilation, ceil)


def _over_windows(start: float, by: Function, block: Any, x: Any, padding: Any) -> Any:
    window = each(block.window)
    whole, steps = (1, 1, *window), (1, 1, *each(block.stride or window))
    ends, spread = ((0, 0), (0, 0), *padding), (1, 1, *each(block.dilation))
    return jax.lax.reduce_window(x, start, by, whole, steps, ends, window_dilation=spread)


def _avg_pool(block: Any, x: Any) -> Any:
    """The sum by the number of what counts, which are ones."""
    given, found = _ends(block, x, False), _ends(block, x, block.ceil)
    counting = given if block.count_padding else ((0, 0),) * len(given)
    ones = jnp.pad(jnp.ones_like(x), ((0, 0), (0, 0), *counting), constant_values=1)
    more = [(a - c, b - d) for (a, b), (c, d) in zip(found, counting, strict=True)]
    ones = jax.lax.pad(ones, jnp.zeros((), x.dtype), [(0, 0, 0)] * 2 + [(*m, 0) for m in more])
    none = ((0, 0),) * len(given)
    count = _over_windows(0.0, jax.lax.add, block, ones, none)
    return _over_windows(0.0, jax.lax.add, block, x, found) / count


def _resize(block: Any, x: Any) -> Any:
    """jax.image.resize, which leaves out what lies beyond the ends and antialiases."""
    method = {"nearest": "nearest", "linear": "linear", "cubic": "cubic"}[block.mode]
    return jax.image.resize(x, (*x.shape[:2], *block.sizes), method, antialias=block.antialias)


def _triangle(block: Any, x: Any) -> Any:
    return (jnp.tril if block.part == "lower" else jnp.triu)(x, block.offset)


def _diagonal_matrix(block: Any, x: Any) -> Any:
    """jnp.diag of every row."""
    flat = jnp.reshape(x, (-1, x.shape[-1]))
    made = jax.vmap(lambda row: jnp.diag(row, block.offset))(flat)
    return jnp.reshape(made, (*x.shape[:-1], *made.shape[1:]))


def _flatten(block: Any, x: Any) -> Any:
    return jnp.reshape(x, (*x.shape[: block.start], prod(x.shape[block.start :])))


def _slice(block: Any, x: Any) -> Any:
    parts = zip(block.begin, block.size, strict=True)
    return x[tuple(slice(b, None if n < 0 else b + n) for b, n in parts)]


def _pad(block: Any, x: Any) -> Any:
    widths = [*block.widths, *[(0, 0)] * (x.ndim - len(block.widths))]
    if block.mode != "constant":
        return jnp.pad(x, widths, block.mode)
    return jnp.pad(x, widths, constant_values=block.value)


def _pick_along(block: Any, x: Any, indices: Any) -> Any:
    axis = block.axis % x.ndim
    return jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(indices, axis), axis), axis)


@jax.custom_vjp
def _scaled(x: Any, scale: float) -> Any:
    """Passes x, and the gradient multiplied by a number."""
    return x


_scaled.defvjp(lambda x, scale: (x, scale), lambda scale, g: (scale * g, None))


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def _clipped(x: Any, limit: float, by: str) -> Any:
    """Passes x, and the gradient with its elements or its norm limited."""
    return x


def _clipped_back(limit: float, by: str, kept: None, g: Any) -> Any:
    if by == "value":
        return (jnp.clip(g, -limit, limit),)
    length = jnp.linalg.norm(g.ravel())
    return (jnp.where(length > limit, g * (limit / length), g),)


_clipped.defvjp(lambda x, limit, by: (x, None), _clipped_back)


@jax.custom_vjp
def _through(hard: Any, soft: Any) -> Any:
    """Passes the first, and the gradient to the second."""
    return hard.astype(soft.dtype)


def _through_back(hard: Any, g: Any) -> Any:
    floats = jnp.issubdtype(hard.dtype, jnp.floating)
    return (jnp.zeros_like(hard) if floats else None), g


_through.defvjp(lambda hard, soft: (hard.astype(soft.dtype), hard), _through_back)


_INFINITE = {"both": jnp.isinf, "positive": jnp.isposinf, "negative": jnp.isneginf}
_BITS = {
    "and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor,
    "left": jnp.left_shift, "right": jnp.right_shift,
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    **{name: _plain(function) for name, function in {
        "Neg": jnp.negative, "Abs": jnp.abs, "Square": jnp.square, "Sqrt": jnp.sqrt,
        "Exp": jnp.exp, "Expm1": jnp.expm1, "Log": jnp.log, "Log1p": jnp.log1p, "Sin": jnp.sin,
        "Cos": jnp.cos, "Sign": jnp.sign, "Round": jnp.round, "Floor": jnp.floor,
        "Tan": jnp.tan, "Arcsin": jnp.arcsin, "Arccos": jnp.arccos, "Arctan": jnp.arctan,
        "Sinh": jnp.sinh, "Cosh": jnp.cosh, "Arcsinh": jnp.arcsinh, "Arccosh": jnp.arccosh,
        "Arctanh": jnp.arctanh, "Erf": jax.scipy.special.erf, "IsNaN": jnp.isnan,
        "Ceil": jnp.ceil, "IsFinite": jnp.isfinite, "Tanh": jnp.tanh,
        "Sigmoid": jax.nn.sigmoid, "Relu": jax.nn.relu, "Silu": jax.nn.silu,
        "Softplus": jax.nn.softplus, "Not": jnp.logical_not,
        "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Div": jnp.divide,
        "Mod": jnp.remainder, "Pow": jnp.power, "Maximum": jnp.maximum,
        "Minimum": jnp.minimum, "Arctan2": jnp.arctan2, "Greater": jnp.greater,
        "GreaterEqual": jnp.greater_equal, "Less": jnp.less, "LessEqual": jnp.less_equal,
        "Equal": jnp.equal, "NotEqual": jnp.not_equal, "And": jnp.logical_and,
        "Or": jnp.logical_or, "Xor": jnp.logical_xor, "Where": jnp.where, "MatMul": jnp.matmul,
        "Dot": jnp.vecdot, "StraightThrough": _through,
    }.items()},
    "Linear": _linear,
    "Formula": lambda _, w, x, b: w * x + b,
    "AddN": lambda _, *terms: reduce(jnp.add, terms),
    "IsInf": lambda block, x: _INFINITE[block.sign](x),
    "Bits": lambda block, a, b: _BITS[block.op](a, b),
    "Clip": _clip,
    "LeakyRelu": lambda block, x: jax.nn.leaky_relu(x, block.slope),
    "Elu": lambda block, x: jax.nn.elu(x, block.alpha),
    "Selu": _plain(jax.nn.selu),
    "Celu": lambda block, x: jax.nn.celu(x, block.alpha),
    "Mish": _plain(jax.nn.mish),
    "HardSwish": _plain(jax.nn.hard_swish),
    "Gelu": lambda block, x: jax.nn.gelu(x, approximate=block.approximate == "tanh"),
    "Softmax": lambda block, x: jax.nn.softmax(x, block.axis),
    "LogSoftmax": lambda block, x: jax.nn.log_softmax(x, block.axis),
    **{name: _along(function) for name, function in {
        "Sum": jnp.sum, "Mean": jnp.mean, "Variance": jnp.var, "Prod": jnp.prod, "Max": jnp.max,
        "Min": jnp.min, "LogSumExp": jax.scipy.special.logsumexp, "AllTrue": jnp.all,
        "AnyTrue": jnp.any, "ArgMax": jnp.argmax, "ArgMin": jnp.argmin,
    }.items()},
    "Norm": _norm,
    "CumulativeSum": _cumulative(jnp.cumsum, 0),
    "CumulativeProduct": _cumulative(jnp.cumprod, 1),
    "ArgSort": lambda block, x: jnp.argsort(
        x, axis=block.axis, descending=block.descending, stable=True
    ),
    "TopK": _top_k,
    "ScatterRows": _scatter_rows,
    "ScatterAlong": _scatter_along,
    "TakeAlong": _take_along,
    "Embedding": lambda block, i, weight: jnp.take(weight, i, 0),
    "Einsum": lambda block, *terms: jnp.einsum(block.subscripts, *terms),
    "Reshape": lambda block, x: jnp.reshape(x, block.shape),
    "Flatten": _flatten,
    "Transpose": lambda block, x: jnp.transpose(x, block.perm),
    "ExpandDims": lambda block, x: jnp.expand_dims(x, block.axis),
    "Squeeze": lambda block, x: jnp.squeeze(x, block.axis),
    "Broadcast": lambda block, x: jnp.broadcast_to(x, block.shape),
    "Flip": lambda block, x: jnp.flip(x, block.axis),
    "Sort": lambda block, x: jnp.sort(x, block.axis, descending=block.descending, stable=True),
    "OneHot": lambda block, i: jax.nn.one_hot(i, block.depth, dtype=block.dtype),
    "Cast": lambda block, x: x.astype(block.dtype),
    "Concat": lambda block, *parts: jnp.concatenate(parts, block.axis),
    "Stack": lambda block, *parts: jnp.stack(parts, block.axis),
    "Slice": _slice,
    "Pad": _pad,
    "Gather": lambda block, x, i: jnp.take(x, i, block.axis),
    "PickAlong": _pick_along,
    **{f"Conv{axes}D": _conv for axes in (1, 2, 3)},
    **{f"ConvTranspose{axes}D": _conv_transpose for axes in (1, 2, 3)},
    **{f"MaxPool{axes}D": _pooled(-jnp.inf, jax.lax.max) for axes in (1, 2, 3)},
    **{f"AvgPool{axes}D": _avg_pool for axes in (1, 2, 3)},
    "Resize": _resize,
    "Inverse": _plain(jnp.linalg.inv),
    "Solve": _plain(jnp.linalg.solve),
    "Cholesky": _plain(jnp.linalg.cholesky),
    "Determinant": _plain(jnp.linalg.det),
    "LogDeterminant": lambda _, x: tuple(jnp.linalg.slogdet(x))[::-1],
    "Triangle": _triangle,
    "Diagonal": lambda block, x: jnp.diagonal(x, block.offset, -2, -1),
    "DiagonalMatrix": _diagonal_matrix,
    "Trace": lambda block, x: jnp.trace(x, block.offset, -2, -1),
    "StopGradient": lambda block, x: x if block.open else jax.lax.stop_gradient(x),
    "GradientScale": lambda block, x: _scaled(x, block.scale),
    "GradientReversal": lambda block, x: _scaled(x, -block.scale),
    "GradientClip": lambda block, x: _clipped(x, block.limit, block.by),
    "MeanSquaredError": _loss(lambda _, p, t: jnp.square(p - t)),
    "MeanAbsoluteError": _loss(lambda _, p, t: jnp.abs(p - t)),
    "CrossEntropy": _loss(_cross_entropy),
    "BinaryCrossEntropy": _loss(_binary_cross_entropy),
}  # fmt: skip


def has(block: Any) -> bool:
    """Whether JAX has a block; its embeddings have no padding, its extremes no derivative."""
    if block.type_name() == "Embedding" and block.padding is not None:
        return False
    if getattr(block, "mode", "set") not in ("set", "add", "mul"):
        return False
    if block.type_name() == "Resize":
        return bool(block.sizes and block.exclude_outside and block.coordinates == "half_pixel")
    return block.type_name() in FUNCTIONS and getattr(block, "given", "logits") == "logits"
