"""Functions by name: activations of layers, which may be layers themselves, and ``keras.ops``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.staged import Staged, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator


_BLOCKS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softplus": "Softplus", "elu": "Elu",
    "gelu": "Gelu", "silu": "Silu", "swish": "Silu", "exponential": "Exp",
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Staged], Staged]] = {
    "softsign": act.softsign,
    "leaky_relu": lambda x: put("LeakyRelu", x, slope=0.2),
    "selu": act.selu,
    "relu6": act.relu6,
    "hard_sigmoid": act.hard_sigmoid,
    **dict.fromkeys(("hard_silu", "hard_swish"), lambda x: x * act.hard_sigmoid(x)),
    "mish": act.mish,
    "log_sigmoid": act.log_sigmoid,
}


def activated(call: LayerCall, x: Staged, key: str = "activation", axis: int = -1) -> Staged:
    """``x`` with the activation that a setting names; the softmax is over ``axis``."""
    name = activation_name(call, key)
    return x if name == "linear" else by_name(call, x, name, axis)


def activation_name(call: LayerCall, key: str) -> str:
    """The activation that a setting names, by itself or as an object of Keras."""
    given = call.config.json(key)
    if isinstance(given, dict):
        given = given.get("config")
    if given is None:
        return "linear"
    if not isinstance(given, str):
        raise call.unsupported(f"its {key} is not one of Keras by name")
    return given


def by_name(call: LayerCall, x: Staged, name: str, axis: int = -1) -> Staged:
    """``x`` with an activation; raises UnsupportedError for one that is not known."""
    if name in _BLOCKS:
        return put(_BLOCKS[name], x, name=name)
    if name in ("softmax", "log_softmax"):
        return put("Softmax" if name == "softmax" else "LogSoftmax", x, axis=axis)
    if name not in _FUNCTIONS:
        raise call.unsupported(f"its activation {name[:80]!r} is not known")
    return _FUNCTIONS[name](x)


def _activation(call: LayerCall) -> Staged:
    name = activation_name(call, "activation")
    known = call.layouts.known(call.x())
    if known is not None and name != "linear" and not name.endswith("softmax"):
        return call.layouts.last(by_name(call, known, name))
    return activated(call, call.x())


def _relu(call: LayerCall) -> Staged:
    """With a slope below 0, a largest value and a threshold."""
    x, slope = call.x(), call.config.number("negative_slope", 0.0)
    if call.config.number("threshold", 0.0):
        raise call.unsupported("it has a threshold")
    y = put("LeakyRelu", x, slope=slope) if slope else put("Relu", x)
    if call.config.json("max_value") is None:
        return y
    return put("Minimum", y, y.like(call.config.number("max_value", 0.0)))


def _softmax(call: LayerCall) -> Staged:
    if isinstance(call.config.json("axis"), list):
        raise call.unsupported("it is over several axes")
    return put("Softmax", call.x(), axis=call.config.whole("axis", -1))


ACTIVATIONS: dict[str, Operator] = {
    "Activation": _activation, "ReLU": _relu, "Softmax": _softmax,
    "LeakyReLU": lambda c: put("LeakyRelu", c.x(), slope=c.config.number("negative_slope", 0.3)),
    "ELU": lambda c: put("Elu", c.x(), alpha=c.config.number("alpha", 1.0)),
    "PReLU": lambda c: put("PRelu", c.x(), c.variable(0, "alpha")),
}  # fmt: skip


_ONE = {
    "Absolute": "Abs", "Exp": "Exp", "Log": "Log", "Negative": "Neg", "Sqrt": "Sqrt",
    "Square": "Square", "Tanh": "Tanh", "Sin": "Sin", "Cos": "Cos", "Sigmoid": "Sigmoid",
    "Relu": "Relu", "Silu": "Silu", "Softplus": "Softplus", "Sign": "Sign",
}  # fmt: skip
_TWO = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "TrueDivide": "Div", "Divide": "Div",
    "Power": "Pow", "Maximum": "Maximum", "Minimum": "Minimum", "Matmul": "MatMul",
}  # fmt: skip
_OVER = {"Sum": "Sum", "Mean": "Mean", "Max": "Max", "Min": "Min", "Logsumexp": "LogSumExp"}
_MEANINGS: dict[str, Callable[[Staged], Staged]] = {
    **{name: partial(put, kind) for name, kind in _ONE.items()},
    "Softsign": act.softsign, "LogSigmoid": act.log_sigmoid, "Selu": act.selu, "Relu6": act.relu6,
    "Log10": lambda x: el.logarithm(x, 10), "Rsqrt": lambda x: 1.0 / put("Sqrt", x),
}  # fmt: skip


def _meaning(function: Callable[[Staged], Staged]) -> Operator:
    return lambda call: function(call.x())


def _two(kind: str) -> Operator:
    return lambda call: put(kind, _operand(call, 0), _operand(call, 1))


def _operand(call: LayerCall, number: int) -> Staged:
    """An argument, a value or a number in the dtype of the other one."""
    given = call.arguments[number] if number < len(call.arguments) else None
    if isinstance(given, Staged):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise call.unsupported("an operand is neither a value nor a number")
    return call.stage.constant(np.asarray(given, call.x(1 - number).dtype))


def _over(kind: str, call: LayerCall) -> Staged:
    axis = call.config.json("axis")
    axis = call.keywords.get("axis", axis)
    axes = None if axis is None else tuple(axis) if isinstance(axis, list) else (axis,)
    keepdims = bool(call.keywords.get("keepdims", call.config.json("keepdims")))
    return put(kind, call.x(), axis=axes, keepdims=keepdims)


OPERATIONS: dict[str, Operator] = {
    **{name: _two(kind) for name, kind in _TWO.items()},
    **{name: partial(_over, kind) for name, kind in _OVER.items()},
    **{name: _meaning(function) for name, function in _MEANINGS.items()},
    "StopGradient": lambda call: el.stopped(call.x(), call.layer.name),
}
