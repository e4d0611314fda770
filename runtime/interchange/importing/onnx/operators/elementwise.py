"""Arithmetic, functions and comparisons of elements."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, Rule, rule
from gradwire.runtime.interchange.importing.onnx.tensors import DTYPES

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

SAME = (
    "Abs", "And", "Ceil", "Cos", "Cosh", "Equal", "Erf", "Exp", "Floor", "Greater", "Less", "Log",
    "HardSwish", "Mish", "Mul", "Neg", "Not", "Or", "Relu", "Round", "Sigmoid", "Sign", "Sin",
    "Sinh", "Softplus", "Sqrt", "Sub", "Tan", "Tanh", "Where", "Xor",
)  # fmt: skip
"""Operators that a block of the same name is."""
RENAMED = {
    "Acos": "Arccos", "Acosh": "Arccosh", "Asin": "Arcsin", "Asinh": "Arcsinh", "Atan": "Arctan",
    "Atanh": "Arctanh", "GreaterOrEqual": "GreaterEqual", "LessOrEqual": "LessEqual",
    "IsNaN": "IsNaN",
}  # fmt: skip
"""Operators that a block of another name is."""


def _block(kind: str) -> Rule:
    return lambda node: node.stage.block(kind, *aligned(node))


def aligned(node: Node) -> list[Staged]:
    """The inputs; the second one gets axes behind its own where an old model says so."""
    values = node.values()
    if node.integer("broadcast") and "axis" in node.attributes and len(values) == 2:
        first, second = values
        behind = first.ndim - node.axis(0) - second.ndim
        values[1] = node.stage.reshape(second, (*second.shape, *(1,) * max(behind, 0)))
    return values


RULES.update({name: _block(name) for name in SAME})
RULES.update({name: _block(kind) for name, kind in RENAMED.items()})
RULES.update(
    {
        "Celu": lambda n: n.stage.block("Celu", n.x(), alpha=n.number("alpha", 1.0)),
        "Elu": lambda n: n.stage.block("Elu", n.x(), alpha=n.number("alpha", 1.0)),
        "Gelu": lambda n: n.stage.block("Gelu", n.x(), approximate=n.text("approximate", "none")),
        "LeakyRelu": lambda n: n.stage.block("LeakyRelu", n.x(), slope=n.number("alpha", 0.01)),
        "Reciprocal": lambda n: 1.0 / n.x(),
        "Softsign": lambda n: n.x() / (n.stage.block("Abs", n.x()) + 1.0),
        "CastLike": lambda n: n.stage.cast(n.x(), n.x(1).dtype),
        "BitwiseAnd": lambda n: n.stage.block("Bits", n.x(0), n.x(1), op="and"),
        "BitwiseOr": lambda n: n.stage.block("Bits", n.x(0), n.x(1), op="or"),
        "BitwiseXor": lambda n: n.stage.block("Bits", n.x(0), n.x(1), op="xor"),
        "BitwiseNot": lambda n: n.stage.block("Bits", n.x(), _all_bits(n.x()), op="xor"),
    }
)


def _all_bits(x: Staged) -> Staged:
    return x.stage.constant(np.invert(np.zeros((), x.dtype)))


@rule("Identity")
def _identity(node: Node) -> Staged | list[Staged] | None:
    return node.inputs[0] if node.inputs else None


@rule("BitShift")
def _bit_shift(node: Node) -> Staged:
    return node.stage.block("Bits", node.x(0), node.x(1), op=node.text("direction").lower())


@rule("Cast")
def _cast(node: Node) -> Staged:
    return node.stage.cast(node.x(), node.dtype("to"))


@rule("Div")
def _div(node: Node) -> Staged:
    """Whole numbers divide towards zero."""
    first, second = aligned(node)
    stage = node.stage
    if first.is_float:
        return first / second
    exact = stage.cast(first, "float64") / stage.cast(second, "float64")
    whole = stage.block("Sign", exact) * stage.block("Floor", stage.block("Abs", exact))
    return stage.cast(whole, first.dtype)


@rule("Mod")
def _mod(node: Node) -> Staged:
    """The remainder has the sign of the divisor, or that of x as in C."""
    x, divisor, stage = node.x(0), node.x(1), node.stage
    if not node.integer("fmod"):
        return stage.block("Mod", x, divisor)
    size = stage.block("Mod", stage.block("Abs", x), stage.block("Abs", divisor))
    return stage.cast(stage.block("Sign", x) * size, x.dtype)


@rule("Pow")
def _pow(node: Node) -> Staged:
    """Has the dtype of the base."""
    base, exponent, stage = *aligned(node), node.stage
    if exponent.is_float and not base.is_float:
        wide = stage.cast(base, "float64") ** stage.cast(exponent, "float64")
        return stage.cast(wide, base.dtype)
    return stage.cast(stage.block("Pow", base, stage.cast(exponent, base.dtype)), base.dtype)


@rule("Clip")
def _clip(node: Node) -> Staged:
    """One block for known bounds of floats, else a Maximum and a Minimum."""
    x, stage = node.x(), node.stage
    low, high = (_bound(node, *bound) for bound in ((1, "min"), (2, "max")))
    bounds = [bound for bound in (low, high) if bound is not None]
    if not bounds:
        return x
    if x.is_float and all(bound.array is not None and bound.size == 1 for bound in bounds):
        least, most = (None if b is None else _shortest(b) for b in (low, high))
        if least is None or most is None or least <= most:
            return stage.block("Clip", x, min=least, max=most)
    x = x if low is None else stage.block("Maximum", x, low)
    return x if high is None else stage.block("Minimum", x, high)


def _bound(node: Node, index: int, attribute: str) -> Staged | None:
    if node.has(index):
        return node.x(index)
    return node.x().like(node.number(attribute)) if attribute in node.attributes else None


def _shortest(bound: Staged) -> float:
    """A single known number in the shortest decimal form of its dtype."""
    assert bound.array is not None
    return float(str(bound.array.reshape(-1)[0]))


def fold(kind: str, values: list[Staged]) -> Staged:
    """All values put together by a block of two inputs, from left to right."""
    return reduce(lambda x, y: x.stage.block(kind, x, y), values)


RULES["Max"] = lambda node: fold("Maximum", node.values())
RULES["Min"] = lambda node: fold("Minimum", node.values())
RULES["Sum"] = lambda node: _sum(node)
RULES["Mean"] = lambda node: _sum(node) / float(len(node.inputs))


def _sum(node: Node) -> Staged:
    values = node.values()
    return node.stage.block("AddN", *values) if len(values) > 2 else fold("Add", values)


@rule("Selu")
def _selu(node: Node) -> Staged:
    if not node.attributes:
        return node.stage.block("Selu", node.x())
    alpha, gamma = node.number("alpha", 1.6732632), node.number("gamma", 1.0507010)
    return node.stage.block("Elu", node.x(), alpha=alpha) * gamma


@rule("PRelu")
def _p_relu(node: Node) -> Staged:
    x, slope = node.x(0), node.x(1)
    if node.opset < 7 and slope.ndim == 1 and slope.size > 1:  # one a channel
        slope = node.stage.reshape(slope, (slope.size, *(1,) * (x.ndim - 2)))
    return node.stage.block("PRelu", x, slope)


@rule("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Staged:
    x = node.x()
    return node.stage.block("Where", x > node.number("alpha", 1.0), x, x.like(0))


@rule("HardSigmoid")
def _hard_sigmoid(node: Node) -> Staged:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return node.stage.block("HardSigmoid", node.x(), alpha=alpha, beta=beta)


@rule("Swish")
def _swish(node: Node) -> Staged:
    x, alpha = node.x(), node.number("alpha", 1.0)
    if alpha == 1.0:
        return node.stage.block("Silu", x)
    return x * node.stage.block("Sigmoid", x * alpha)


@rule("Shrink")
def _shrink(node: Node) -> Staged:
    x, edge, bias = node.x(), node.number("lambd", 0.5), node.number("bias")
    above = node.stage.block("Where", x > edge, x - bias, x.like(0))
    return node.stage.block("Where", x < -edge, x + bias, above)


@rule("IsInf")
def _is_inf(node: Node) -> Staged:
    x, stage = node.x(), node.stage
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if not (positive or negative):
        return stage.constant(np.zeros(x.shape, bool))
    sign = "both" if positive and negative else "positive" if positive else "negative"
    return stage.block("IsInf", x, sign=sign)


@rule("Constant")
def _constant(node: Node) -> Staged:
    for name, dtype in (("value_float", np.float32), ("value_int", np.int64)):
        if name in node.attributes:
            attribute = node.attributes[name]
            single = attribute.f if dtype is np.float32 else attribute.i
            return node.stage.constant(np.asarray(single, dtype))
        if name + "s" in node.attributes:
            attribute = node.attributes[name + "s"]
            several = attribute.floats if dtype is np.float32 else attribute.ints
            return node.stage.constant(np.asarray(several, dtype))
    if "value" not in node.attributes:
        raise node.unsupported("it has text or sparse numbers")
    return node.stage.constant(node.array("value"))


@rule("BitCast")
def _bit_cast(node: Node) -> Staged:
    """Other numbers with the same bits, which only constants can be."""
    x, dtype = node.x(), DTYPES.get(node.integer("to"))
    if x.array is None or dtype is None or np.dtype(dtype).itemsize != x.array.dtype.itemsize:
        raise node.unsupported("no block reads the bits of a number as another dtype")
    return node.stage.constant(x.array.view(dtype))
