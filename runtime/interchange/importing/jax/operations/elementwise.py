"""Elementwise primitives; their inputs may be narrower than their result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import block_dtype

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Elementwise
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "abs": "Abs",
    "acos": "Arccos",
    "acosh": "Arccosh",
    "add": "Add",
    "add_any": "Add",
    "asin": "Arcsin",
    "asinh": "Arcsinh",
    "atan": "Arctan",
    "atan2": "Arctan2",
    "atanh": "Arctanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "eq": "Equal",
    "eq_to": "Equal",
    "erf": "Erf",
    "exp": "Exp",
    "expm1": "Expm1",
    "floor": "Floor",
    "ge": "GreaterEqual",
    "gt": "Greater",
    "is_finite": "IsFinite",
    "le": "LessEqual",
    "le_to": "LessEqual",
    "log": "Log",
    "log1p": "Log1p",
    "logistic": "Sigmoid",
    "lt": "Less",
    "lt_to": "Less",
    "max": "Maximum",
    "min": "Minimum",
    "mul": "Mul",
    "ne": "NotEqual",
    "neg": "Neg",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "square": "Square",
    "sub": "Sub",
    "tan": "Tan",
    "tanh": "Tanh",
}


def _block(kind: str) -> Elementwise:
    return lambda stage, params, *inputs: stage.block(kind, *inputs)


def _logic(kind: str, op: str) -> Elementwise:
    """Booleans are combined by one block, integers bit by bit by another."""

    def combined(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
        if a.dtype == "bool":
            return stage.block(kind, a, b)
        return stage.block("Bits", a, b, op=op)

    return combined


def _not(stage: Stage, params: Params, x: Staged) -> Staged:
    if x.dtype == "bool":
        return stage.block("Not", x)
    ones = np.invert(np.zeros((), x.dtype))
    return stage.block("Bits", x, stage.constant(ones), op="xor")


def _shift_right_logical(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if not a.dtype.startswith("u"):
        raise UnsupportedError("shift_right_logical", "it shifts signed integers")
    return stage.block("Bits", a, b, op="right")


def _cast(stage: Stage, params: Params, x: Staged) -> Staged:
    return stage.cast(x, block_dtype(str(np.dtype(params["new_dtype"]))))


def _round(stage: Stage, params: Params, x: Staged) -> Staged:
    if int(params["rounding_method"]) == 1:
        return stage.block("Round", x)
    away = stage.block("Floor", stage.block("Abs", x) + 0.5)
    return stage.block("Sign", x) * away


def _div(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if a.is_float:
        return a / b
    exact = stage.cast(a, "float64") / stage.cast(b, "float64")
    towards_zero = stage.block("Sign", exact) * stage.block("Floor", stage.block("Abs", exact))
    return stage.cast(towards_zero, a.dtype)


def _rem(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    """The remainder with the sign of a; the block's has that of b."""
    size = stage.block("Mod", stage.block("Abs", a), stage.block("Abs", b))
    return stage.block("Where", a < 0, -size, size) if not a.dtype.startswith("u") else size


def _integer_pow(stage: Stage, params: Params, x: Staged) -> Staged:
    power = params["y"]
    if power == 2:
        return stage.block("Square", x)
    if power == -1:
        return 1.0 / x
    return x ** (float(power) if x.is_float else power)


def _rsqrt(stage: Stage, params: Params, x: Staged) -> Staged:
    return 1.0 / stage.block("Sqrt", x)


def _cbrt(stage: Stage, params: Params, x: Staged) -> Staged:
    return stage.block("Sign", x) * stage.block("Abs", x) ** (1 / 3)


def _exp2(stage: Stage, params: Params, x: Staged) -> Staged:
    return stage.block("Exp", x * math.log(2))


def _log2(stage: Stage, params: Params, x: Staged) -> Staged:
    return stage.block("Log", x) * (1 / math.log(2))


def _one_minus_square(stage: Stage, params: Params, x: Staged) -> Staged:
    """``1 - x²``, which is exact near ``|x| = 1`` as a product."""
    return (1.0 + x) * (1.0 - x)


def _polynomial(stage: Stage, params: Params, x: Staged, *coefficients: Staged) -> Staged:
    """``c0 + x (c1 + x (c2 + …))``."""
    found = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = found * x + coefficient
    return found


def _erfc(stage: Stage, params: Params, x: Staged) -> Staged:
    return 1.0 - stage.block("Erf", x)


def _where(stage: Stage, params: Params, which: Staged, *cases: Staged) -> Staged:
    """``cases[which]``; False is 0."""
    if len(cases) == 1:
        return cases[0]
    if which.array is not None and which.size == 1:
        return cases[int(which.array.reshape(()))]
    if which.dtype == "bool":
        return stage.block("Where", which, cases[1], cases[0])
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        chosen = stage.block("Where", which <= number, cases[number], chosen)
    return chosen


def _clamp(stage: Stage, params: Params, low: Staged, x: Staged, high: Staged) -> Staged:
    if all(bound.array is not None and not bound.ndim and x.is_float for bound in (low, high)):
        return stage.block("Clip", x, min=_number(low), max=_number(high))
    return stage.block("Minimum", stage.block("Maximum", x, low), high)


def _number(x: Staged) -> float | None:
    """A bound of a Clip; None where it is infinite."""
    assert x.array is not None
    number = float(x.array)
    return number if math.isfinite(number) else None


def _reduce_precision(stage: Stage, params: Params, x: Staged) -> Staged:
    wanted = (params["exponent_bits"], params["mantissa_bits"])
    known = {(5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}
    if wanted not in known:
        raise UnsupportedError("reduce_precision", f"{wanted} bits are no dtype of blocks")
    return stage.cast(stage.cast(x, known[wanted]), x.dtype)


ELEMENTWISE: dict[str, Elementwise] = {
    **{name: _block(kind) for name, kind in _BLOCKS.items()},
    "and": _logic("And", "and"),
    "cbrt": _cbrt,
    "clamp": _clamp,
    "convert_element_type": _cast,
    "div": _div,
    "erfc": _erfc,
    "exp2": _exp2,
    "integer_pow": _integer_pow,
    "log2": _log2,
    "not": _not,
    "one_minus_square": _one_minus_square,
    "or": _logic("Or", "or"),
    "polynomial": _polynomial,
    "pow": lambda stage, params, a, b: stage.block("Pow", a, stage.cast(b, a.dtype)),
    "reduce_precision": _reduce_precision,
    "rem": _rem,
    "round": _round,
    "rsqrt": _rsqrt,
    "select_n": _where,
    "shift_left": lambda stage, params, a, b: stage.block("Bits", a, b, op="left"),
    "shift_right_arithmetic": lambda stage, params, a, b: stage.block("Bits", a, b, op="right"),
    "shift_right_logical": _shift_right_logical,
    "xor": _logic("Xor", "xor"),
}
