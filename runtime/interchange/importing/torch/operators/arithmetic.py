"""Arithmetic, comparisons and logic, element by element."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.staged import Staged, put
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Operand,
    enter,
    like,
    of_pair,
    pair,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.operators.table import Operator

_UNARY = {
    "abs": "Abs", "absolute": "Abs", "neg": "Neg", "negative": "Neg", "square": "Square",
    "floor": "Floor", "ceil": "Ceil", "isnan": "IsNaN", "isinf": "IsInf",
    "isfinite": "IsFinite",
}  # fmt: skip
_OF_FLOATS = {
    "exp": "Exp", "expm1": "Expm1", "log": "Log", "log1p": "Log1p", "sqrt": "Sqrt", "sin": "Sin",
    "cos": "Cos", "tan": "Tan", "asin": "Arcsin", "arcsin": "Arcsin", "acos": "Arccos",
    "arccos": "Arccos", "atan": "Arctan", "arctan": "Arctan", "sinh": "Sinh", "cosh": "Cosh",
    "tanh": "Tanh", "asinh": "Arcsinh", "acosh": "Arccosh", "atanh": "Arctanh", "erf": "Erf",
}  # fmt: skip
"""Functions of whole numbers as floats."""
_BINARY = {
    "mul": "Mul", "multiply": "Mul", "remainder": "Mod", "atan2": "Arctan2",
    "arctan2": "Arctan2", "gt": "Greater", "greater": "Greater", "ge": "GreaterEqual",
    "greater_equal": "GreaterEqual", "lt": "Less", "less": "Less", "le": "LessEqual",
    "less_equal": "LessEqual", "eq": "Equal", "ne": "NotEqual", "not_equal": "NotEqual",
}  # fmt: skip
_EXTREMES = {"Maximum": ("maximum", "max.other"), "Minimum": ("minimum", "min.other")}
_LOGIC = ("and", "or", "xor")


def _floating(x: Staged) -> Staged:
    return x if x.is_float else x.stage.cast(x, "float32")


def _of_floats(kind: str) -> Operator:
    return lambda x: put(kind, _floating(x))


def _logical(kind: str) -> Operator:
    return of_pair(lambda a, b: put(kind, a.stage.cast(a, "bool"), b.stage.cast(b, "bool")))


def _div(a: Operand, b: Operand, rounding_mode: str | None = None) -> Staged:
    """Rounded down or towards 0 where the mode says so."""
    y = put("Div", *pair(a, b))
    if rounding_mode is None:
        return y
    y = put("Floor", y) if rounding_mode == "floor" else el.truncated(y)
    floats = (x.is_float if isinstance(x, Staged) else isinstance(x, float) for x in (a, b))
    return y if any(floats) else y.stage.cast(y, "int64")


def _power(a: Staged, b: Staged) -> Staged:
    if not a.is_float and not b.is_float and b.array is not None and (b.array < 0).any():
        raise UnsupportedError("pow", "of whole numbers to a power below 0, as PyTorch refuses it")
    return put("Pow", a, b)


def _clamp(x: Staged, min: Operand | None = None, max: Operand | None = None) -> Staged:
    """Bounds may be values."""
    if not isinstance(min, Staged) and not isinstance(max, Staged) and x.is_float:
        bounds = (None if bound is None else float(bound) for bound in (min, max))
        return put("Clip", x, **dict(zip(("min", "max"), bounds, strict=True)))
    if min is not None:
        x = _limited("Less", *pair(x, min))
    return x if max is None else _limited("Greater", *pair(x, max))


def _limited(kind: str, x: Staged, bound: Staged) -> Staged:
    """``x`` unless it is beyond a bound, to which gradient goes there alone; a bound may be NaN."""
    beyond = put(kind, x, bound)
    if bound.is_float and bound.array is None:
        beyond = put("Or", beyond, put("IsNaN", bound))
    return put("Where", beyond, bound, x)


def _where(condition: Staged, a: Operand, b: Operand) -> Staged:
    if not isinstance(a, Staged) and not isinstance(b, Staged):
        kind = "float32" if isinstance(a, float) or isinstance(b, float) else "int64"
        a = condition.stage.cast(like(a, condition), kind)
    return put("Where", condition, *pair(a, b))


def _complex(*_: object) -> Staged:
    raise UnsupportedError("complex numbers", "values are real")


enter({
    **{name: partial(put, kind) for name, kind in _UNARY.items()},
    **{name: _of_floats(kind) for name, kind in _OF_FLOATS.items()},
    **{name: of_pair(partial(put, kind)) for name, kind in _BINARY.items()},
    **{f"logical_{op}": _logical(op.capitalize()) for op in _LOGIC},
    **{name.format(op): of_pair(partial(el.bitwise, op)) for op in _LOGIC
       for name in ("bitwise_{}", "__{}__")},
    "bitwise_left_shift __lshift__": of_pair(partial(put, "Bits", op="left")),
    "bitwise_right_shift __rshift__": of_pair(partial(put, "Bits", op="right")),
    "bitwise_not": el.inverted, "pow": of_pair(_power),
    "logical_not": lambda x: put("Not", x.stage.cast(x, "bool")),
    **{name: of_pair(partial(el.extreme, kind)) for kind, names in _EXTREMES.items()
       for name in names},
    "sign": lambda x: x if x.dtype == "bool" else put("Sign", x),
    "add": of_pair(partial(el.scaled_sum, "Add")),
    "addcmul": lambda x, a, b, value=1: el.scaled_sum(
        "Add", *pair(x, put("Mul", *pair(a, b))), value
    ),
    "addcdiv": lambda x, a, b, value=1: el.scaled_sum(
        "Add", *pair(x, put("Div", *pair(a, b))), value
    ),
    "sub subtract": of_pair(partial(el.scaled_sum, "Sub")),
    "rsub": lambda a, b, alpha=1: el.scaled_sum("Sub", *pair(b, a), alpha),
    "div divide true_divide": _div,
    "floor_divide": lambda a, b: _div(a, b, "floor"),
    "trunc fix": el.truncated,
    "frac": lambda x: x - el.truncated(x),
    "fmod": of_pair(el.remainder),
    "fmax": of_pair(partial(el.number_of, "GreaterEqual")),
    "fmin": of_pair(partial(el.number_of, "LessEqual")),
    "round": lambda x, decimals=0: (
        put("Round", x * 10.0**decimals) / 10.0**decimals if decimals else put("Round", x)
    ),
    "reciprocal": lambda x: 1.0 / _floating(x),
    "rsqrt": lambda x: 1.0 / put("Sqrt", x),
    "exp2": lambda x: put("Exp", _floating(x) * math.log(2)),
    "log2": lambda x: el.logarithm(x, 2),
    "log10": lambda x: el.logarithm(x, 10),
    "logaddexp": el.log_add_exp,
    "logaddexp2": lambda a, b: el.log_add_exp(
        *(_floating(x) * math.log(2) for x in (a, b))
    ) * (1 / math.log(2)),
    "hypot": el.hypotenuse,
    "sinc special_sinc": lambda x: el.sinc(_floating(x)),
    "deg2rad": lambda x: _floating(x) * (math.pi / 180),
    "rad2deg": lambda x: _floating(x) * (180 / math.pi),
    "erfc": lambda x: 1.0 - put("Erf", x),
    "lerp": lambda start, end, weight: start + (end - start) * weight,
    "xlogy special_xlogy": of_pair(el.times_logarithm),
    "special_xlog1py": of_pair(partial(el.times_logarithm, kind="Log1p", pole=-1.0)),
    "clamp clip clamp_min": _clamp,
    "clamp_max": lambda x, max: _clamp(x, None, max),
    **{f"where.{way}": _where for way in ("self", "ScalarSelf", "ScalarOther", "Scalar")},
    "masked_fill": lambda x, mask, value: put(
        "Where", x.stage.cast(mask, "bool"), x.stage.cast(like(value, x), x.dtype), x
    ),
    "nan_to_num": el.nan_to_num,
    "logit special_logit": lambda x, eps=None: el.logit(_floating(x), eps),
    "isclose": lambda a, b, rtol=1e-5, atol=1e-8, *rest: (
        put("Abs", a - b) <= put("Abs", _floating(b)) * rtol + atol
    ),
    "heaviside": el.heaviside,
    "complex real imag view_as_real view_as_complex": _complex,
})  # fmt: skip
