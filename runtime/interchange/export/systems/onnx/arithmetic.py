"""How ONNX writes what works element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.systems.onnx.nodes import NodeList, Rows, Write


def _op(name: str, *narrow: str) -> Write:
    """One operator; dtypes that runtimes lack go through int64, which wraps as they do."""

    def write(body: NodeList, value: Value, a: Sequence[str]) -> str:
        if value.dtype not in narrow:
            return body.node(name, *a)
        return body.cast(body.node(name, *(body.cast(x, "int64") for x in a)), value.dtype)

    return write


def _negative(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if value.dtype.startswith("u"):
        return body.node("Sub", body.number(0, value.dtype), a[0])
    return body.node("Neg", a[0])


def _floored(body: NodeList, value: Value, a: Sequence[str]) -> tuple[str, str]:
    """The remainder by C, which has the sign of a, and where it is one of the other sign."""
    rest, zero = body.node("Mod", *a, fmod=1), body.number(0, value.dtype)
    signs = body.node("Xor", body.node("Less", rest, zero), body.node("Less", a[1], zero))
    return rest, body.node("And", signs, body.node("Not", body.node("Equal", rest, zero)))


def _remainder(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if not value.dtype.startswith("float"):
        return body.node("Mod", *a)
    rest, other = _floored(body, value, a)
    return body.node("Where", other, body.node("Add", rest, a[1]), rest)


def _floor_divide(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Without the remainder the quotient is whole, but for rounding."""
    if not value.dtype.startswith("float"):
        return body.node("Div", body.node("Sub", a[0], body.node("Mod", *a)), a[1])
    rest, other = _floored(body, value, a)
    whole = body.node("Round", body.node("Div", body.node("Sub", a[0], rest), a[1]))
    whole = body.node("Sub", whole, body.cast(other, value.dtype))
    nothing = body.node("Equal", a[1], body.number(0, value.dtype))
    return body.node("Where", nothing, body.node("Div", *a), whole)


def _arctan2(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """The angle of |a| and |b|, mirrored by the signs, also by those of zeros."""
    one, zero = body.number(1, value.dtype), body.number(0, value.dtype)
    infinite = body.node("And", *(body.node("IsInf", x) for x in a))
    nothing = body.node("And", *(body.node("Equal", x, zero) for x in a))
    up, along = (
        body.node("Where", infinite, one, body.node("Where", body.node("Equal", x, zero), zero,
                                                    body.node("Abs", x)))
        for x in a
    )  # fmt: skip
    angle = body.node("Atan", body.node("Div", up, body.node("Where", nothing, one, along)))
    below, left = (_is_negative(body, value, x) for x in a)
    turned = body.node("Sub", body.number(math.pi, value.dtype), angle)
    angle = body.node("Where", left, turned, angle)
    return body.node("Where", below, body.node("Neg", angle), angle)


def _is_negative(body: NodeList, value: Value, x: str) -> str:
    """Whether a number has a minus; 1 / −0 is −∞."""
    zero = body.number(0, value.dtype)
    inverse = body.node("Div", body.number(1, value.dtype), x)
    is_zero = body.node("Equal", x, zero)
    return body.node("Less", body.node("Where", is_zero, inverse, x), zero)


def _expm1(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """``tanh(x/2) (eˣ + 1)``, exact near 0."""
    half = body.node("Mul", a[0], body.number(0.5, value.dtype))
    more = body.node("Add", body.node("Exp", a[0]), body.number(1, value.dtype))
    return body.node("Mul", body.node("Tanh", half), more)


def _log1p(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """``log(u) x / (u − 1)`` of u = 1 + x: what rounding u loses is in the quotient."""
    one = body.number(1, value.dtype)
    more = body.node("Add", a[0], one)
    kept = body.node("Sub", more, one)
    lost = body.node("Equal", kept, body.number(0, value.dtype))
    large = body.node("Equal", kept, a[0])
    share = body.node("Div", a[0], body.node("Where", lost, one, kept))
    share = body.node("Where", large, one, share)
    return body.node("Where", lost, a[0], body.node("Mul", body.node("Log", more), share))


def _softplus(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """``log(eˣ + e⁰)`` in float64, for which onnxruntime has no kernel of Softplus."""
    if value.dtype != "float64":
        return body.node("Softplus", a[0])
    column = body.node("Unsqueeze", a[0], body.integers(-1))
    widths = body.integers(*[0] * (2 * value.ndim + 1), 1)
    pair = body.node("Pad", column, widths, body.number(0, value.dtype))
    return body.node("ReduceLogSumExp", pair, body.integers(-1), keepdims=0)


def _tan(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if value.dtype != "float64":  # which onnxruntime has no kernel of Tan for
        return body.node("Tan", a[0])
    return body.node("Div", body.node("Sin", a[0]), body.node("Cos", a[0]))


def _is_finite(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if not value.inputs[0].dtype.startswith("float"):
        return body.node("Equal", a[0], a[0])
    wrong = body.node("Or", body.node("IsNaN", a[0]), body.node("IsInf", a[0]))
    return body.node("Not", wrong)


def _is_nan(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if not value.inputs[0].dtype.startswith("float"):
        return body.node("Not", body.node("Equal", a[0], a[0]))
    return body.node("IsNaN", a[0])


def _relu(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if value.dtype.startswith("float"):
        return body.node("Relu", a[0])
    return _MAX(body, value, [a[0], body.number(0, value.dtype)])


def _clip(body: NodeList, value: Value, a: Sequence[str]) -> str:
    how = value.attributes
    dtype = "int64" if value.dtype in _NARROW else value.dtype
    bounds = [how["lo"], how["hi"]]
    given = ["" if bound is None else body.number(bound, dtype) for bound in bounds]
    given = given if given[1] else given[:1]
    if dtype == value.dtype:
        return body.node("Clip", a[0], *given)
    return body.cast(body.node("Clip", body.cast(a[0], dtype), *given), value.dtype)


def _bits(op: str, logic: str) -> Write:
    return lambda body, value, a: body.node(logic if value.dtype == "bool" else op, *a)


def _left_shift(body: NodeList, value: Value, a: Sequence[str]) -> str:
    return _shifted(body, value, a[0], a[1], "LEFT")


def _right_shift(body: NodeList, value: Value, a: Sequence[str]) -> str:
    """Of a number below 0 the bits are turned before and after, so that zeros come in."""
    if value.dtype.startswith("u"):
        return _shifted(body, value, a[0], a[1], "RIGHT")
    negative = body.node("Less", a[0], body.number(0, value.dtype))
    positive = body.node("Where", negative, body.node("BitwiseNot", a[0]), a[0])
    moved = _shifted(body, value, positive, a[1], "RIGHT")
    return body.node("Where", negative, body.node("BitwiseNot", moved), moved)


def _shifted(body: NodeList, value: Value, x: str, by: str, direction: str) -> str:
    """BitShift takes numbers without a sign only."""
    if value.dtype in ("uint8", "uint32", "uint64"):
        return body.node("BitShift", x, by, direction=direction)
    x, by = body.cast(x, "uint64"), body.cast(by, "uint64")
    return body.cast(body.node("BitShift", x, by, direction=direction), value.dtype)


def _where(body: NodeList, value: Value, a: Sequence[str]) -> str:
    if value.dtype == "bool":
        no = body.node("Not", a[0])
        return body.node("Or", body.node("And", a[0], a[1]), body.node("And", no, a[2]))
    if value.dtype in ("int16", "uint16", "uint64"):
        wide = [body.cast(x, "int64") for x in a[1:]]
        return body.cast(body.node("Where", a[0], *wide), value.dtype)
    return body.node("Where", *a)


_NARROW = ("int16", "uint16")
_MAX = _op("Max", *_NARROW)
ARITHMETIC: Rows = {
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "power": _op("Pow", "int8", "uint8", "uint32", "uint64", *_NARROW),
    "maximum": _MAX,
    "minimum": _op("Min", *_NARROW),
    "arctan2": _arctan2,
    "negative": _negative,
    "expm1": _expm1,
    "log1p": _log1p,
    "tan": _tan,
    "softplus": _softplus,
    "isnan": _is_nan,
    "isfinite": _is_finite,
    "relu": _relu,
    "clip": _clip,
    "bitwise_and": _bits("BitwiseAnd", "And"),
    "bitwise_or": _bits("BitwiseOr", "Or"),
    "bitwise_xor": _bits("BitwiseXor", "Xor"),
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "where": _where,
}
"""Rows of primitives that work element by element and are more than operators."""
