"""Arithmetic and functions of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator

_BLOCKS = {
    "Abs": "Abs", "Acos": "Arccos", "Acosh": "Arccosh", "Asin": "Arcsin", "Asinh": "Arcsinh",
    "Atan": "Arctan", "Atanh": "Arctanh", "Cos": "Cos", "Cosh": "Cosh", "Elu": "Elu",
    "Erf": "Erf", "Exp": "Exp", "Expm1": "Expm1", "IsFinite": "IsFinite", "IsInf": "IsInf",
    "IsNan": "IsNaN", "Log": "Log", "Log1p": "Log1p", "LogicalNot": "Not", "Neg": "Neg",
    "Relu": "Relu", "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh",
    "Softplus": "Softplus", "Sqrt": "Sqrt", "Square": "Square", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
_STEPS = {"Ceil": "Ceil", "Floor": "Floor", "Rint": "Round", "Round": "Round"}
"""Steps, through which TensorFlow sends no gradient at all."""
_PAIRS = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Div": "Div",
    "Maximum": "Maximum", "Minimum": "Minimum", "Pow": "Pow", "Atan2": "Arctan2",
    "FloorMod": "Mod", "Greater": "Greater", "GreaterEqual": "GreaterEqual", "Less": "Less",
    "LessEqual": "LessEqual", "Equal": "Equal", "NotEqual": "NotEqual", "LogicalAnd": "And",
    "LogicalOr": "Or",
}  # fmt: skip
_BITS = {"BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor"}
_SELU = (1.6732632423543772, 1.0507009873554805)


def _one(kind: str) -> Operator:
    return lambda call: call.block(kind, call.x())


def _two(kind: str) -> Operator:
    return lambda call: call.block(kind, call.x(0), call.x(1))


def _step(kind: str) -> Operator:
    def round_(call: Call) -> Staged:
        x = call.x()
        if not x.is_float or x.array is not None:
            return call.block(kind, x)
        stopped = call.stage.block("StopGradient", x, name=f"before_{call.name}")
        call.stage.remark("cut", f"{call.node.operator} sends no gradient in TensorFlow.", stopped)
        return call.block(kind, stopped)

    return round_


def _bits(op: str) -> Operator:
    return lambda call: call.block("Bits", call.x(0), call.x(1), op=op)


def _root_of_inverse(call: Call) -> Staged:
    x = call.x()
    return call.block("Div", x.like(1.0), call.stage.block("Sqrt", x))


def _inverse(call: Call) -> Staged:
    return call.block("Div", call.x().like(1.0), call.x())


def _squared_difference(call: Call) -> Staged:
    return call.block("Square", call.x(0) - call.x(1))


def _safe_division(call: Call) -> Staged:
    """``a / b``, and 0 where b is 0, with no gradient there."""
    a, b = call.x(0), call.x(1)
    zero = call.stage.block("Equal", b, b.like(0))
    quotient = a / call.stage.block("Where", zero, b.like(1), b)
    return call.block("Where", zero, quotient.like(0), quotient)


def _safe_product(call: Call) -> Staged:
    """``a * b``, and 0 where b is 0 whatever a is."""
    a, b = call.x(0), call.x(1)
    zero = call.stage.block("Equal", b, b.like(0))
    product = call.stage.block("Where", zero, a.like(0), a) * b
    return call.block("Where", zero, product.like(0), product)


def _integer_division(call: Call) -> Staged:
    """``floor(a / b)`` of numbers up to 2⁵³."""
    a, b = call.x(0), call.x(1)
    if a.is_float:
        return call.block("Floor", a / b)
    quotient = call.stage.cast(a, "float64") / call.stage.cast(b, "float64")
    return call.stage.cast(call.block("Floor", quotient), a.dtype)


def _clipped_relu(call: Call) -> Staged:
    """``min(max(x, 0), 6)``; the derivative at 0 and 6 is 0."""
    x = call.x()
    return call.block("Minimum", call.stage.block("Relu", x), x.like(6.0))


def _leaky(call: Call) -> Staged:
    return call.block("LeakyRelu", call.x(), slope=call.attributes.number("alpha", 0.2))


def _selu(call: Call) -> Staged:
    return call.block("Elu", call.x(), alpha=_SELU[0]) * _SELU[1]


def _softsign(call: Call) -> Staged:
    x = call.x()
    return call.block("Div", x, call.stage.block("Abs", x) + 1.0)


def _erfc(call: Call) -> Staged:
    return call.block("Sub", call.x().like(1.0), call.stage.block("Erf", call.x()))


def _sum_of_all(call: Call) -> Staged:
    return call.block("AddN", *call.xs())


def _cast(call: Call) -> Staged:
    return call.stage.cast(call.x(), call.attributes.dtype("DstT"))


def _clip(call: Call) -> Staged:
    low = call.stage.block("Maximum", call.x(0), call.x(1))
    return call.block("Minimum", low, call.x(2))


def _xlogy(call: Call) -> Staged:
    """``x * log(y)``, and 0 where x is 0."""
    x, y = call.x(0), call.x(1)
    zero = call.stage.block("Equal", x, x.like(0))
    safe = call.stage.block("Where", zero, y.like(1), y)
    return call.block("Mul", x, call.stage.block("Log", safe))


OPERATORS: dict[str, Operator] = {name: _one(kind) for name, kind in _BLOCKS.items()}
OPERATORS |= {name: _step(kind) for name, kind in _STEPS.items()}
OPERATORS |= {name: _two(kind) for name, kind in _PAIRS.items()}
OPERATORS |= {name: _bits(op) for name, op in _BITS.items()}
OPERATORS |= {
    "Rsqrt": _root_of_inverse, "Reciprocal": _inverse, "Inv": _inverse,
    "SquaredDifference": _squared_difference, "DivNoNan": _safe_division,
    "MulNoNan": _safe_product, "FloorDiv": _integer_division, "Relu6": _clipped_relu,
    "LeakyRelu": _leaky, "Selu": _selu, "Softsign": _softsign, "Erfc": _erfc,
    "AddN": _sum_of_all, "Cast": _cast, "ClipByValue": _clip, "Xlogy": _xlogy,
}  # fmt: skip
