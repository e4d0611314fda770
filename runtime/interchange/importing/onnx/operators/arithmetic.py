"""Functions of elements, products of matrices, reductions, normalisation and random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.meanings import (
    losses,
    normalisation,
    ordering,
    products,
    reductions,
)
from gradwire.runtime.interchange.importing.meanings.indexing import one_hot
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    is_variable,
    require_small,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.tensors import DTYPES
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from types import NotImplementedType

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = (
    "Abs", "And", "Ceil", "Cos", "Cosh", "Equal", "Erf", "Exp", "Floor", "Greater", "Less", "Log",
    "HardSwish", "IsNaN", "Mish", "Mul", "Neg", "Not", "Or", "Relu", "Round", "Sigmoid", "Sign",
    "Sin", "Sinh", "Softplus", "Sqrt", "Sub", "Tan", "Tanh", "Where", "Xor",
)  # fmt: skip
"""Operators that a block of the same name is."""
_RENAMED = {
    "Acos": "Arccos", "Acosh": "Arccosh", "Asin": "Arcsin", "Asinh": "Arcsinh", "Atan": "Arctan",
    "Atanh": "Arctanh", "Det": "Determinant", "GreaterOrEqual": "GreaterEqual",
    "LessOrEqual": "LessEqual",
}  # fmt: skip
"""Operators that a block of another name is."""
_REDUCTIONS = {
    "Sum": ("Sum", "", ""), "Mean": ("Mean", "", ""), "Max": ("Max", "", ""),
    "Min": ("Min", "", ""), "Prod": ("Prod", "", ""), "L1": ("Sum", "Abs", ""),
    "L2": ("Sum", "Square", "Sqrt"), "SumSquare": ("Sum", "Square", ""),
    "LogSum": ("Sum", "", "Log"),
}  # fmt: skip
"""The block of a reduction, with those that change the elements before and after it."""
_NUMBERS = {
    "value_float": ("f", "float32"), "value_floats": ("floats", "float32"),
    "value_int": ("i", "int64"), "value_ints": ("ints", "int64"),
}  # fmt: skip
"""Attributes of a Constant, with where they have their numbers and as what."""
_PLAIN = {"is_causal", "scale", "q_num_heads", "kv_num_heads"}
"""Attributes of Attention that its block has."""


def aligned(node: OperatorNode) -> list[Staged]:
    """The inputs; the second one gets axes behind its own where an old model says so."""
    values = node.values()
    if node.integer("broadcast") and "axis" in node.attributes and len(values) == 2:
        first, second = values
        behind = first.ndim - node.axis(0) - second.ndim
        values[1] = node.stage.reshape(second, (*second.shape, *(1,) * max(behind, 0)))
    return values


def _block(kind: str, node: OperatorNode) -> Staged:
    return node.stage.block(kind, *aligned(node))


def _two(node: OperatorNode) -> tuple[Staged, Staged]:
    first, second = aligned(node)
    return first, second


def _bits(op: str, node: OperatorNode) -> Staged:
    return put("Bits", node.x(0), node.x(1), op=op)


@rule("Pow")
def _pow(node: OperatorNode) -> Staged:
    """Has the dtype of the base."""
    (base, exponent), stage = _two(node), node.stage
    if exponent.is_float and not base.is_float:
        wide = stage.cast(base, "float64") ** stage.cast(exponent, "float64")
        return stage.cast(wide, base.dtype)
    return stage.cast(put("Pow", base, stage.cast(exponent, base.dtype)), base.dtype)


def _bound(node: OperatorNode, index: int, attribute: str) -> Staged | None:
    if node.has(index):
        return node.x(index)
    return node.x().like(node.number(attribute)) if attribute in node.attributes else None


def _sum(node: OperatorNode) -> Staged:
    values = node.values()
    return node.stage.block("AddN", *values) if len(values) > 2 else el.fold("Add", values)


@rule("Shrink")
def _shrink(node: OperatorNode) -> Staged:
    """Of whole numbers too, which are cut off to whole numbers again."""
    given, edge, bias = node.x(), node.number("lambd", 0.5), node.number("bias")
    x = given if given.is_float else given.stage.cast(given, "float64")
    above = put("Where", x > edge, x - bias, x.like(0))
    return given.stage.cast(put("Where", x < -edge, x + bias, above), given.dtype)


@rule("IsInf")
def _is_inf(node: OperatorNode) -> Staged:
    x = node.x()
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if not (positive or negative):
        return x.stage.constant(np.zeros(x.shape, bool))
    sign = "positive" if not negative else "both" if positive else "negative"
    return put("IsInf", x, sign=sign)


@rule("Constant")
def _constant(node: OperatorNode) -> Staged:
    for name, (field, dtype) in _NUMBERS.items():
        if name in node.attributes:
            numbers = getattr(node.attributes[name], field)
            return node.stage.constant(np.asarray(numbers, dtype))
    if "value" not in node.attributes:
        raise node.unsupported("it has text or sparse numbers")
    return node.stage.constant(node.array("value"))


@rule("BitCast")
def _bit_cast(node: OperatorNode) -> Staged:
    """Other numbers with the same bits, which only constants can be."""
    x, dtype = node.x(), DTYPES.get(node.integer("to"))
    if x.array is None or dtype is None or np.dtype(dtype).itemsize != x.array.dtype.itemsize:
        raise node.unsupported("no block reads the bits of a number as another dtype")
    return node.stage.constant(x.array.view(dtype))


@rule("Gemm")
def _gemm(node: OperatorNode) -> Staged:
    """A Linear block where it is one, with a weight (out, in)."""
    a, b, c, stage = node.x(0), node.x(1), node.get(2), node.stage
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    plain = alpha == beta == 1.0 and node.integer("transB") and not node.integer("transA")
    if plain and a.is_float and (c is None or c.shape == b.shape[:1]):
        return put("Linear", a, b, c)
    a = stage.transpose(a, (1, 0)) if node.integer("transA") else a
    b = stage.transpose(b, (1, 0)) if node.integer("transB") else b
    y = a @ b if alpha == 1.0 else (a @ b) * alpha
    if c is None or beta == 0.0:
        return y
    return y + (c if beta == 1.0 else c * beta)


@rule("MatMul")
def _mat_mul(node: OperatorNode) -> Staged:
    """A Linear block where the right side is a weight (out, in) that is transposed for it."""
    a, b = node.x(0), node.x(1)
    if a.is_float and a.ndim > 1 and b.ndim == 2 and b.source is not None:
        weight = b.source.inputs.get("x")
        turned = b.source.block.type_name() == "Transpose"
        if turned and weight is not None and is_variable(weight):
            return put("Linear", a, weight)
    return a @ b


@rule("Add")
def _add(node: OperatorNode) -> Staged:
    """A Linear block with its bias, where both are of one module."""
    first, second = _two(node)
    for linear, bias in ((first, second), (second, first)):
        source = linear.source
        if source is None or source.block.type_name() != "Linear" or "bias" in source.inputs:
            continue
        one = bias.source is not None and is_variable(bias) and bias.source.scope is source.scope
        if one and bias.shape == linear.shape[-1:]:
            return put("Linear", source.inputs["x"], source.inputs["weight"], bias)
    return first + second


def _softmax(kind: str, node: OperatorNode) -> Staged:
    """Before opset 13 over all axes from one on, put together."""
    if node.opset >= 13:
        return put(kind, node.x(), axis=node.axis(-1))
    return act.softmax_of_all(node.x(), node.axis(1), kind)


@rule("Hardmax")
def _hardmax(node: OperatorNode) -> Staged:
    x, axis = node.x(), node.axis(-1 if node.opset >= 13 else 1)
    return one_hot(put("ArgMax", x, axis=axis), x.shape[axis], x.dtype, axis)


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _likelihood_loss(node: OperatorNode) -> tuple[Staged, Staged]:
    """Of classes along axis 1; the second output are the logarithms of probabilities."""
    x, labels = node.x(), node.stage.cast(node.x(1), "int64")
    scores = put("LogSoftmax", x, axis=1) if node.operator == "SoftmaxCrossEntropyLoss" else x
    ignored = node.integer("ignore_index") if "ignore_index" in node.attributes else None
    reduction = losses.REDUCTIONS.get(node.text("reduction", "mean"))
    if reduction is None:
        raise node.unsupported(f"its reduction is {node.text('reduction')[:20]!r}")
    found = losses.cross_entropy(scores, labels, 1, reduction, node.get(2), ignored, logits=False)
    return found, scores


@rule("Attention")
def _attention(node: OperatorNode) -> Staged | NotImplementedType:
    """One block, unless it keeps keys and values, has a cap or a window, or shares heads."""
    query, key, value, mask = node.x(0), node.x(1), node.x(2), node.get(3)
    heads = node.integer("q_num_heads"), node.integer("kv_num_heads")
    shared = heads[0] != heads[1] or query.shape[:-2] != key.shape[:-2]
    more = len(node.inputs) > 4 or any(map(node.wants, (1, 2, 3)))
    short = mask is not None and mask.shape[-1] != key.shape[-2]
    if shared or more or short or node.attributes.keys() - _PLAIN:
        return NotImplemented  # type: ignore[no-any-return]  # mypy takes it for Any
    stage, size = node.stage, heads[0]
    parts = [products.by_head(x, size) if query.ndim == 3 else x for x in (query, key, value)]
    scale = node.number("scale") if "scale" in node.attributes else None
    y = put("Attention", *parts, mask, causal=bool(node.integer("is_causal")), scale=scale)
    if query.ndim == 4:
        return y
    y = stage.transpose(y, (0, 2, 1, 3))
    return stage.reshape(y, (*y.shape[:2], y.shape[2] * y.shape[3]))


def _axes(node: OperatorNode) -> tuple[int, ...] | None:
    """The axes that a reduction has, from the front; None for all, () for none."""
    x, axes = node.x(), node.known_integers(1, "axes")
    if not axes:
        return () if node.integer("noop_with_empty_axes") else None
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"axes {axes} of {x.ndim} axes")
    return tuple(axis % x.ndim for axis in axes)


def _reduction(kind: str, before: str, after: str, node: OperatorNode) -> Staged:
    """A block that reduces, between blocks that change the elements; the dtype stays."""
    x, axes, keep = node.x(), _axes(node), bool(node.integer("keepdims", 1))
    y = _changed(x, before)
    if kind in ("Max", "Min") and axes != ():
        if any(x.shape[axis] == 0 for axis in (range(x.ndim) if axes is None else axes)):
            return node.stage.constant(_of_nothing(kind, x, axes, keep))
        if x.dtype == "bool":
            kind = "AnyTrue" if kind == "Max" else "AllTrue"
    y = reductions.reduce(kind, y, axes, keep)
    return node.stage.cast(_changed(y, after), x.dtype)


def _changed(x: Staged, kind: str) -> Staged:
    """The elements by a block, which integers may have to be floats for."""
    if not kind or (kind == "Square" and not x.is_float):
        return x * x if kind else x
    return put(kind, x if x.is_float or kind in ("Abs", "Log") else x.stage.cast(x, "float64"))


def _of_nothing(kind: str, x: Staged, axes: tuple[int, ...] | None, keep: bool) -> Array:
    """The largest of no numbers is the smallest that the dtype has, and the other way round."""
    ends: tuple[float, float] = (-np.inf, np.inf)
    if not x.is_float:
        ends = (0, 1) if x.dtype == "bool" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    function, end = (np.max, ends[0]) if kind == "Max" else (np.min, ends[1])
    found: Array = function(np.zeros(x.shape, x.dtype), axis=axes, keepdims=keep, initial=end)
    return np.asarray(found, x.dtype)


@rule("ReduceLogSumExp")
def _log_sum_exp(node: OperatorNode) -> Staged:
    if math.prod(node.x().shape) and node.x().is_float:
        return _reduction("LogSumExp", "", "", node)
    return _reduction("Sum", "Exp", "Log", node)


def _choice(kind: str, node: OperatorNode) -> Staged:
    keep, last = bool(node.integer("keepdims", 1)), bool(node.integer("select_last_index"))
    return ordering.place(kind, node.x(), node.axis(0), keep, last)


@rule("TopK")
def _top_k(node: OperatorNode) -> tuple[Staged, ...]:
    k = node.known_integer(1) if node.has(1) else node.integer("k")
    return ordering.top_k(node.x(), k, node.axis(-1), bool(node.integer("largest", 1)))


def _running(kind: str, node: OperatorNode) -> Staged:
    """Sums or products of the elements up to each, from either end, with or without its own."""
    x, ways = node.x(), [bool(node.integer(key)) for key in ("reverse", "exclusive")]
    y = reductions.running(kind, x, node.known_integer(1), *ways)
    return node.stage.cast(y, x.dtype)


def _epsilon(node: OperatorNode) -> float:
    return node.number("epsilon", 1e-5)


@rule("BatchNormalization")
def _batch_normalization(node: OperatorNode) -> tuple[Staged, ...]:
    """By the statistics it keeps, or in training by those of the batch."""
    x, scale, bias, mean, variance = (node.x(i) for i in range(5))
    training = node.training or bool(node.integer("training_mode"))
    momentum = round(1 - node.number("momentum", 0.9), 9)
    return normalisation.batch_norm(
        x, scale, bias, mean, variance, training, _epsilon(node), momentum
    )


@rule("GroupNormalization")
def _group_normalization(node: OperatorNode) -> Staged:
    x, stage, groups = node.x(), node.stage, node.integer("num_groups")
    scale, bias = node.x(1), node.x(2)
    if scale.shape[0] != x.shape[1]:  # one number a group, before opset 21
        repeated = [place // (x.shape[1] // groups) for place in range(x.shape[1])]
        scale, bias = (stage.take(given, repeated, 0) for given in (scale, bias))
    return normalisation.group_norm(x, groups, scale, bias, _epsilon(node))


@rule("LayerNormalization")
def _layer_normalization(node: OperatorNode) -> Staged | tuple[Staged, ...]:
    x, scale, bias = node.x(), node.x(1), node.get(2)
    axes = range(node.axis(-1), x.ndim)
    plain = not (node.wants(1) or node.wants(2))
    if plain and _fit(x, axes, scale, bias):
        return normalisation.layer_norm(x, scale, bias, axes, _epsilon(node))
    return normalisation.standardised(x, axes, _epsilon(node), scale, bias)


def _fit(x: Staged, axes: Sequence[int], *parameters: Staged | None) -> bool:
    """Whether parameters have the lengths of these axes, and need not be broadcast."""
    lengths = tuple(x.shape[axis] for axis in axes)
    return all(given is None or given.shape == lengths for given in parameters)


@rule("RMSNormalization", "SimplifiedLayerNormalization")
def _rms_normalization(node: OperatorNode) -> Staged:
    x, scale = node.x(), node.x(1)
    axes = range(node.axis(-1), x.ndim)
    if _fit(x, axes, scale):
        return normalisation.rms_norm(x, scale, axes, _epsilon(node))
    return normalisation.rms_norm(x, None, axes, _epsilon(node)) * scale


@rule("MeanVarianceNormalization")
def _mean_variance(node: OperatorNode) -> Staged:
    x, axes = node.x(), node.integers("axes") or (0, 2, 3)
    mean, variance = reductions.mean_and_variance(x, axes)
    return (x - mean) / (put("Sqrt", variance) + 1e-9)


def _drawn_otherwise(node: OperatorNode) -> None:
    text = f"{node.operator}: its random numbers are drawn by another generator."
    node.stage.remark("lost", text)


@rule("Dropout")
def _dropout(node: OperatorNode) -> tuple[Staged, Staged | None]:
    """A block also where nothing is dropped, so that it can be set to training."""
    x, stage = node.x(), node.stage
    ratio = float(node.known(1).item()) if node.has(1) else node.number("ratio", 0.5)
    training = bool(node.known(2).item()) if node.has(2) else node.training
    if node.wants(1):
        if training and ratio:
            raise node.unsupported("its choice is an output")
        return x, stage.constant(np.ones(require_small(node, x.shape), bool))
    if training:
        _drawn_otherwise(node)
    rate = round(ratio, 9)
    return stage.block("Dropout", x, rate=rate, mode="train" if training else "eval"), None


@rule("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
def _random(node: OperatorNode) -> Staged:
    """A block that draws other numbers than the system that the model is from."""
    kind, like = node.operator.removesuffix("Like"), node.operator.endswith("Like")
    shape = node.x().shape if like else node.integers("shape") or ()
    dtype = node.dtype("dtype", node.x().dtype if like else "float32")
    seed = int(node.number("seed")) if "seed" in node.attributes else None
    _drawn_otherwise(node)
    shape = require_small(node, shape)
    draw = partial(node.stage.block, kind, None, shape=shape, dtype=dtype, seed=seed)
    if kind == "RandomUniform":
        return draw(low=node.number("low"), high=node.number("high", 1.0))
    return draw(mean=node.number("mean"), std=node.number("scale", 1.0))


RULES |= {
    **{kind: partial(_block, kind) for kind in _BLOCKS},
    **{name: partial(_block, kind) for name, kind in _RENAMED.items()},
    "Identity": lambda n: n.inputs[0] if n.inputs else None,
    "Swish": lambda n: act.swish(n.x(), n.number("alpha", 1.0)),
    "Selu": lambda n: (
        act.elu(n.x(), n.number("alpha", 1.6732632), n.number("gamma", 1.0507010))
        if n.attributes
        else put("Selu", n.x())
    ),
    "PRelu": lambda n: (
        act.prelu(n.x(), n.x(1))  # one slope a channel
        if n.opset < 7 and n.x(1).ndim == 1
        else put("PRelu", n.x(), n.x(1))
    ),
    "Celu": lambda n: put("Celu", n.x(), alpha=n.number("alpha", 1.0)),
    "Elu": lambda n: put("Elu", n.x(), alpha=n.number("alpha", 1.0)),
    "Gelu": lambda n: put("Gelu", n.x(), approximate=n.text("approximate", "none")),
    "LeakyRelu": lambda n: put("LeakyRelu", n.x(), slope=n.number("alpha", 0.01)),
    "HardSigmoid": lambda n: put(
        "HardSigmoid", n.x(), alpha=n.number("alpha", 0.2), beta=n.number("beta", 0.5)
    ),
    "ThresholdedRelu": lambda n: act.threshold(n.x(), n.number("alpha", 1.0)),
    "Softsign": lambda n: act.softsign(n.x()),
    "Softmax": partial(_softmax, "Softmax"), "LogSoftmax": partial(_softmax, "LogSoftmax"),
    "Reciprocal": lambda n: 1.0 / n.x(),
    "Cast": lambda n: n.stage.cast(n.x(), n.dtype("to")),
    "CastLike": lambda n: n.stage.cast(n.x(), n.x(1).dtype),
    "Div": lambda n: el.quotient(*_two(n)),
    "Mod": lambda n: (el.remainder if n.integer("fmod") else partial(put, "Mod"))(n.x(0), n.x(1)),
    "Clip": lambda n: el.clip(n.x(), _bound(n, 1, "min"), _bound(n, 2, "max")),
    **{f"Bitwise{op}": partial(_bits, op.lower()) for op in ("And", "Or", "Xor")},
    "BitwiseNot": lambda n: el.inverted(n.x()),
    "BitShift": lambda n: _bits(n.text("direction").lower(), n),
    "Max": lambda n: el.fold("Maximum", n.values()),
    "Min": lambda n: el.fold("Minimum", n.values()),
    "Sum": _sum, "Mean": lambda n: _sum(n) / float(len(n.inputs)),
    "Einsum": lambda n: products.einsum(n.text("equation"), n.values()),
    **{f"Reduce{name}": partial(_reduction, *how) for name, how in _REDUCTIONS.items()},
    "ArgMax": partial(_choice, "ArgMax"), "ArgMin": partial(_choice, "ArgMin"),
    "CumSum": partial(_running, "CumulativeSum"), "CumProd": partial(_running, "CumulativeProduct"),
    "InstanceNormalization": lambda n: normalisation.group_norm(
        n.x(), n.x().shape[1], n.x(1), n.x(2), _epsilon(n)
    ),
    "LpNormalization": lambda n: normalisation.by_length(
        n.x(), (n.axis(-1),), 2 if n.integer("p", 2) == 2 else 1
    ),
    "LRN": lambda n: put(
        "LRN", n.x(), size=n.integer("size"), alpha=n.number("alpha", 1e-4),
        beta=n.number("beta", 0.75), bias=n.number("bias", 1.0),
    ),
}  # fmt: skip
