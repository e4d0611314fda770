"""Functions of ``keras.ops`` that stand between layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.staged import Staged, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.keras.call import Call, Operator

_ONE = {
    "Absolute": "Abs", "Exp": "Exp", "Log": "Log", "Negative": "Neg", "Sqrt": "Sqrt",
    "Square": "Square", "Tanh": "Tanh", "Sin": "Sin", "Cos": "Cos", "Sigmoid": "Sigmoid",
    "Relu": "Relu", "Silu": "Silu", "Softplus": "Softplus", "Sign": "Sign",
}  # fmt: skip
_TWO = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "TrueDivide": "Div", "Divide": "Div",
    "Power": "Pow", "Maximum": "Maximum", "Minimum": "Minimum", "Matmul": "MatMul",
}  # fmt: skip
_OVER = {"Sum": "Sum", "Mean": "Mean", "Max": "Max", "Min": "Min"}


def _one(kind: str) -> Operator:
    return lambda call: put(kind, call.x())


def _two(kind: str) -> Operator:
    return lambda call: put(kind, _operand(call, 0), _operand(call, 1))


def _operand(call: Call, number: int) -> Staged:
    """An argument, a value or a number in the dtype of the other one."""
    given: Any = call.arguments[number] if number < len(call.arguments) else None
    if isinstance(given, Staged):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise call.unsupported("an operand is neither a value nor a number")
    return call.stage.constant(np.asarray(given, call.x(1 - number).dtype))


def _over(kind: str) -> Operator:
    def reduce(call: Call) -> Staged:
        axis: Any = call.config.json("axis")
        axis = call.keywords.get("axis", axis)
        axes = None if axis is None else tuple(axis) if isinstance(axis, list) else (axis,)
        keepdims = bool(call.keywords.get("keepdims", call.config.json("keepdims")))
        return put(kind, call.x(), axis=axes, keepdims=keepdims)

    return reduce


def _stop(call: Call) -> Staged:
    stopped = put("StopGradient", call.x())
    call.stage.remark("cut", f"{call.layer.name} stops the gradient.", stopped)
    return stopped


OPERATIONS: dict[str, Operator] = {
    **{name: _one(kind) for name, kind in _ONE.items()},
    **{name: _two(kind) for name, kind in _TWO.items()},
    **{name: _over(kind) for name, kind in _OVER.items()},
    "StopGradient": _stop,
}
