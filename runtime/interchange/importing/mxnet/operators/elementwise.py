"""Functions of single elements: one input, and an output of its shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softsign": "Softsign", "exp": "Exp",
    "log": "Log", "log1p": "Log1p", "expm1": "Expm1", "sqrt": "Sqrt", "square": "Square",
    "abs": "Abs", "negative": "Neg", "_np_negative": "Neg", "sign": "Sign", "floor": "Floor",
    "ceil": "Ceil", "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Arcsin",
    "arccos": "Arccos", "arctan": "Arctan", "sinh": "Sinh", "cosh": "Cosh", "arcsinh": "Arcsinh",
    "arccosh": "Arccosh", "arctanh": "Arctanh", "erf": "Erf",
}  # fmt: skip
_ACTIVATIONS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus",
    "softsign": "softsign", "log_sigmoid": "log_sigmoid", "mish": "Mish",
}  # fmt: skip
_DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")


def _one_block(kind: str) -> Operator:
    return lambda call: call.block(kind, call.x())


def _identity(call: Call) -> Staged:
    return call.x()


def _stop(call: Call) -> Staged:
    stopped = call.block("StopGradient", call.x())
    call.stage.remark("cut", f"{call.node.operator} stops the gradient.", stopped)
    return stopped


def softsign(call: Call, x: Staged) -> Staged:
    """``x / (1 + |x|)``."""
    return call.block("Div", x, call.stage.block("Abs", x) + 1.0)


def _activation(call: Call) -> Staged:
    kind, x = call.choice("act_type", _ACTIVATIONS, ""), call.x()
    if kind == "softsign":
        return softsign(call, x)
    if kind == "log_sigmoid":
        return call.block("Neg", call.stage.block("Softplus", -x))
    return call.block(kind, x)


def _truncated(call: Call) -> Staged:
    x = call.x()
    return call.block("Mul", call.stage.block("Sign", x), _floor(call, call.stage.block("Abs", x)))


def _away_from_zero(call: Call) -> Staged:
    x = call.x()
    size = _floor(call, call.stage.block("Abs", x) + 0.5)
    return call.block("Mul", call.stage.block("Sign", x), size)


def _ties_down(call: Call) -> Staged:
    return call.block("Ceil", call.x() - 0.5)


def _floor(call: Call, x: Staged) -> Staged:
    return call.stage.block("Floor", x)


def _root_of_inverse(call: Call) -> Staged:
    return call.block("Pow", call.x(), call.x().like(-0.5))


def _inverse(call: Call) -> Staged:
    return call.block("Div", call.x().like(1.0), call.x())


def _log_to(base: float) -> Operator:
    return lambda call: call.block("Log", call.x()) * (1.0 / math.log(base))


def _times(factor: float) -> Operator:
    return lambda call: call.block("Mul", call.x(), call.x().like(factor))


def _clip(call: Call) -> Staged:
    low, high = (call.attributes.number(key) for key in ("a_min", "a_max"))
    return call.block("Clip", call.x(), min=low, max=high)


def _hard_sigmoid(call: Call) -> Staged:
    slope, offset = call.attributes.number("alpha", 0.2), call.attributes.number("beta", 0.5)
    return call.block("Clip", call.x() * slope + offset, min=0.0, max=1.0)


def _smooth_l1(call: Call) -> Staged:
    x, width = call.x(), call.attributes.number("scalar", 1.0) ** 2
    size = call.stage.block("Abs", x)
    near = call.stage.block("Square", x) * (0.5 * width)
    return call.block("Where", size < 1.0 / width, near, size - 0.5 / width)


def _cast(call: Call) -> Staged:
    dtype = call.choice("dtype", {name: name for name in _DTYPES}, "")
    return call.stage.cast(call.x(), dtype)


def _filled(number: float) -> Operator:
    def fill(call: Call) -> Staged:
        x = call.x()
        return call.stage.broadcast(x.like(number), x.shape)

    return fill


def _not(call: Call) -> Staged:
    x = call.x()
    return call.stage.cast(call.block("Equal", x, x.like(0)), x.dtype)


OPERATORS: dict[str, Operator] = {name: _one_block(kind) for name, kind in _BLOCKS.items()}
OPERATORS |= {
    "softsign": lambda call: softsign(call, call.x()),
    "Activation": _activation,
    "identity": _identity, "_copy": _identity, "_identity_with_attr_like_rhs": _identity,
    "BlockGrad": _stop, "stop_gradient": _stop,
    "Cast": _cast, "cast": _cast, "amp_cast": _cast,
    "fix": _truncated, "trunc": _truncated, "round": _away_from_zero, "rint": _ties_down,
    "rsqrt": _root_of_inverse, "reciprocal": _inverse,
    "log2": _log_to(2.0), "log10": _log_to(10.0),
    "degrees": _times(180.0 / math.pi), "radians": _times(math.pi / 180.0),
    "clip": _clip, "hard_sigmoid": _hard_sigmoid, "smooth_l1": _smooth_l1,
    "zeros_like": _filled(0.0), "ones_like": _filled(1.0), "logical_not": _not,
}  # fmt: skip
