"""What each block of the library is in PyTorch: ``FUNCTIONS[type](block, *tensors)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import torch

from gradwire.blocks.library.convolution.windows import each, widths

Function = Callable[..., Any]
F = torch.nn.functional


def _plain(function: Function) -> Function:
    """Of a block without parameters."""
    return lambda _, *inputs: function(*inputs)


def _alike(function: Function) -> Function:
    """Of a block whose operands PyTorch wants in one dtype."""

    def converted(block: Any, *inputs: Any) -> Any:
        dtypes = [x.dtype for x in inputs if x is not None and x.is_floating_point()]
        dtype = reduce(torch.promote_types, dtypes)
        return function(block, *(x if x is None else x.to(dtype) for x in inputs))

    return converted


def _axes(block: Any, x: Any) -> tuple[int, ...]:
    if block.axis is None:
        return tuple(range(x.ndim))
    return block.axis if isinstance(block.axis, tuple) else (block.axis,)


def _along(function: Function, **parameters: Any) -> Function:
    """Of a block that reduces any number of axes."""
    return lambda block, x: function(x, _axes(block, x), keepdim=block.keepdims, **parameters)


def _one_by_one(function: Function) -> Function:
    """Of a block that reduces any number of axes, where PyTorch reduces one."""

    def reduced(block: Any, x: Any) -> Any:
        if block.axis is None and not block.keepdims:
            return function(x)
        last_first = sorted((axis % x.ndim for axis in _axes(block, x)), reverse=True)
        return reduce(lambda x, axis: function(x, axis, keepdim=block.keepdims), last_first, x)

    return reduced


def _arg(function: Function) -> Function:
    return lambda block, x: function(x, block.axis, keepdim=block.keepdims)


def _padded(block: Any, x: Any, window: Any, value: float = 0.0) -> Any:
    """Arrays with what their block's padding adds."""
    stride, dilation = each(block.stride or block.window), each(block.dilation)
    ceil = getattr(block, "ceil", False)
    found = widths(x.shape[2:], window, stride, block.padding, dilation, ceil)
    last_first = [end for ends in found[::-1] for end in ends]
    return F.pad(x, last_first, value=value) if any(last_first) else x


def _conv(function: Function) -> Function:
    def convolved(block: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        x = _padded(block, x, tuple(weight.shape[2:]))
        return function(x, weight, bias, block.stride, 0, block.dilation, block.groups)

    return convolved


def _conv_transpose(function: Function) -> Function:
    def convolved(block: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        padding = 0 if block.padding == "valid" else block.padding
        return function(x, weight, bias, block.stride, padding, block.output_padding,
                        block.groups, block.dilation)  # fmt: skip

    return convolved


def _max_pool(function: Function) -> Function:
    def pooled(block: Any, x: Any) -> Any:
        padded = _padded(block, x, each(block.window), -torch.inf)
        return function(padded, block.window, block.stride, dilation=block.dilation)

    return pooled


def _avg_pool(function: Function) -> Function:
    def pooled(block: Any, x: Any) -> Any:
        if block.padding in ("valid", "same"):
            x, padding = _padded(block, x, each(block.window)), 0
        else:
            padding = block.padding
        return function(x, block.window, block.stride, padding, block.ceil, block.count_padding)

    return pooled


_INTERPOLATION = {
    "linear": ("linear", "bilinear", "trilinear"),
    "cubic": (None, "bicubic", None),
    "area": ("area",) * 3,
}
_NEAREST = {"asymmetric": "nearest", "half_pixel": "nearest-exact"}


def _resize(block: Any, x: Any) -> Any:
    """interpolate; of the nearest ones PyTorch has two."""
    if block.mode == "nearest":
        mode = _NEAREST[block.coordinates]
    else:
        mode = _INTERPOLATION[block.mode][x.ndim - 3]
    corners = block.coordinates == "align_corners"
    how = {"align_corners": corners} if block.mode in ("linear", "cubic") else {}
    scale = None if block.sizes else block.scales
    antialias = {"antialias": True} if block.antialias else {}
    return F.interpolate(x, block.sizes, scale, mode, **how, **antialias)


def _grid_sample(block: Any, x: Any, grid: Any) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(block.mode, block.mode)
    return F.grid_sample(x, grid, mode, block.padding, block.align_corners)


def _cumulative(function: Function, of_none: int) -> Function:
    """Of a block that runs along an axis."""

    def run(block: Any, x: Any) -> Any:
        out = function(x.flip(block.axis) if block.reverse else x, block.axis)
        if block.exclusive:
            first = torch.full_like(out.narrow(block.axis, 0, 1), of_none)
            shifted = out.narrow(block.axis, 0, out.shape[block.axis] - 1)
            out = torch.cat([first, shifted], block.axis)
        return out.flip(block.axis) if block.reverse else out

    return run


def _solve(_: Any, a: Any, b: Any) -> Any:
    """torch.linalg.solve, for which a vector has to stand for every matrix."""
    if b.ndim > 1:
        return torch.linalg.solve(a, b)
    return torch.linalg.solve(a, b.expand(*a.shape[:-2], -1))


def _cholesky(_: Any, x: Any) -> Any:
    """Of the symmetric part; PyTorch reads the lower triangle."""
    return torch.linalg.cholesky((x + x.mT) / 2)


def _triangle(block: Any, x: Any) -> Any:
    cut = torch.tril if block.part == "lower" else torch.triu
    return cut(x, block.offset)


def _diagonal(block: Any, x: Any) -> Any:
    return torch.diagonal(x, block.offset, -2, -1)


def _clip(block: Any, x: Any) -> Any:
    """torch.clamp, or hardtanh if its limits are open; limits of integers are integers."""
    if block.open:
        low = -torch.inf if block.min is None else block.min
        return F.hardtanh(x, low, torch.inf if block.max is None else block.max)
    kind = float if x.is_floating_point() else int
    return torch.clamp(x, *(None if end is None else kind(end) for end in (block.min, block.max)))


def _flatten(block: Any, x: Any) -> Any:
    return torch.flatten(x, block.start) if x.ndim > block.start else x.unsqueeze(-1)


def _slice(block: Any, x: Any) -> Any:
    parts = zip(block.begin, block.size, strict=True)
    return x[tuple(slice(b, None if n < 0 else b + n) for b, n in parts)]


def _pad(block: Any, x: Any) -> Any:
    if block.mode != "constant":
        for axis, (before, after) in enumerate(block.widths):
            places = np.pad(np.arange(x.shape[axis]), (before, after), block.mode)
            x = x.index_select(axis, torch.tensor(places))
        return x
    last_first = [width for widths in block.widths[::-1] for width in widths]
    return F.pad(x, [0, 0] * (x.ndim - len(block.widths)) + last_first, value=block.value)


def _gather(block: Any, x: Any, indices: Any) -> Any:
    return x[(slice(None),) * (block.axis % x.ndim) + (indices.long(),)]


_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _scatter_rows(block: Any, x: Any, indices: Any, updates: Any) -> Any:
    """Each index for all elements of its row."""
    axis = block.axis % x.ndim
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    updates = updates.expand(*before, *indices.shape, *after)
    rows = (*before, indices.numel(), *after)
    places = indices.reshape(-1, *[1] * len(after)).expand(rows)
    return _scatter_along(block, x, places, updates.reshape(rows))


def _scatter_along(block: Any, x: Any, indices: Any, updates: Any) -> Any:
    places = indices % x.shape[block.axis]
    if block.mode == "set":
        return torch.scatter(x, block.axis, places, updates)
    return torch.scatter_reduce(x, block.axis, places, updates, _REDUCTIONS[block.mode])


def _pick_along(block: Any, x: Any, indices: Any) -> Any:
    found = indices.long() % x.shape[block.axis]
    axis = block.axis % x.ndim
    return torch.gather(x, axis, found.unsqueeze(axis)).squeeze(axis)


def _cross_entropy(block: Any, logits: Any, labels: Any) -> Any:
    if logits.ndim > 1:
        logits = torch.movedim(logits, block.axis, 1)
        labels = torch.movedim(labels, block.axis, 1) if labels.ndim == logits.ndim else labels
    labels = labels if labels.is_floating_point() else labels.long()
    return F.cross_entropy(logits, labels, reduction=block.reduction)


def _binary_cross_entropy(block: Any, prediction: Any, target: Any) -> Any:
    given = {"logits": F.binary_cross_entropy_with_logits}
    loss = given.get(block.given, F.binary_cross_entropy)
    return loss(prediction, target.to(prediction.dtype), reduction=block.reduction)


def _loss(function: Function) -> Function:
    """Of a loss of two arrays."""
    return _alike(lambda block, p, t: function(p, t, reduction=block.reduction))


def _cast(block: Any, x: Any) -> Any:
    return x.to(getattr(torch, block.dtype))


def _last_axes(block: Any, x: Any) -> tuple[list[int], list[int]]:
    """The axes that are normalised, which lie behind the others, and their lengths."""
    axes = (block.axes,) if isinstance(block.axes, int) else block.axes
    axes = sorted(axis % x.ndim for axis in axes)
    return axes, [x.shape[axis] for axis in axes]


def _with_axes_last(block: Any, x: Any, normalise: Any) -> Any:
    axes, lengths = _last_axes(block, x)
    last = list(range(x.ndim - len(axes), x.ndim))
    return normalise(x.movedim(axes, last), lengths).movedim(last, axes)


def _layer_norm(block: Any, x: Any, weight: Any = None, bias: Any = None) -> Any:
    return _with_axes_last(
        block, x, lambda x, lengths: F.layer_norm(x, lengths, weight, bias, block.epsilon)
    )


def _rms_norm(block: Any, x: Any, weight: Any = None) -> Any:
    return _with_axes_last(
        block, x, lambda x, lengths: F.rms_norm(x, lengths, weight, block.epsilon)
    )


def _batch_norm(
    block: Any, x: Any, weight: Any = None, bias: Any = None, mean: Any = None, variance: Any = None
) -> Any:
    """F.batch_norm, which writes into copies of the running statistics; it refuses to
    differentiate by those, and they are used as a formula.
    """
    first = x.movedim(block.axis, 1)
    if block.mode == "running":
        shape = (-1, *[1] * (x.ndim - 2))
        out = (first - mean.reshape(shape)) / torch.sqrt(variance.reshape(shape) + block.epsilon)
        out = out if weight is None else out * weight.reshape(shape)
        out = out if bias is None else out + bias.reshape(shape)
        return out.movedim(1, block.axis), mean, variance
    kept = [None if old is None else old.detach().clone() for old in (mean, variance)]
    out = F.batch_norm(first, *kept, weight, bias, True, block.momentum, block.epsilon)
    return out.movedim(1, block.axis), *kept


def _one_hot(block: Any, indices: Any) -> Any:
    return F.one_hot(indices.long(), block.depth).to(getattr(torch, block.dtype))


class _Scaled(torch.autograd.Function):
    """Passes x, and the gradient multiplied by a number."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: float) -> Any:
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.scale * g, None


class _Clipped(torch.autograd.Function):
    """Passes x, and the gradient with its elements or its norm limited."""

    @staticmethod
    def forward(ctx: Any, x: Any, limit: float, by: str) -> Any:
        ctx.limit, ctx.by = limit, by
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.by == "value":
            return g.clamp(-ctx.limit, ctx.limit), None, None
        length = torch.linalg.vector_norm(g)
        return torch.where(length > ctx.limit, g * (ctx.limit / length), g), None, None


class _Through(torch.autograd.Function):
    """Passes the first, and the gradient to the second."""

    @staticmethod
    def forward(ctx: Any, hard: Any, soft: Any) -> Any:
        return hard.to(soft.dtype, copy=True)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, g


_INFINITE = {"both": torch.isinf, "positive": torch.isposinf, "negative": torch.isneginf}
_BITS = {
    "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "left": torch.bitwise_left_shift, "right": torch.bitwise_right_shift,
}  # fmt: skip

FUNCTIONS: dict[str, Function] = {
    **{name: _plain(function) for name, function in {
        "Neg": torch.neg, "Abs": torch.abs, "Square": torch.square, "Sqrt": torch.sqrt,
        "Exp": torch.exp, "Expm1": torch.expm1, "Log": torch.log, "Log1p": torch.log1p,
        "Sin": torch.sin, "Cos": torch.cos, "Sign": torch.sign, "Round": torch.round,
        "Floor": torch.floor, "Ceil": torch.ceil, "IsFinite": torch.isfinite,
        "Tan": torch.tan, "Arcsin": torch.arcsin, "Arccos": torch.arccos, "Arctan": torch.arctan,
        "Sinh": torch.sinh, "Cosh": torch.cosh, "Arcsinh": torch.arcsinh,
        "Arccosh": torch.arccosh, "Arctanh": torch.arctanh, "Erf": torch.erf,
        "IsNaN": torch.isnan, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid,
        "Relu": torch.relu, "Silu": F.silu,
        "Softplus": F.softplus, "Not": torch.logical_not,
        "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div,
        "Mod": torch.remainder, "Pow": torch.pow, "Maximum": torch.maximum,
        "Minimum": torch.minimum, "Arctan2": torch.atan2, "Greater": torch.gt,
        "GreaterEqual": torch.ge, "Less": torch.lt, "LessEqual": torch.le, "Equal": torch.eq,
        "NotEqual": torch.ne, "And": torch.logical_and, "Or": torch.logical_or,
        "Xor": torch.logical_xor, "Where": torch.where, "StraightThrough": _Through.apply,
    }.items()},
    **{name: _alike(_plain(function)) for name, function in {
        "MatMul": torch.matmul, "Dot": torch.linalg.vecdot, "Linear": F.linear,
    }.items()},
    "Formula": lambda _, w, x, b: w * x + b,
    "AddN": lambda _, *terms: reduce(torch.add, terms),
    "IsInf": lambda block, x: _INFINITE[block.sign](x),
    "Bits": lambda block, a, b: _BITS[block.op](a, b),
    "Clip": _clip,
    "LeakyRelu": lambda block, x: F.leaky_relu(x, block.slope),
    "Elu": lambda block, x: F.elu(x, block.alpha),
    "Selu": _plain(F.selu),
    "Celu": lambda block, x: F.celu(x, block.alpha),
    "Mish": _plain(F.mish),
    "HardSigmoid": lambda block, x: torch.clamp(block.alpha * x + block.beta, 0, 1),
    "HardSwish": _plain(F.hardswish),
    "PRelu": lambda _, x, slope: torch.where(x > 0, x, slope * x),
    "Gelu": lambda block, x: F.gelu(x, approximate=block.approximate),
    "Softmax": lambda block, x: torch.softmax(x, block.axis),
    "LogSoftmax": lambda block, x: torch.log_softmax(x, block.axis),
    "Sum": _along(torch.sum),
    "Mean": _along(torch.mean),
    "Variance": _along(torch.var, correction=0),
    "Max": _along(torch.amax),
    "Min": _along(torch.amin),
    "LogSumExp": _along(torch.logsumexp),
    "Norm": lambda block, x: torch.linalg.vector_norm(
        x, dim=_axes(block, x), keepdim=block.keepdims
    ),
    "Prod": _one_by_one(torch.prod),
    "AllTrue": _one_by_one(torch.all),
    "AnyTrue": _one_by_one(torch.any),
    "ArgMax": _arg(torch.argmax),
    "ArgMin": _arg(torch.argmin),
    "CumulativeSum": _cumulative(torch.cumsum, 0),
    "CumulativeProduct": _cumulative(torch.cumprod, 1),
    "ArgSort": lambda block, x: torch.argsort(
        x, dim=block.axis, descending=block.descending, stable=True
    ),
    "TopK": lambda block, x: tuple(torch.topk(x, block.k, block.axis, block.largest)),
    "ScatterRows": _scatter_rows,
    "ScatterAlong": _scatter_along,
    "TakeAlong": lambda block, x, i: torch.gather(x, block.axis, i % x.shape[block.axis]),
    "LayerNorm": _layer_norm,
    "RMSNorm": _rms_norm,
    "GroupNorm": lambda block, x, weight=None, bias=None: F.group_norm(
        x, block.groups, weight, bias, block.epsilon
    ),
    "BatchNorm": _batch_norm,
    "LRN": lambda block, x: F.local_response_norm(
        x, block.size, block.alpha, block.beta, block.bias
    ),
    "Attention": lambda block, q, k, v, mask=None: F.scaled_dot_product_attention(
        q, k, v, mask, is_causal=block.causal, scale=block.scale
    ),
    "Embedding": lambda block, i, weight: F.embedding(i % len(weight), weight, block.padding),
    "CosineSimilarity": lambda _, a, b: F.cosine_similarity(a, b, -1),
    "Einsum": _alike(lambda block, *terms: torch.einsum(block.subscripts, *terms)),
    "Reshape": lambda block, x: torch.reshape(x, block.shape),
    "Flatten": _flatten,
    "Transpose": lambda block, x: torch.permute(x, block.perm or tuple(range(x.ndim)[::-1])),
    "ExpandDims": lambda block, x: torch.unsqueeze(x, block.axis),
    "Squeeze": lambda block, x: torch.squeeze(x, block.axis),
    "Broadcast": lambda block, x: torch.broadcast_to(x, block.shape),
    "Flip": lambda block, x: torch.flip(x, _axes(block, x)),
    "Sort": lambda block, x: torch.sort(
        x, dim=block.axis, descending=block.descending, stable=True
    ).values,
    "OneHot": _one_hot,
    "Cast": _cast,
    "Concat": lambda block, *parts: torch.cat(parts, block.axis),
    "Stack": lambda block, *parts: torch.stack(parts, block.axis),
    "Slice": _slice,
    "Pad": _pad,
    "Gather": _gather,
    "PickAlong": _pick_along,
    "Conv1D": _conv(F.conv1d),
    "Conv2D": _conv(F.conv2d),
    "Conv3D": _conv(F.conv3d),
    "ConvTranspose1D": _conv_transpose(F.conv_transpose1d),
    "ConvTranspose2D": _conv_transpose(F.conv_transpose2d),
    "ConvTranspose3D": _conv_transpose(F.conv_transpose3d),
    "MaxPool1D": _max_pool(F.max_pool1d),
    "MaxPool2D": _max_pool(F.max_pool2d),
    "MaxPool3D": _max_pool(F.max_pool3d),
    "AvgPool1D": _avg_pool(F.avg_pool1d),
    "AvgPool2D": _avg_pool(F.avg_pool2d),
    "AvgPool3D": _avg_pool(F.avg_pool3d),
    "Resize": _resize,
    "GridSample": _grid_sample,
    "Inverse": _plain(torch.linalg.inv),
    "Solve": _alike(_solve),
    "Cholesky": _cholesky,
    "Determinant": _plain(torch.linalg.det),
    "LogDeterminant": lambda _, x: tuple(torch.linalg.slogdet(x))[::-1],
    "Triangle": _triangle,
    "Diagonal": _diagonal,
    "DiagonalMatrix": lambda block, x: torch.diag_embed(x, block.offset),
    "Trace": lambda block, x: _diagonal(block, x).sum(-1),
    "StopGradient": lambda block, x: x if block.open else x.detach(),
    "GradientScale": lambda block, x: _Scaled.apply(x, block.scale),
    "GradientReversal": lambda block, x: _Scaled.apply(x, -block.scale),
    "GradientClip": lambda block, x: _Clipped.apply(x, block.limit, block.by),
    "MeanSquaredError": _loss(F.mse_loss),
    "MeanAbsoluteError": _loss(F.l1_loss),
    "Huber": _alike(lambda block, p, t: F.huber_loss(p, t, block.reduction, block.delta)),
    "CrossEntropy": _cross_entropy,
    "BinaryCrossEntropy": _binary_cross_entropy,
}  # fmt: skip


def has(block: Any) -> bool:
    """Whether PyTorch has a block."""
    return block.type_name() in FUNCTIONS
