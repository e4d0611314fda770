"""Choices between values, and indices as vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator


def _select(call: Call) -> Staged:
    condition, a, b = call.xs(3)
    if call.node.operator == "Select" and condition.ndim == 1 < a.ndim:
        condition = call.stage.reshape(condition, (condition.size, *(1,) * (a.ndim - 1)))
    return call.block("Where", condition, a, b)


def _one_hot(call: Call) -> Staged:
    """A vector for each index, on a new axis."""
    indices, depth = call.x(0), call.whole(1)
    on, off = call.x(2), call.x(3)
    hot = call.block("OneHot", indices, depth=depth, dtype=on.dtype)
    axis = call.attributes.whole("axis", -1)
    if axis not in (-1, indices.ndim):
        order = list(range(indices.ndim))
        order.insert(axis, indices.ndim)
        hot = call.stage.transpose(hot, order)
    known = on.array is not None and off.array is not None
    return hot if known and on.array == 1 and off.array == 0 else hot * (on - off) + off


def _softmax(call: Call) -> Staged:
    return call.block("Softmax", call.x(), axis=-1)


def _log_softmax(call: Call) -> Staged:
    return call.block("LogSoftmax", call.x(), axis=-1)


OPERATORS: dict[str, Operator] = {
    "Select": _select, "SelectV2": _select, "OneHot": _one_hot, "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
}  # fmt: skip
