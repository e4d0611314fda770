"""Arithmetic, functions and comparisons of elements."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    Rule,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.tensors import DTYPES
from gradwire.runtime.interchange.importing.staged import put

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
_NUMBERS = {
    "value_float": ("f", "float32"), "value_floats": ("floats", "float32"),
    "value_int": ("i", "int64"), "value_ints": ("ints", "int64"),
}  # fmt: skip
"""Attributes of a Constant, with where they have their numbers and as what."""


def _block(kind: str) -> Rule:
    return lambda node: node.stage.block(kind, *aligned(node))


def aligned(node: OperatorNode) -> list[Staged]:
    """The inputs; the second one gets axes behind its own where an old model says so."""
    values = node.values()
    if node.integer("broadcast") and "axis" in node.attributes and len(values) == 2:
        first, second = values
        behind = first.ndim - node.axis(0) - second.ndim
        values[1] = node.stage.reshape(second, (*second.shape, *(1,) * max(behind, 0)))
    return values


def _two(node: OperatorNode) -> tuple[Staged, Staged]:
    first, second = aligned(node)
    return first, second


def _bits(op: str) -> Rule:
    return lambda n: put("Bits", n.x(0), n.x(1), op=op)


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


@rule("Selu")
def _selu(node: OperatorNode) -> Staged:
    if not node.attributes:
        return put("Selu", node.x())
    return act.elu(node.x(), node.number("alpha", 1.6732632), node.number("gamma", 1.0507010))


@rule("PRelu")
def _p_relu(node: OperatorNode) -> Staged:
    x, slope = node.x(0), node.x(1)
    one_a_channel = node.opset < 7 and slope.ndim == 1
    return act.prelu(x, slope) if one_a_channel else put("PRelu", x, slope)


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


RULES.update({
    **{name: _block(name) for name in SAME},
    **{name: _block(kind) for name, kind in RENAMED.items()},
    "Identity": lambda n: n.inputs[0] if n.inputs else None,
    "Swish": lambda n: act.swish(n.x(), n.number("alpha", 1.0)),
    "Celu": lambda n: put("Celu", n.x(), alpha=n.number("alpha", 1.0)),
    "Elu": lambda n: put("Elu", n.x(), alpha=n.number("alpha", 1.0)),
    "Gelu": lambda n: put("Gelu", n.x(), approximate=n.text("approximate", "none")),
    "LeakyRelu": lambda n: put("LeakyRelu", n.x(), slope=n.number("alpha", 0.01)),
    "HardSigmoid": lambda n: put(
        "HardSigmoid", n.x(), alpha=n.number("alpha", 0.2), beta=n.number("beta", 0.5)
    ),
    "ThresholdedRelu": lambda n: act.threshold(n.x(), n.number("alpha", 1.0)),
    "Softsign": lambda n: act.softsign(n.x()),
    "Reciprocal": lambda n: 1.0 / n.x(),
    "Cast": lambda n: n.stage.cast(n.x(), n.dtype("to")),
    "CastLike": lambda n: n.stage.cast(n.x(), n.x(1).dtype),
    "Div": lambda n: el.quotient(*_two(n)),
    "Mod": lambda n: (el.remainder if n.integer("fmod") else partial(put, "Mod"))(n.x(0), n.x(1)),
    "Clip": lambda n: el.clip(n.x(), _bound(n, 1, "min"), _bound(n, 2, "max")),
    "BitwiseAnd": _bits("and"), "BitwiseOr": _bits("or"), "BitwiseXor": _bits("xor"),
    "BitwiseNot": lambda n: el.inverted(n.x()),
    "BitShift": lambda n: _bits(n.text("direction").lower())(n),
    "Max": lambda n: el.fold("Maximum", n.values()),
    "Min": lambda n: el.fold("Minimum", n.values()),
    "Sum": _sum,
    "Mean": lambda n: _sum(n) / float(len(n.inputs)),
})  # fmt: skip


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
