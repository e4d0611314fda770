"""What MXNet computes where it differs. Not run here: from its source.

Source: src/operator/mshadow_op.h (power_grad, power_rgrad, arctan2_grad, ge, le) and the backward
of norm, x / norm, of MXNet 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.calculus.choices.definitions.operations import (
    Definition,
    as_written,
    with_rules,
)
from gradwire.runtime.calculus.choices.definitions.tensorflow import one_side
from gradwire.runtime.calculus.namespace import Namespace
from gradwire.runtime.calculus.primitives.elementwise import ARCTAN2, MAXIMUM, MINIMUM, POWER

if TYPE_CHECKING:
    from gradwire.runtime.calculus.primitives.base import Axis
    from gradwire.runtime.calculus.value import Operand, Value

_POWER = with_rules(
    POWER,
    lambda xp, g, out, a, b: g * (a ** (b - 1) * b),
    lambda xp, g, out, a, b: g * (out * xp.log(a)),
)
_MAXIMUM = with_rules(MAXIMUM, *one_side("greater_equal"))
_MINIMUM = with_rules(MINIMUM, *one_side("less_equal"))
_ARCTAN2 = with_rules(
    ARCTAN2,
    lambda xp, g, out, a, b: g * (b / (a * a + b * b)),
    lambda xp, g, out, a, b: g * (-a / (a * a + b * b)),
)


class MXNetOperations(Namespace):
    """The operations of MXNet that differ."""

    __slots__ = ()

    def power(self, a: Operand, b: Operand) -> Value:
        """``aᵇ``; gradient b·a^(b − 1) and aᵇ·log a, without exceptions."""
        return self._arithmetic(_POWER, a, b)

    def maximum(self, a: Operand, b: Operand) -> Value:
        """The larger; a tie goes to a, NaN to b."""
        return self._arithmetic(_MAXIMUM, a, b)

    def minimum(self, a: Operand, b: Operand) -> Value:
        """The smaller; a tie goes to a, NaN to b."""
        return self._arithmetic(_MINIMUM, a, b)

    def arctan2(self, a: Operand, b: Operand) -> Value:
        """The angle of the point (b, a); gradient NaN at the origin."""
        return self._arithmetic(_ARCTAN2, a, b, floats=True)

    def norm(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``√Σ x²``; gradient NaN at 0."""
        x = self.as_float(x)
        return self.sqrt(self.sum(x * x, axis, keepdims))


DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(("Maximum", "Minimum", "Arctan2", "Norm"), as_written),
    "Pow": lambda xp, block, a, b: xp.power(a, b),
}
