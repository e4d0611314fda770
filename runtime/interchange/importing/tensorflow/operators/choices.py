"""Choices between values, and indices as vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import indexing

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
    on, off = call.x(2), call.x(3)
    axis = call.attributes.whole("axis", -1)
    return indexing.one_hot(call.x(0), call.whole(1), on.dtype, axis, on, off)


def _softmax(call: Call) -> Staged:
    return call.block("Softmax", call.x(), axis=-1)


def _log_softmax(call: Call) -> Staged:
    return call.block("LogSoftmax", call.x(), axis=-1)


OPERATORS: dict[str, Operator] = {
    "Select": _select, "SelectV2": _select, "OneHot": _one_hot, "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
}  # fmt: skip
