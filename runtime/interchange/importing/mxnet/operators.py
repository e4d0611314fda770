"""The operators of MXNet: each name with what it puts up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings import (
    indexing,
    losses,
    normalisation,
    reductions,
    shapes,
    windows,
)
from gradwire.runtime.interchange.importing.meanings.ordering import place
from gradwire.runtime.interchange.importing.staged import named, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.meanings.losses import Reduction
    from gradwire.runtime.interchange.importing.mxnet.arguments import Shape
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


Function: TypeAlias = "Callable[[Staged, Staged], Staged]"
_PAIRS = {
    "add": "Add", "plus": "Add", "sub": "Sub", "minus": "Sub", "mul": "Mul", "div": "Div",
    "power": "Pow", "mod": "Mod",
}  # fmt: skip
_EXTREMES = {"maximum": "Maximum", "minimum": "Minimum"}
_COMPARISONS = {
    "equal": "Equal", "not_equal": "NotEqual", "greater": "Greater", "lesser": "Less",
    "greater_equal": "GreaterEqual", "lesser_equal": "LessEqual",
}  # fmt: skip
_LOGIC = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_LEGACY = ("Plus", "Minus", "Mul", "Div", "Power", "Maximum", "Minimum", "Mod")
_SWAPPED = ("Sub", "Div", "Pow", "Mod")


def _pair(function: Function) -> Operator:
    return lambda call: function(call.x(0), call.x(1))


def _with_number(function: Function, swapped: bool = False) -> Operator:
    def apply(call: MXNetCall) -> Staged:
        x = call.x()
        number = x.like(call.node.number("scalar"))
        return function(number, x) if swapped else function(x, number)

    return apply


def _truth(kind: str, logic: bool = False) -> Function:
    """A comparison, or logic of what is not 0, as 0 and 1 in the dtype of the first input."""

    def compare(a: Staged, b: Staged) -> Staged:
        given = [put("NotEqual", x, x.like(0)) if logic else x for x in (a, b)]
        return a.stage.cast(a.stage.block(kind, *given), a.dtype)

    return compare


def _arithmetic() -> tuple[dict[str, Operator], dict[str, Operator]]:
    """The operators of equal shapes and numbers, and those that broadcast."""
    functions = {name: _truth(kind) for name, kind in _COMPARISONS.items()}
    functions |= {name: partial(put, kind) for name, kind in _PAIRS.items()}
    functions |= {name: partial(el.first_extreme, kind) for name, kind in _EXTREMES.items()}
    pairs = {**functions, **{name: _truth(kind, logic=True) for name, kind in _LOGIC.items()}}
    pairs["hypot"] = el.hypotenuse
    keeping = {f"_{name}": _pair(function) for name, function in pairs.items()}
    keeping |= {f"_{name}_scalar": _with_number(f) for name, f in functions.items()}
    keeping |= {f"elemwise_{name}": keeping[f"_{name}"] for name in (*_PAIRS, *_EXTREMES)}
    for old in _LEGACY:
        function = functions[old.lower()]
        keeping |= {f"_{old}": _pair(function), f"_{old}Scalar": _with_number(function)}
    for name, kind in _PAIRS.items():
        if kind in _SWAPPED:
            keeping[f"_r{name}_scalar"] = _with_number(functions[name], swapped=True)
            if name.capitalize() in _LEGACY:
                keeping[f"_R{name.capitalize()}Scalar"] = keeping[f"_r{name}_scalar"]
    return keeping, {f"broadcast_{name}": _pair(function) for name, function in pairs.items()}


_FUNCTIONS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log",
    "log1p": "Log1p", "expm1": "Expm1", "sqrt": "Sqrt", "square": "Square", "abs": "Abs",
    "negative": "Neg", "_np_negative": "Neg", "sign": "Sign", "floor": "Floor", "ceil": "Ceil",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Arcsin", "arccos": "Arccos",
    "arctan": "Arctan", "sinh": "Sinh", "cosh": "Cosh", "arcsinh": "Arcsinh",
    "arccosh": "Arccosh", "arctanh": "Arctanh", "erf": "Erf",
}  # fmt: skip
_ACTIVATIONS: dict[str, Callable[[Staged], Staged]] = {
    "relu": partial(put, "Relu"), "sigmoid": partial(put, "Sigmoid"),
    "tanh": partial(put, "Tanh"), "softrelu": partial(put, "Softplus"),
    "mish": partial(put, "Mish"), "softsign": act.softsign, "log_sigmoid": act.log_sigmoid,
}  # fmt: skip
_DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")


def _one(function: Callable[[Staged], Staged]) -> Operator:
    return lambda call: function(call.x())


def _smooth_l1(call: MXNetCall) -> Staged:
    x, width = call.x(), call.node.number("scalar", 1.0) ** 2
    size = put("Abs", x)
    near = put("Square", x) * (0.5 * width)
    return put("Where", size < 1.0 / width, near, size - 0.5 / width)


def _filled(number: float) -> Operator:
    return _one(lambda x: x.stage.broadcast(x.like(number), x.shape))


_REDUCTIONS = {
    "sum": "Sum", "sum_axis": "Sum", "mean": "Mean", "max": "Max", "max_axis": "Max", "min": "Min",
    "min_axis": "Min", "prod": "Prod",
}  # fmt: skip


def _over(call: MXNetCall, rank: int) -> tuple[tuple[int, ...] | None, bool]:
    """Which axes a reduction has, and whether they stay."""
    axes = call.node.axes()
    if any(not -rank <= axis < rank for axis in axes or ()):
        raise call.unsupported(f"its axes {axes} are not those of rank {rank}")
    if call.node.flag("exclude"):
        excluded = {axis % rank for axis in axes or ()}
        axes = tuple(axis for axis in range(rank) if axis not in excluded)
    return axes or None, call.node.flag("keepdims")


def _reduced(kind: str, call: MXNetCall) -> Staged:
    return reductions.reduce(kind, call.x(), *_over(call, call.x().ndim))


def _place(kind: str, call: MXNetCall) -> Staged:
    """An index, which is a float here."""
    x = call.x()
    y = place(kind, x, call.node.axis(), call.node.flag("keepdims"))
    return call.stage.cast(named(y, call.name), x.dtype)


def _norm(call: MXNetCall) -> Staged:
    x, order = call.x(), call.node.whole("ord", 2)
    if order not in (1, 2):
        raise call.unsupported(f"its ord is {order}")
    return reductions.norm(x, order, *_over(call, x.ndim))


def _cumulative(call: MXNetCall) -> Staged:
    x, axis = call.x(), call.node.axis()
    x, axis = (shapes.flatten(x), 0) if axis is None else (x, axis)
    return reductions.running("CumulativeSum", x, axis)


def _sides(call: MXNetCall, turn: Callable[[Staged], Staged]) -> list[Staged]:
    """Both inputs, turned where an attribute says so."""
    flags = [call.node.flag(key) for key in ("transpose_a", "transpose_b")]
    return [turn(call.x(i)) if flag else call.x(i) for i, flag in enumerate(flags)]


def _dot(call: MXNetCall) -> Staged:
    """The last axis of one with the first of the other; each may be reversed before."""
    a, b = _sides(call, shapes.reverse)
    if b.ndim <= 2:
        return call.block("MatMul", a, b)
    flat = call.stage.reshape(b, (b.shape[0], b.size // max(b.shape[0], 1)))
    return call.stage.reshape(call.block("MatMul", a, flat), (*a.shape[:-1], *b.shape[1:]))


def _reshape(call: MXNetCall) -> Staged:
    x, wanted = call.x(), call.node.wholes("shape", ())
    if not wanted and "target_shape" in call.node.texts:
        wanted = call.node.wholes("target_shape")
    reverse = call.node.flag("reverse")
    shape = x.shape[::-1] if reverse else x.shape
    try:
        found = reshaped(shape, wanted[::-1] if reverse else wanted)
    except (ValueError, IndexError) as error:
        raise call.unsupported(f"{wanted} doesn't fit {x.shape}") from error
    return put("Reshape", x, shape=found[::-1] if reverse else found)


def reshaped(shape: Shape, wanted: Sequence[int]) -> Shape:
    """The lengths that MXNet's codes mean: 0 keeps a length, -1 takes what is left.

    -2 keeps all further ones, -3 joins two, -4 splits one into the two that follow. Raises
    ValueError or IndexError where they don't fit the shape.
    """
    found: list[int] = []
    codes, place = list(wanted), 0
    while codes:
        code = codes.pop(0)
        if code > 0 or code == -1:
            found.append(code)
            place += 1
        elif code == 0:
            found.append(shape[place])
            place += 1
        elif code == -2:
            found += shape[place:]
            place = len(shape)
        elif code == -3:
            found.append(shape[place] * shape[place + 1])
            place += 2
        elif code == -4:
            found += _split_length(shape[place], codes.pop(0), codes.pop(0))
            place += 1
        else:
            raise ValueError(f"{code} is no length")
    if found.count(-1) > 1:
        raise ValueError("two lengths are open")
    known = math.prod(length for length in found if length != -1)
    return tuple(math.prod(shape) // max(known, 1) if n == -1 else n for n in found)


def _split_length(length: int, first: int, second: int) -> tuple[int, int]:
    if first == -1:
        first = length // second
    if second == -1:
        second = length // first
    return first, second


def _transpose(call: MXNetCall) -> Staged:
    x, axes = call.x(), call.node.axes("axes")
    order = axes or tuple(range(x.ndim))[::-1]
    return put("Transpose", x, perm=tuple(axis % max(x.ndim, 1) for axis in order))


def _split_channels(call: MXNetCall) -> tuple[Staged, ...]:
    """Equal parts along an axis, which ``squeeze_axis`` drops."""
    x, axis = call.x(), call.node.whole("axis", 1)
    count = call.node.whole("num_outputs")
    if not (-x.ndim <= axis < x.ndim and 0 < count and x.shape[axis] % count == 0):
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    parts = shapes.split(x, [x.shape[axis] // count] * count, axis)
    if call.node.flag("squeeze_axis"):
        parts = [call.stage.select(part, axis, 0) for part in parts]
    return tuple(parts)


def _broadcast_to(call: MXNetCall) -> Staged:
    x, wanted = call.x(), call.node.wholes("shape", ())
    if len(wanted) != x.ndim:
        raise call.unsupported(f"{wanted} doesn't fit {x.shape}")
    return shapes.broadcast(x, wanted, keep=0)


def _broadcast_axes(call: MXNetCall) -> Staged:
    x = call.x()
    shape = list(x.shape)
    axes, lengths = call.node.wholes("axis", ()), call.node.wholes("size", ())
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    return call.stage.broadcast(x, shape)


def _broadcast_like(call: MXNetCall) -> Staged:
    if "lhs_axes" in call.node.texts:
        raise call.unsupported("only some axes are broadcast")
    return call.stage.broadcast(call.x(0), call.x(1).shape)


def _blocks(meaning: Callable[[Staged, int], Staged]) -> Operator:
    return lambda call: meaning(call.x(), call.node.whole("block_size"))


def _upsampling(call: MXNetCall) -> Staged:
    """Every pixel repeated to a square; other ways of enlarging have weights."""
    if call.node.text("sample_type") != "nearest" or len(call) != 1:
        raise call.unsupported("only one image, and its nearest pixels, are repeated")
    x, scale = call.x(), call.node.whole("scale")
    return shapes.tile(x, (scale,) * (x.ndim - 2), inner=True)


def _pad(call: MXNetCall) -> Staged:
    mode = call.node.text("mode", "constant")
    if mode not in ("constant", "edge", "reflect"):
        raise call.unsupported(f"its mode is {mode[:40]}")
    flat = call.node.wholes("pad_width")
    widths = list(zip(flat[::2], flat[1::2], strict=False))
    return shapes.pad(call.x(), widths, call.node.number("constant_value"), mode)


def _slice(call: MXNetCall) -> Staged:
    x = call.x()
    begin, end = call.node.bounds("begin"), call.node.bounds("end")
    step = call.node.bounds("step", ())
    if max(len(begin), len(end), len(step)) > x.ndim or len(begin) != len(end):
        raise call.unsupported(f"its bounds don't fit {x.shape}")
    for axis, (start, stop) in enumerate(zip(begin, end, strict=True)):
        width = step[axis] if axis < len(step) else None
        x = call.stage.cut(x, axis, start, stop, 1 if width is None else width)
    return x


def _slice_axis(call: MXNetCall) -> Staged:
    start, stop = (call.node.bounds(key, (0,))[0] for key in ("begin", "end"))
    stop = stop if call.node.text("end") else None
    return call.stage.cut(call.x(), call.node.whole("axis"), start, stop)


def _slice_like(call: MXNetCall) -> Staged:
    x, like = call.x(0), call.x(1)
    for axis in call.node.axes("axes") or range(min(x.ndim, like.ndim)):
        x = call.stage.cut(x, axis, 0, like.shape[axis])
    return x


def _within(call: MXNetCall, x: Staged, count: int) -> Staged:
    """Indices with those outside at the ends, or wrapped around."""
    return indexing.inside(indexing.whole(x), count, call.node.text("mode", "clip"))


def _take(call: MXNetCall) -> Staged:
    x, axis = call.x(0), call.node.whole("axis", 0)
    places = _within(call, call.x(1), x.shape[axis])
    return indexing.gather(x, places, axis)


def _pick(call: MXNetCall) -> Staged:
    """One element along an axis for each index, as that of the label in a row of scores."""
    x, given = call.x(0), call.node.axis()
    axis = (-1 if given is None else given) % x.ndim
    kept = x.shape[:axis] + x.shape[axis + 1 :]
    places = _within(call, call.x(1, kept), x.shape[axis])
    return indexing.pick(x, places, axis, call.node.flag("keepdims"))


def _one_hot(call: MXNetCall) -> Staged:
    depth = call.node.whole("depth")
    dtype = call.node.text("dtype", "float32")
    on, off = (
        call.stage.constant(np.asarray(call.node.number(key, default), dtype))
        for key, default in (("on_value", 1.0), ("off_value", 0.0))
    )
    return indexing.one_hot(indexing.whole(call.x()), depth, dtype, -1, on, off)


def _gather_nd(call: MXNetCall) -> Staged:
    """Along the first axis of the indices are tuples."""
    return indexing.gather_nd(call.x(0), shapes.move(indexing.whole(call.x(1)), 0, -1))


def _chosen(call: MXNetCall) -> Staged:
    condition, a, b = (call.x(number) for number in range(3))
    if condition.dtype != "bool":
        condition = call.stage.block("NotEqual", condition, condition.like(0))
    if condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (a.shape[0], *(1,) * (a.ndim - 1)))
    return call.block("Where", condition, a, b)


def _embedding(call: MXNetCall) -> Staged:
    rows, width = call.node.whole("input_dim"), call.node.whole("output_dim")
    places = _within(call, call.x(0), rows)
    return call.block("Embedding", places, call.x(1, (rows, width)))


_POOLS = {"max": "Max", "avg": "Avg", "sum": "Sum"}
_EVERYWHERE = {"max": "Max", "avg": "Mean", "sum": "Sum"}


def _fully_connected(call: MXNetCall) -> Staged:
    x, units = call.x(0), call.node.whole("num_hidden")
    if x.ndim > 2 and call.node.flag("flatten", True):
        x = call.stage.reshape(x, (x.shape[0], x.size // max(x.shape[0], 1)))
    weight = call.x(1, (units, x.shape[-1]))
    bias = None if call.node.flag("no_bias") else call.x(2, (units,))
    return put("Linear", x, weight, bias)


def _numbers(call: MXNetCall, rank: int, **defaults: int) -> list[tuple[int, ...]]:
    """Attributes with a number for each spatial axis; ``()`` means the default."""
    given = defaults.items()
    found = [call.node.wholes(key, ()) or (default,) * rank for key, default in given]
    if any(len(numbers) != rank for numbers in found):
        raise call.unsupported(f"its kernel has {rank} axes, another attribute has not")
    return found


def _kernel(call: MXNetCall, x: Staged) -> tuple[int, ...]:
    kernel = call.node.wholes("kernel", ())
    layout = call.node.text("layout")
    if layout and not layout.startswith("NC"):
        raise call.unsupported(f"its layout is {layout[:20]}, not one with channels first")
    if not 1 <= len(kernel) <= 3 or x.ndim != len(kernel) + 2:
        raise call.unsupported(f"its kernel {kernel} doesn't fit {x.shape}")
    return kernel


def _convolution(call: MXNetCall, transposed: bool = False) -> Staged:
    x, kernel = call.x(0), _kernel(call, call.x(0))
    stride, pad, dilation, more = _numbers(call, len(kernel), stride=1, pad=0, dilate=1, adj=0)
    if transposed and call.node.text("target_shape") not in ("", "()"):
        raise call.unsupported("it gives the target's shape")
    filters, groups = call.node.whole("num_filter"), call.node.whole("num_group", 1)
    outer = (x.shape[1], filters // groups) if transposed else (filters, x.shape[1] // groups)
    weight = call.x(1, (*outer, *kernel))
    bias = None if call.node.flag("no_bias", transposed) else call.x(2, (filters,))
    if transposed:
        return windows.conv_transpose(x, weight, bias, stride, pad, more, groups, dilation)
    return windows.conv(x, weight, bias, stride, pad, dilation, groups)


def _pooling(call: MXNetCall) -> Staged:
    x, kind = call.x(), call.node.text("pool_type", "max")
    if call.node.flag("global_pool"):
        return windows.pool_everywhere(call.choice("pool_type", _EVERYWHERE, "max"), x)
    kernel = _kernel(call, x)
    stride, pad = _numbers(call, len(kernel), stride=1, pad=0)
    convention, after = call.node.text("pooling_convention", "valid"), pad
    if convention == "full":
        after = tuple(map(_extra, x.shape[2:], kernel, stride, pad))
    padding, counted = list(zip(pad, after, strict=True)), True
    if kind != "max":
        if kind not in (*_POOLS, "lp") or convention not in ("valid", "full") or pad != after:
            raise call.unsupported(f"pool_type={kind[:20]}, pooling_convention={convention[:20]}")
        counted = call.node.flag("count_include_pad", True)
    if kind == "lp":
        order = call.node.number("p_value", 2.0)
        return windows.norm_pool(order, x, kernel, stride, padding)
    if kind == "sum" and not counted:
        raise call.unsupported("its sum leaves padding out")
    return windows.pool(_POOLS[kind], x, kernel, stride, padding, count_include_pad=counted)


def _extra(length: int, kernel: int, stride: int, pad: int) -> int:
    """The padding after an axis that lets a last, incomplete window count."""
    rest = (length + 2 * pad - kernel) % stride
    return pad + (stride - rest if rest else 0)


def _leaky(call: MXNetCall) -> Staged:
    x, slope = call.x(0), call.node.number("slope", 0.25)
    functions: dict[str, Callable[[], Staged]] = {
        "leaky": lambda: put("LeakyRelu", x, slope=slope),
        "elu": lambda: put("Elu", x, alpha=slope),
        "prelu": lambda: act.prelu(x, call.x(1, (x.shape[1] if x.ndim > 1 else 1,))),
        "selu": lambda: act.selu(x),
        "gelu": lambda: put("Gelu", x),
    }
    return call.choice("act_type", functions, "leaky")()


def _softmax(kind: str, sign: int, call: MXNetCall) -> Staged:
    if call.node.flag("use_length"):
        raise call.unsupported("it has lengths of rows")
    x, temperature = call.x(), call.node.number("temperature", 1.0)
    x = x if sign > 0 else -x
    cooled = x if temperature == 1.0 else x / temperature
    return put(kind, cooled, axis=call.node.whole("axis", -1))


def _softmax_activation(call: MXNetCall) -> Staged:
    """Over channels, or over all but the first axis."""
    if call.node.text("mode", "instance") == "channel":
        return put("Softmax", call.x(), axis=1)
    return act.softmax_of_all(call.x())


def _dropout(call: MXNetCall) -> Staged:
    """Drops in training, or always; else everything passes."""
    drops = call.training or call.node.text("mode", "training") == "always"
    rate = call.node.number("p", 0.5)
    return put("Dropout", call.x(), rate=rate, mode="train" if drops else "eval")


def _batch_norm(call: MXNetCall) -> Staged:
    """By the running statistics, or in training by those of the batch."""
    x, axis = call.x(0), call.node.whole("axis", 1)
    shape = (x.shape[axis],)
    fixed = call.node.flag("fix_gamma", True)  # it counts as 1, and gets no gradient
    by_batch = call.training and not call.node.flag("use_global_stats")
    gamma = None if fixed else call.x(1, shape)
    beta, mean, variance = (call.x(number, shape) for number in (2, 3, 4))
    out = normalisation.batch_norm(
        x, gamma, beta, mean, variance, by_batch, call.node.number("eps", 1e-3),
        1.0 - call.node.number("momentum", 0.9), axis,
    )[0]  # fmt: skip
    if by_batch:
        text = f"{call.node.name!r} doesn't update its running statistics."
        call.stage.remark("lost", text, out)
    return out


def _layer_norm(call: MXNetCall) -> Staged:
    x, axis = call.x(0), call.node.whole("axis", -1)
    gamma, beta = (call.x(number, (x.shape[axis],)) for number in (1, 2))
    eps = call.node.number("eps", 1e-5)
    return normalisation.layer_norm(x, gamma, beta, (axis,), eps)


def _instance_norm(call: MXNetCall) -> Staged:
    x, channels = call.x(0), call.x(0).shape[1]
    gamma, beta = (call.x(number, (channels,)) for number in (1, 2))
    return normalisation.group_norm(x, channels, gamma, beta, call.node.number("eps", 1e-3))


def _l2_norm(call: MXNetCall) -> Staged:
    """Divided by the length of each instance, channel or pixel."""
    x, mode = call.x(), call.node.text("mode", "instance")
    last = x.ndim - 1
    axes = {"instance": (1, last), "channel": (1, 1), "spatial": (2, last)}.get(mode)
    if axes is None:
        raise call.unsupported(f"mode={mode[:20]}")
    over = tuple(range(axes[0], axes[1] + 1))
    squares = put("Sum", put("Square", x), axis=over, keepdims=True)
    return x / put("Sqrt", squares + call.node.number("eps", 1e-10))


_NORMALISATIONS = {"null": "none", "batch": "batch", "valid": "valid"}


def _make_loss(call: MXNetCall) -> Staged:
    scale, threshold = call.node.number("grad_scale", 1.0), call.node.number("valid_thresh")
    normalization = call.choice("normalization", _NORMALISATIONS, "null")
    if normalization == "batch" and not call.x().ndim:
        normalization = "none"  # a full sum has one element there, on an axis of its own
    return call.stage.loss(
        call.x(), call.name, scale=scale, threshold=threshold, normalization=normalization
    )


def _fixed(call: MXNetCall, label: Staged) -> Staged:
    """A label, which gets no gradient."""
    passes = label.is_float and label.source is not None
    if passes and label.source is not None and label.source.block.type_name() != "Input":
        return call.stage.block("StopGradient", label)
    return label


def _shown(call: MXNetCall, x: Staged) -> Staged:
    """What the output gives; what reads it sends nothing back."""
    return call.stage.block("StopGradient", x) if call.is_read else x


def _softmax_output(call: MXNetCall) -> Staged:
    """The softmax; its gradient is that of the cross-entropy with the labels.

    The labels are classes, of the shape of the scores without the axis of classes.
    """
    scores, node = call.x(0), call.node
    multiple = node.flag("multi_output")
    if not multiple and not node.flag("preserve_shape") and scores.ndim > 2:
        scores = call.stage.reshape(scores, (scores.shape[0], -1))
    axis = 1 if multiple else scores.ndim - 1
    places = scores.shape[:axis] + scores.shape[axis + 1 :]
    label = _fixed(call, call.x(1, places))
    if label.shape == scores.shape or node.number("smooth_alpha"):
        raise call.unsupported("its labels are probabilities, or smoothed")
    classes = call.stage.reshape(indexing.whole(label), places)
    scale = node.number("grad_scale", 1.0)
    normalisation = call.choice("normalization", _NORMALISATIONS, "null")
    if normalisation == "batch":
        scale /= max(scores.shape[0], 1)
    ignored = int(node.number("ignore_label", -1)) if node.flag("use_ignore") else None
    reduction: Reduction = "mean" if normalisation == "valid" else "sum"
    total = losses.cross_entropy(scores, classes, axis, reduction, ignored=ignored, least=1.0)
    call.stage.loss(total, f"{call.name}_loss", scale=scale)
    return _shown(call, call.block("Softmax", scores, axis=axis))


_REGRESSIONS: dict[str, Function] = {
    "LinearRegressionOutput": (
        lambda x, label: losses.distance("MeanSquaredError", x, label, "sum") * 0.5
    ),
    "MAERegressionOutput": (lambda x, label: losses.distance("MeanAbsoluteError", x, label, "sum")),
    "LogisticRegressionOutput": (lambda x, label: losses.binary(x, label, "sum", given="logits")),
}


def _regression(call: MXNetCall) -> Staged:
    """A prediction whose gradient is that of a distance to the labels, by output of a sample."""
    x, kind = call.x(0), call.node.operator
    label = call.stage.reshape(_fixed(call, call.x(1, x.shape)), x.shape)
    outputs = max(x.size // max(x.shape[0], 1), 1) if x.ndim else 1
    scale = call.node.number("grad_scale", 1.0) / outputs
    call.stage.loss(_REGRESSIONS[kind](x, label), f"{call.name}_loss", scale=scale)
    return _shown(call, call.block("Sigmoid", x) if kind.startswith("Logistic") else x)


def _cross_entropy(call: MXNetCall) -> Staged:
    """The sum of the cross-entropies of rows, an ordinary value."""
    scores = call.x(0)
    classes = indexing.whole(_fixed(call, call.x(1, scores.shape[:1])))
    return losses.cross_entropy(scores, classes, reduction="sum")


_KEEPING, _BROADCASTING = _arithmetic()
_KEEPING |= {
    **{name: _one(partial(put, kind)) for name, kind in _FUNCTIONS.items()},
    "softsign": _one(act.softsign),
    "Activation": lambda c: c.choice("act_type", _ACTIVATIONS, "")(c.x()),
    **dict.fromkeys(("identity", "_copy", "_identity_with_attr_like_rhs"), lambda c: c.x()),
    **dict.fromkeys(
        ("BlockGrad", "stop_gradient"), lambda c: el.stopped(c.x(), c.node.operator)
    ),
    **dict.fromkeys(("Cast", "cast", "amp_cast"), lambda c: c.stage.cast(
        c.x(), c.choice("dtype", {name: name for name in _DTYPES}, "")
    )),
    **dict.fromkeys(("fix", "trunc"), _one(el.truncated)),
    "round": _one(el.rounded_away), "rint": _one(lambda x: put("Ceil", x - 0.5)),
    "rsqrt": _one(lambda x: x**-0.5), "reciprocal": _one(lambda x: 1.0 / x),
    "log2": _one(lambda x: el.logarithm(x, 2)), "log10": _one(lambda x: el.logarithm(x, 10)),
    "degrees": _one(lambda x: x * (180 / math.pi)), "radians": _one(lambda x: x * (math.pi / 180)),
    "clip": lambda c: put(
        "Clip", c.x(), min=c.node.number("a_min"), max=c.node.number("a_max")
    ),
    "hard_sigmoid": lambda c: act.hard_sigmoid(
        c.x(), c.node.number("alpha", 0.2), c.node.number("beta", 0.5)
    ),
    "smooth_l1": _smooth_l1, "zeros_like": _filled(0.0), "ones_like": _filled(1.0),
    "logical_not": _one(lambda x: x.stage.cast(put("Equal", x, x.like(0)), x.dtype)),
    **dict.fromkeys(
        ("add_n", "ElementWiseSum", "_sum"), lambda c: c.stage.block("AddN", *c.all())
    ),
    "MakeLoss": _make_loss, "make_loss": _make_loss,
}  # fmt: skip
OPERATORS: dict[str, Operator] = {
    **_KEEPING, **_BROADCASTING,
    **{name: partial(_reduced, kind) for name, kind in _REDUCTIONS.items()},
    "argmax": partial(_place, "ArgMax"), "argmin": partial(_place, "ArgMin"), "norm": _norm,
    "cumsum": _cumulative, "dot": _dot,
    "batch_dot": lambda call: call.block("MatMul", *_sides(call, lambda x: shapes.swap(x, -2, -1))),
    **dict.fromkeys(("Reshape", "reshape"), _reshape),
    **dict.fromkeys(("Flatten", "flatten"), lambda call: put("Flatten", call.x())),
    "transpose": _transpose,
    **dict.fromkeys(
        ("SwapAxis", "swapaxes"),
        lambda call: shapes.swap(
            call.x(), *(call.node.whole(key, 0) for key in ("dim1", "dim2"))
        ),
    ),
    "expand_dims": lambda call: put("ExpandDims", call.x(), axis=call.node.whole("axis")),
    "squeeze": lambda call: shapes.squeeze(call.x(), call.node.axes()),
    **dict.fromkeys(
        ("Concat", "concat"),
        lambda call: put("Concat", *call.all(), axis=call.node.whole("dim", 1)),
    ),
    "stack": lambda call: shapes.stack(call.all(), call.node.whole("axis", 0)),
    "SliceChannel": _split_channels, "split": _split_channels,
    "broadcast_to": _broadcast_to, "broadcast_axis": _broadcast_axes,
    "broadcast_axes": _broadcast_axes, "broadcast_like": _broadcast_like,
    "reshape_like": lambda call: call.stage.reshape(call.x(0), call.x(1).shape),
    "tile": lambda call: shapes.tile(call.x(), call.node.wholes("reps")),
    "depth_to_space": _blocks(shapes.depth_to_space),
    "space_to_depth": _blocks(shapes.space_to_depth),
    "repeat": lambda c: shapes.repeat(c.x(), c.node.whole("repeats"), c.node.axis()),
    "UpSampling": _upsampling, "Pad": _pad, "pad": _pad,
    **dict.fromkeys(
        ("reverse", "flip"), lambda call: shapes.flip(call.x(), call.node.wholes("axis"))
    ),
    "shape_array": lambda call: call.stage.constant(np.asarray(call.x().shape, np.int64)),
    "size_array": lambda call: call.stage.constant(np.asarray([call.x().size], np.int64)),
    "slice": _slice, "crop": _slice, "slice_axis": _slice_axis, "slice_like": _slice_like,
    "take": _take, "pick": _pick, "choose_element_0index": _pick, "one_hot": _one_hot,
    "where": _chosen, "gather_nd": _gather_nd, "Embedding": _embedding,
    "FullyConnected": _fully_connected,
    **dict.fromkeys(("Convolution", "Convolution_v1"), _convolution),
    "Deconvolution": partial(_convolution, transposed=True),
    **dict.fromkeys(("Pooling", "Pooling_v1"), _pooling),
    "_contrib_AdaptiveAvgPooling2D": lambda c: windows.adaptive_pool(
        "Mean", c.x(), windows.each(c.node.wholes("output_size", ()) or (1,), 2)
    ),
    "LeakyReLU": _leaky, "Dropout": _dropout, "softmax": partial(_softmax, "Softmax", 1),
    "log_softmax": partial(_softmax, "LogSoftmax", 1), "softmin": partial(_softmax, "Softmax", -1),
    "SoftmaxActivation": _softmax_activation,
    "BatchNorm": _batch_norm, "BatchNorm_v1": _batch_norm, "LayerNorm": _layer_norm,
    "InstanceNorm": _instance_norm, "L2Normalization": _l2_norm,
    "SoftmaxOutput": _softmax_output, "Softmax": _softmax_output,
    **dict.fromkeys(_REGRESSIONS, _regression),
    "softmax_cross_entropy": _cross_entropy,
}  # fmt: skip
KEEPING = tuple(_KEEPING)
"""Operators whose inputs and output all have one shape."""
ANY_SHAPE = (*_BROADCASTING, *_REDUCTIONS)
"""Operators that work on scalars too."""
