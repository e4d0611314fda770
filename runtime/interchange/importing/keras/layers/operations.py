"""Functions of ``keras.ops`` that stand between layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import elementwise as el
from gradwire.runtime.interchange.importing.staged import Staged, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator

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
    given: Any = call.arguments[number] if number < len(call.arguments) else None
    if isinstance(given, Staged):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise call.unsupported("an operand is neither a value nor a number")
    return call.stage.constant(np.asarray(given, call.x(1 - number).dtype))


def _over(kind: str, call: LayerCall) -> Staged:
    axis: Any = call.config.json("axis")
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
