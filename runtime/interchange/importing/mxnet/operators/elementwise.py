"""Functions of single elements: one input, and an output of its shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log",
    "log1p": "Log1p", "expm1": "Expm1", "sqrt": "Sqrt", "square": "Square", "abs": "Abs",
    "negative": "Neg", "_np_negative": "Neg", "sign": "Sign", "floor": "Floor", "ceil": "Ceil",
    "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Arcsin", "arccos": "Arccos",
    "arctan": "Arctan", "sinh": "Sinh", "cosh": "Cosh", "arcsinh": "Arcsinh",
    "arccosh": "Arccosh", "arctanh": "Arctanh", "erf": "Erf",
}  # fmt: skip
_ACTIVATIONS: dict[str, Callable[[Staged], Staged]] = {
    "relu": partial(put, "Relu"), "sigmoid": partial(put, "Sigmoid"),
    "tanh": partial(put, "Tanh"), "softrelu": partial(put, "Softplus"),
    "mish": partial(put, "Mish"), "softsign": act.softsign, "log_sigmoid": act.log_sigmoid,
}  # fmt: skip
_DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")


def _one(function: Callable[[Staged], Staged]) -> Operator:
    return lambda call: function(call.x())


def _smooth_l1(call: MXNetCall) -> Staged:
    x, width = call.x(), call.attributes.number("scalar", 1.0) ** 2
    size = put("Abs", x)
    near = put("Square", x) * (0.5 * width)
    return put("Where", size < 1.0 / width, near, size - 0.5 / width)


def _filled(number: float) -> Operator:
    return _one(lambda x: x.stage.broadcast(x.like(number), x.shape))


OPERATORS: dict[str, Operator] = {
    **{name: _one(partial(put, kind)) for name, kind in _BLOCKS.items()},
    "softsign": _one(act.softsign),
    "Activation": lambda c: c.choice("act_type", _ACTIVATIONS, "")(c.x()),
    **dict.fromkeys(("identity", "_copy", "_identity_with_attr_like_rhs"), lambda c: c.x()),
    **dict.fromkeys(
        ("BlockGrad", "stop_gradient"), lambda c: el.stopped(c.x(), c.node.operator)
    ),
    **dict.fromkeys(("Cast", "cast", "amp_cast"), lambda c: c.stage.cast(
        c.x(), c.choice("dtype", {name: name for name in _DTYPES}, "")
    )),
    **dict.fromkeys(("fix", "trunc"), _one(el.truncated)),
    "round": _one(el.rounded_away), "rint": _one(lambda x: put("Ceil", x - 0.5)),
    "rsqrt": _one(lambda x: x**-0.5), "reciprocal": _one(lambda x: 1.0 / x),
    "log2": _one(lambda x: el.logarithm(x, 2)), "log10": _one(lambda x: el.logarithm(x, 10)),
    "degrees": _one(lambda x: x * (180 / math.pi)), "radians": _one(lambda x: x * (math.pi / 180)),
    "clip": lambda c: put(
        "Clip", c.x(), min=c.attributes.number("a_min"), max=c.attributes.number("a_max")
    ),
    "hard_sigmoid": lambda c: act.hard_sigmoid(
        c.x(), c.attributes.number("alpha", 0.2), c.attributes.number("beta", 0.5)
    ),
    "smooth_l1": _smooth_l1, "zeros_like": _filled(0.0), "ones_like": _filled(1.0),
    "logical_not": _one(lambda x: x.stage.cast(put("Equal", x, x.like(0)), x.dtype)),
}  # fmt: skip
