"""Functions written out with Exp that there are blocks for: Sigmoid, Softplus, Softmax, …."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.flow.structure.neighbours import SHAPES, Neighbours, neighbours_of

if TYPE_CHECKING:
    from runtime.diagram.paths import InstancePath
    from runtime.engine.program import Program

_SUMS = ("Add", "AddN", "Mean", "Sum")
_BESIDES = SHAPES | {"Add", "Clip", "Maximum"}
"""What may stand between a sum and the Log or Div that reads it: a small number is added."""
_NEAR = 4
"""How far before a quotient's numerator the Exp may stand."""


def function_of(program: Program, exp: InstancePath) -> str:
    """The type of block that does the same as what is written with an Exp block, without
    overflowing; empty where none is recognised.
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
    """The same of what reads a sum of exponentials, or of one exponential and ``one``."""
    for wire in near.beyond(total, _BESIDES):
        kind = near.kind(wire.block)
        if kind == "Log":
            return "Softplus" if one else "LogSumExp"
        if kind == "Div" and wire.port == "b" and one:
            return "Sigmoid"
        if kind == "Div" and wire.port == "b" and _is_above(near, exp, wire.block):
            logs = any(near.kind(further.block) == "Log" for further in near.beyond(wire.block))
            return "LogSoftmax" if logs else "Softmax"
    return ""


def _is_above(near: Neighbours, exp: InstancePath, quotient: InstancePath) -> bool:
    """Whether an Exp leads to the numerator of a quotient."""
    numerator = near.sources(quotient).get("a")
    return numerator is not None and exp in near.before(numerator.block, _NEAR)
