"""Elementwise primitives; their inputs may be narrower than their result."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import block_dtype
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Elementwise
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "acos": "Arccos", "acosh": "Arccosh", "add": "Add", "add_any": "Add",
    "asin": "Arcsin", "asinh": "Arcsinh", "atan": "Arctan", "atan2": "Arctan2",
    "atanh": "Arctanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "eq": "Equal",
    "eq_to": "Equal", "erf": "Erf", "exp": "Exp", "expm1": "Expm1", "floor": "Floor",
    "ge": "GreaterEqual", "gt": "Greater", "is_finite": "IsFinite", "le": "LessEqual",
    "le_to": "LessEqual", "log": "Log", "log1p": "Log1p", "logistic": "Sigmoid", "lt": "Less",
    "lt_to": "Less", "max": "Maximum", "min": "Minimum", "mul": "Mul", "ne": "NotEqual",
    "neg": "Neg", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt",
    "square": "Square", "sub": "Sub", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
_PRECISIONS = {(5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}


def _block(kind: str, **parameters: str) -> Elementwise:
    return lambda stage, params, *inputs: stage.block(kind, *inputs, **parameters)


def _shift_right_logical(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if not a.dtype.startswith("u"):
        raise UnsupportedError("shift_right_logical", "it shifts signed integers")
    return put("Bits", a, b, op="right")


def _integer_pow(stage: Stage, params: Params, x: Staged) -> Staged:
    power = params["y"]
    if power == 2:
        return put("Square", x)
    if power == -1:
        return 1.0 / x
    return x ** (float(power) if x.is_float else power)


def _clamp(stage: Stage, params: Params, low: Staged, x: Staged, high: Staged) -> Staged:
    """Between bounds, at which the gradient is 0."""
    known = [y.array.reshape(-1)[0] for y in (low, high) if y.array is not None and y.size == 1]
    if x.is_float and len(known) == 2:
        return act.hard_tanh(x, *(float(str(number)) for number in known))
    return el.clip(x, low, high)


def _where(stage: Stage, params: Params, which: Staged, *cases: Staged) -> Staged:
    """``cases[which]``; False is 0."""
    if len(cases) == 1:
        return cases[0]
    if which.array is not None and which.size == 1:
        return cases[int(which.array.reshape(()))]
    if which.dtype == "bool":
        return put("Where", which, cases[1], cases[0])
    chosen = cases[-1]
    for number in range(len(cases) - 2, -1, -1):
        chosen = put("Where", which <= number, cases[number], chosen)
    return chosen


def _reduce_precision(stage: Stage, params: Params, x: Staged) -> Staged:
    wanted = (params["exponent_bits"], params["mantissa_bits"])
    if wanted not in _PRECISIONS:
        raise UnsupportedError("reduce_precision", f"{wanted} bits are no dtype of blocks")
    return stage.cast(stage.cast(x, _PRECISIONS[wanted]), x.dtype)


ELEMENTWISE: dict[str, Elementwise] = {
    **{name: _block(kind) for name, kind in _BLOCKS.items()},
    **{op: lambda _, params, a, b, op=op: el.bitwise(op, a, b) for op in ("and", "or", "xor")},
    "abs": lambda _, params, x: put("Where", x >= 0, x, -x) if x.is_float else put("Abs", x),
    "cbrt": lambda _, params, x: el.cube_root(x),
    "clamp": _clamp,
    "convert_element_type": lambda stage, params, x: stage.cast(
        x, block_dtype(str(np.dtype(params["new_dtype"])))
    ),
    "div": lambda _, params, a, b: el.quotient(a, b),
    "erfc": lambda _, params, x: 1.0 - put("Erf", x),
    "exp2": lambda _, params, x: put("Exp", x * math.log(2)),
    "integer_pow": _integer_pow,
    "log2": lambda _, params, x: el.logarithm(x, 2),
    "not": lambda _, params, x: el.inverted(x),
    "one_minus_square": lambda _, params, x: (1.0 + x) * (1.0 - x),  # exact near ``|x| = 1``
    "polynomial": lambda _, params, x, *given: reduce(lambda y, c: y * x + c, given[::-1]),
    "pow": lambda stage, params, a, b: put("Pow", a, stage.cast(b, a.dtype)),
    "reduce_precision": _reduce_precision,
    "rem": lambda _, params, a, b: el.remainder(a, b),
    "round": lambda _, params, x: (
        put("Round", x) if int(params["rounding_method"]) == 1 else el.rounded_away(x)
    ),
    "rsqrt": lambda _, params, x: 1.0 / put("Sqrt", x),
    "select_n": _where,
    "shift_left": _block("Bits", op="left"),
    "shift_right_arithmetic": _block("Bits", op="right"),
    "shift_right_logical": _shift_right_logical,
}  # fmt: skip
