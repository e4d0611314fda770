"""Recognises functions written with Exp for which a block exists: Sigmoid, Softmax, Softplus, …."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.flow.structure.neighbours import SHAPES, Neighbours, neighbours_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program

_SUMS = ("Add", "AddN", "Mean", "Sum")
_TRANSPARENT = SHAPES | {"Add", "Clip", "Maximum"}
"""Blocks between a sum and the Log or Div that reads it, which may add or enforce an epsilon."""
_MAX_STEPS = 4
"""Maximum number of blocks between the Exp and the numerator of a quotient."""


def function_of(program: Program, exp: InstancePath) -> str:
    """The block type that computes the function written with an Exp block without overflow; empty
    if none is recognised.
    """
    near = neighbours_of(program)
    for wire in near.beyond(exp):
        kind = near.kind(wire.block)
        if kind == "Log1p":
            return "Softplus"
        if kind in _SUMS:
            other = {"a": "b", "b": "a"}.get(wire.port, "")
            one = kind == "Add" and near.is_given(wire.block, other, 1.0)
            if found := _of_sum(near, exp, wire.block, one):
                return found
    return ""


def _of_sum(near: Neighbours, exp: InstancePath, total: InstancePath, one: bool) -> str:
    """As ``function_of``, for a sum of exponentials; ``one`` if it is that of 1 and one of them."""
    for wire in near.beyond(total, _TRANSPARENT):
        kind = near.kind(wire.block)
        if kind == "Log":
            return "Softplus" if one else "LogSumExp"
        if kind == "Div" and wire.port == "b" and one:
            return "Sigmoid"
        if kind == "Div" and wire.port == "b" and _is_numerator(near, exp, wire.block):
            logs = any(near.kind(further.block) == "Log" for further in near.beyond(wire.block))
            return "LogSoftmax" if logs else "Softmax"
    return ""


def _is_numerator(near: Neighbours, exp: InstancePath, quotient: InstancePath) -> bool:
    """Whether an Exp leads to the numerator of a quotient."""
    numerator = near.sources(quotient).get("a")
    return numerator is not None and exp in near.before(numerator.block, _MAX_STEPS)
