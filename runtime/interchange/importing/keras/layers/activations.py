"""Activations: by name as a setting of layers, and as layers of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_BLOCKS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softplus": "Softplus", "elu": "Elu",
    "gelu": "Gelu", "silu": "Silu", "swish": "Silu", "exponential": "Exp",
}  # fmt: skip
_SELU = (1.6732632423543772, 1.0507009873554805)


def activated(call: Call, x: Staged, key: str = "activation", axis: int = -1) -> Staged:
    """``x`` with the activation that a setting names; the softmax is over ``axis``."""
    name = activation_name(call, key)
    return x if name == "linear" else by_name(call, x, name, axis)


def activation_name(call: Call, key: str) -> str:
    """The activation that a setting names, by itself or as an object of Keras."""
    given: Any = call.config.json(key)
    if isinstance(given, dict):
        given = given.get("config")
    if given is None:
        return "linear"
    if not isinstance(given, str):
        raise call.unsupported(f"its {key} is not one of Keras by name")
    return given


def by_name(call: Call, x: Staged, name: str, axis: int = -1) -> Staged:
    """``x`` with an activation; raises UnsupportedError for one that is not known."""
    stage = call.stage
    if name in _BLOCKS:
        return stage.block(_BLOCKS[name], x, name=name)
    if name in ("softmax", "log_softmax"):
        return stage.block("Softmax" if name == "softmax" else "LogSoftmax", x, axis=axis)
    if name == "softsign":
        return x / (stage.block("Abs", x) + 1.0)
    if name == "leaky_relu":
        return stage.block("LeakyRelu", x, slope=0.2)
    if name == "selu":
        return stage.block("Elu", x, alpha=_SELU[0]) * _SELU[1]
    if name == "relu6":
        return stage.block("Minimum", stage.block("Relu", x), x.like(6.0))
    if name in ("hard_sigmoid", "hard_silu", "hard_swish"):
        gate = stage.block("Clip", x + 3.0, min=0.0, max=6.0) * (1 / 6)
        return gate if name == "hard_sigmoid" else x * gate
    if name == "mish":
        return x * stage.block("Tanh", stage.block("Softplus", x))
    if name == "log_sigmoid":
        return -stage.block("Softplus", -x)
    raise call.unsupported(f"its activation {name[:80]!r} is not known")


def _activation(call: Call) -> Staged:
    name = activation_name(call, "activation")
    known = call.layouts.known(call.x())
    if known is not None and name != "linear" and not name.endswith("softmax"):
        return call.layouts.last(by_name(call, known, name))
    return activated(call, call.x())


def _relu(call: Call) -> Staged:
    """With a slope below 0, a largest value and a threshold."""
    x, slope = call.x(), call.config.number("negative_slope", 0.0)
    if call.config.number("threshold", 0.0):
        raise call.unsupported("it has a threshold")
    y = call.block("LeakyRelu", x, slope=slope) if slope else call.block("Relu", x)
    if call.config.json("max_value") is None:
        return y
    return call.stage.block("Minimum", y, y.like(call.config.number("max_value", 0.0)))


def _leaky(call: Call) -> Staged:
    return call.block("LeakyRelu", call.x(), slope=call.config.number("negative_slope", 0.3))


def _elu(call: Call) -> Staged:
    return call.block("Elu", call.x(), alpha=call.config.number("alpha", 1.0))


def _softmax(call: Call) -> Staged:
    axis = call.config.json("axis")
    if isinstance(axis, list):
        raise call.unsupported("it is over several axes")
    return call.block("Softmax", call.x(), axis=call.config.whole("axis", -1))


def _prelu(call: Call) -> Staged:
    """A slope below 0 for each element, or shared along axes."""
    x, slope = call.x(), call.variable(0, "alpha")
    return call.block("Where", x > 0.0, x, x * slope)


LAYERS: dict[str, Operator] = {
    "Activation": _activation, "ReLU": _relu, "LeakyReLU": _leaky, "ELU": _elu,
    "Softmax": _softmax, "PReLU": _prelu,
}  # fmt: skip
