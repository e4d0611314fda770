"""Arithmetic, comparisons and logic, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.elementwise import times_logarithm
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Operand,
    enter,
    like,
    operator,
    pair,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage

_UNARY = {
    "abs": "Abs",
    "absolute": "Abs",
    "neg": "Neg",
    "negative": "Neg",
    "exp": "Exp",
    "expm1": "Expm1",
    "log": "Log",
    "log1p": "Log1p",
    "sqrt": "Sqrt",
    "square": "Square",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Arcsin",
    "arcsin": "Arcsin",
    "acos": "Arccos",
    "arccos": "Arccos",
    "atan": "Arctan",
    "arctan": "Arctan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "asinh": "Arcsinh",
    "acosh": "Arccosh",
    "atanh": "Arctanh",
    "erf": "Erf",
    "sign": "Sign",
    "floor": "Floor",
    "ceil": "Ceil",
    "isnan": "IsNaN",
    "isinf": "IsInf",
    "isfinite": "IsFinite",
    "logical_not": "Not",
}
_BINARY = {
    "mul": "Mul",
    "multiply": "Mul",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "remainder": "Mod",
    "atan2": "Arctan2",
    "arctan2": "Arctan2",
    "gt": "Greater",
    "greater": "Greater",
    "ge": "GreaterEqual",
    "greater_equal": "GreaterEqual",
    "lt": "Less",
    "less": "Less",
    "le": "LessEqual",
    "less_equal": "LessEqual",
    "eq": "Equal",
    "ne": "NotEqual",
    "not_equal": "NotEqual",
    "pow": "Pow",
}
_LOGIC = {"and": "And", "or": "Or", "xor": "Xor"}


def _enter_unary(name: str, kind: str) -> None:
    @operator(name)
    def _(stage: Stage, x: Staged) -> Staged:
        if kind in ("Not", "IsNaN", "IsInf") or kind.startswith("Is"):
            return stage.block(kind, x)
        floating = x.is_float or kind in ("Abs", "Neg", "Sign", "Square", "Floor", "Ceil")
        return stage.block(kind, x if floating else stage.cast(x, "float32"))


def _enter_binary(name: str, kind: str) -> None:
    @operator(name)
    def _(stage: Stage, a: Operand, b: Operand) -> Staged:
        return stage.block(kind, *pair(stage, a, b))


def _enter_logic(name: str, kind: str) -> None:
    @operator(f"logical_{name}")
    def _(stage: Stage, a: Operand, b: Operand) -> Staged:
        return stage.block(kind, *(stage.cast(x, "bool") for x in pair(stage, a, b)))

    @operator(f"bitwise_{name}", f"__{name}__")
    def _bits(stage: Stage, a: Operand, b: Operand) -> Staged:
        both = pair(stage, a, b)
        if all(x.dtype == "bool" for x in both):
            return stage.block(kind, *both)
        return stage.block("Bits", *both, op=name)


def _enter_shift(name: str, side: str) -> None:
    @operator(f"bitwise_{side}_shift", f"__{name}__")
    def _(stage: Stage, a: Operand, b: Operand) -> Staged:
        return stage.block("Bits", *pair(stage, a, b), op=side)


@operator("bitwise_not")
def bitwise_not(stage: Stage, x: Staged) -> Staged:
    """Not, of every bit."""
    if x.dtype == "bool":
        return stage.block("Not", x)
    bits = stage.constant(~np.zeros((), x.dtype))
    return stage.block("Bits", x, bits, op="xor")


for _name, _kind in _UNARY.items():
    _enter_unary(_name, _kind)
for _name, _kind in _BINARY.items():
    _enter_binary(_name, _kind)
for _name, _kind in _LOGIC.items():
    _enter_logic(_name, _kind)
_enter_shift("lshift", "left")
_enter_shift("rshift", "right")


@operator("add")
def add(stage: Stage, a: Operand, b: Operand, alpha: Operand = 1) -> Staged:
    """``a + alpha * b``."""
    a, b = pair(stage, a, b)
    return stage.block("Add", a, b if alpha == 1 else b * alpha)


@operator("sub", "subtract")
def sub(stage: Stage, a: Operand, b: Operand, alpha: Operand = 1) -> Staged:
    """``a - alpha * b``."""
    a, b = pair(stage, a, b)
    return stage.block("Sub", a, b if alpha == 1 else b * alpha)


@operator("rsub")
def rsub(stage: Stage, a: Operand, b: Operand, alpha: Operand = 1) -> Staged:
    """``b - alpha * a``."""
    return sub(stage, b, a, alpha)


@operator("div", "divide", "true_divide")
def div(stage: Stage, a: Operand, b: Operand, rounding_mode: str | None = None) -> Staged:
    """``a / b``, rounded down or towards 0 where the mode says so."""
    quotient = stage.block("Div", *pair(stage, a, b))
    if rounding_mode is None:
        return quotient
    whole = stage.block("Floor", quotient) if rounding_mode == "floor" else trunc(stage, quotient)
    integers = all(not x.is_float for x in (a, b) if isinstance(x, Staged))
    integers &= not any(isinstance(x, float) for x in (a, b))
    return stage.cast(whole, "int64") if integers else whole


@operator("floor_divide")
def floor_divide(stage: Stage, a: Operand, b: Operand) -> Staged:
    """``floor(a / b)``."""
    return div(stage, a, b, rounding_mode="floor")


@operator("trunc", "fix")
def trunc(stage: Stage, x: Staged) -> Staged:
    """Rounded towards 0."""
    return stage.block("Mul", stage.block("Sign", x), stage.block("Floor", stage.block("Abs", x)))


@operator("frac")
def frac(stage: Stage, x: Staged) -> Staged:
    """What truncation leaves."""
    return x - trunc(stage, x)


@operator("fmod")
def fmod(stage: Stage, a: Operand, b: Operand) -> Staged:
    """The rest of ``a / b``, with the sign of ``a``."""
    a, b = pair(stage, a, b)
    sign = stage.block("Where", a < 0, a.like(-1), a.like(1))
    return sign * stage.block("Mod", a * sign, stage.block("Abs", b))


@operator("fmax")
def fmax(stage: Stage, a: Operand, b: Operand) -> Staged:
    """The larger of two, the first one of equals; a number rather than NaN."""
    a, b = pair(stage, a, b)
    return stage.block("Where", stage.block("Or", a >= b, stage.block("IsNaN", b)), a, b)


@operator("fmin")
def fmin(stage: Stage, a: Operand, b: Operand) -> Staged:
    """The smaller of two, the first one of equals; a number rather than NaN."""
    a, b = pair(stage, a, b)
    return stage.block("Where", stage.block("Or", a <= b, stage.block("IsNaN", b)), a, b)


@operator("round")
def round_(stage: Stage, x: Staged, decimals: int = 0) -> Staged:
    """The nearest whole number, or the nearest with some decimals."""
    if not decimals:
        return stage.block("Round", x)
    return stage.block("Round", x * 10.0**decimals) / 10.0**decimals


@operator("reciprocal")
def reciprocal(stage: Stage, x: Staged) -> Staged:
    """``1 / x``."""
    return 1.0 / x if x.is_float else 1.0 / stage.cast(x, "float32")


@operator("rsqrt")
def rsqrt(stage: Stage, x: Staged) -> Staged:
    """``1 / sqrt(x)``."""
    return 1.0 / stage.block("Sqrt", x)


@operator("exp2")
def exp2(stage: Stage, x: Staged) -> Staged:
    """``2 ** x``."""
    return stage.block("Exp", x * math.log(2))


@operator("log2")
def log2(stage: Stage, x: Staged) -> Staged:
    """The logarithm to the base 2."""
    return stage.block("Log", x) * (1 / math.log(2))


@operator("log10")
def log10(stage: Stage, x: Staged) -> Staged:
    """The logarithm to the base 10."""
    return stage.block("Log", x) * (1 / math.log(10))


@operator("logaddexp")
def logaddexp(stage: Stage, a: Staged, b: Staged) -> Staged:
    """``log(exp(a) + exp(b))``."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    both = stage.block("Stack", *(stage.broadcast(x, shape) for x in (a, b)), axis=0)
    return stage.block("LogSumExp", both, axis=(0,))


@operator("logaddexp2")
def logaddexp2(stage: Stage, a: Staged, b: Staged) -> Staged:
    """``log2(2 ** a + 2 ** b)``."""
    return logaddexp(stage, a * math.log(2), b * math.log(2)) * (1 / math.log(2))


@operator("hypot")
def hypot(stage: Stage, a: Staged, b: Staged) -> Staged:
    """``sqrt(a ** 2 + b ** 2)``, without squares that are too large or too small."""
    larger = stage.block("Maximum", stage.block("Abs", a), stage.block("Abs", b))
    usable = stage.block("And", larger > 0, stage.block("IsFinite", larger))
    scale = stage.block("Where", usable, larger, larger.like(1))
    scale = stage.block("StopGradient", scale, name="numerical stability")
    squares = stage.block("Square", a / scale) + stage.block("Square", b / scale)
    return stage.block("Sqrt", squares) * scale


@operator("sinc", "special_sinc")
def sinc(stage: Stage, x: Staged) -> Staged:
    """``sin(pi * x) / (pi * x)``, and 1 at 0."""
    zero = stage.block("Equal", x, x.like(0))
    angle = stage.block("Where", zero, x.like(1), x) * math.pi
    return stage.block("Where", zero, x.like(1), stage.block("Sin", angle) / angle)


@operator("deg2rad")
def deg2rad(stage: Stage, x: Staged) -> Staged:
    """Degrees as radians."""
    return x * (math.pi / 180)


@operator("rad2deg")
def rad2deg(stage: Stage, x: Staged) -> Staged:
    """Radians as degrees."""
    return x * (180 / math.pi)


@operator("erfc")
def erfc(stage: Stage, x: Staged) -> Staged:
    """``1 - erf(x)``."""
    return 1.0 - stage.block("Erf", x)


@operator("lerp")
def lerp(stage: Stage, start: Staged, end: Staged, weight: Operand) -> Staged:
    """``start + weight * (end - start)``."""
    return start + (end - start) * weight


@operator("addcmul")
def addcmul(stage: Stage, x: Staged, a: Staged, b: Staged, value: float = 1) -> Staged:
    """``x + value * a * b``."""
    return add(stage, x, a * b, value)


@operator("addcdiv")
def addcdiv(stage: Stage, x: Staged, a: Staged, b: Staged, value: float = 1) -> Staged:
    """``x + value * a / b``."""
    return add(stage, x, a / b, value)


enter({
    "xlogy": lambda stage, x, y: times_logarithm(*pair(stage, x, y)),
    "special_xlogy": lambda stage, x, y: times_logarithm(*pair(stage, x, y)),
    "special_xlog1py": lambda stage, x, y: times_logarithm(*pair(stage, x, y), "Log1p", -1.0),
})  # fmt: skip


@operator("clamp", "clip")
def clamp(
    stage: Stage, x: Staged, min: Operand | None = None, max: Operand | None = None
) -> Staged:
    """``x`` between two bounds, which may be values."""
    if not isinstance(min, Staged) and not isinstance(max, Staged) and x.is_float:
        return stage.block("Clip", x, min=_bound(min), max=_bound(max))
    if min is not None:
        x = _limited(stage, "Less", *pair(stage, x, min))
    return x if max is None else _limited(stage, "Greater", *pair(stage, x, max))


def _limited(stage: Stage, kind: str, x: Staged, bound: Staged) -> Staged:
    """``x`` unless it is beyond a bound, to which gradient goes there alone; a bound may be NaN."""
    beyond = stage.block(kind, x, bound)
    if bound.is_float and bound.array is None:
        beyond = stage.block("Or", beyond, stage.block("IsNaN", bound))
    return stage.block("Where", beyond, bound, x)


@operator("clamp_min")
def clamp_min(stage: Stage, x: Staged, min: Operand) -> Staged:
    """``x`` no lower than a bound."""
    return clamp(stage, x, min)


@operator("clamp_max")
def clamp_max(stage: Stage, x: Staged, max: Operand) -> Staged:
    """``x`` no higher than a bound."""
    return clamp(stage, x, None, max)


def _bound(value: Any) -> float | None:
    return None if value is None else float(value)


@operator("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(stage: Stage, condition: Staged, a: Operand, b: Operand) -> Staged:
    """``a`` where the condition is true, else ``b``."""
    if not isinstance(a, Staged) and not isinstance(b, Staged):
        kind = "float32" if isinstance(a, float) or isinstance(b, float) else "int64"
        a = stage.cast(like(stage, a, condition), kind)
    return stage.block("Where", condition, *pair(stage, a, b))


@operator("masked_fill")
def masked_fill(stage: Stage, x: Staged, mask: Staged, value: Operand) -> Staged:
    """``x`` with a number where the mask is true."""
    filled = stage.cast(like(stage, value, x), x.dtype)
    return stage.block("Where", stage.cast(mask, "bool"), filled, x)


@operator("nan_to_num")
def nan_to_num(
    stage: Stage,
    x: Staged,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Staged:
    """``x`` with numbers in place of NaN and infinity."""
    largest = float(np.finfo(x.dtype).max)
    bounds = [(np.inf, largest if posinf is None else posinf)]
    bounds += [(-np.inf, -largest if neginf is None else neginf)]
    for bound, value in bounds:
        x = stage.block("Where", stage.block("Equal", x, x.like(bound)), x.like(value), x)
    return stage.block("Where", stage.block("IsNaN", x), x.like(nan or 0.0), x)


@operator("logit", "special_logit")
def logit(stage: Stage, x: Staged, eps: float | None = None) -> Staged:
    """``log(x / (1 - x))``."""
    if eps is not None:
        x = stage.block("Clip", x, min=float(eps), max=1 - float(eps))
    return stage.block("Log", x / (1.0 - x))


@operator("isclose")
def isclose(
    stage: Stage, a: Staged, b: Staged, rtol: float = 1e-5, atol: float = 1e-8, *_: Any
) -> Staged:
    """``|a - b| <= atol + rtol * |b|``."""
    return stage.block("Abs", a - b) <= stage.block("Abs", b) * rtol + atol


@operator("heaviside")
def heaviside(stage: Stage, x: Staged, values: Staged) -> Staged:
    """0 below 0, 1 above it, and ``values`` at 0."""
    step = stage.cast(x > 0, x.dtype)
    return stage.block("Where", stage.block("Equal", x, x.like(0)), values, step)


@operator("complex", "real", "imag", "view_as_real", "view_as_complex")
def complex_(stage: Stage, *_: Any) -> Staged:
    """Complex numbers have no blocks."""
    raise UnsupportedError("complex numbers", "values are real")
