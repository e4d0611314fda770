"""What TensorFlow computes where it differs. Not run here: from its source.

Source: tensorflow/python/ops/math_grad.py (Floor, Ceil, Round, Pow, Maximum, Minimum, Atan2) and
tensorflow/core/kernels/cwise_ops_gradients.h (sqrt), of TensorFlow 2; tf.norm is the root of a sum
of squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from gradwire.runtime.calculus.choices.definitions.operations import (
    Definition,
    Operations,
    as_written,
    closed,
    with_rules,
)
from gradwire.runtime.calculus.primitives.elementwise import (
    ARCTAN2,
    CEIL,
    FLOOR,
    MAXIMUM,
    MINIMUM,
    POWER,
    ROUND,
    SQRT,
)

if TYPE_CHECKING:
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Rule, Value


def one_side(first: str) -> tuple[Rule, Rule]:
    """Rules that send all the gradient to a where ``first(a, b)`` holds, and else to b."""

    def to_a(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
        return xp.where(getattr(xp, first)(a, b), g, xp.zeros_like(g))

    def to_b(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
        return xp.where(getattr(xp, first)(a, b), xp.zeros_like(g), g)

    return to_a, to_b


def _power_exponent(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    """0 for every a that is not above 0."""
    positive = a > 0
    return g * out * xp.where(positive, xp.log(xp.where(positive, a, 1.0)), 0.0)


class TensorFlowOperations(Operations):
    """The operations of TensorFlow that differ."""

    __slots__ = ()
    OTHERS: ClassVar = {
        SQRT: with_rules(  # 0 where 0 arrives, even at 0
            SQRT,
            lambda xp, g, out, x: xp.where(xp.equal(g, 0), xp.zeros_like(g), g / (2 * out)),
        ),
        ROUND: closed(ROUND),
        FLOOR: closed(FLOOR),
        CEIL: closed(CEIL),
        POWER: with_rules(  # 0·a⁻¹ at b = 0
            POWER, lambda xp, g, out, a, b: g * b * a ** (b - 1), _power_exponent
        ),
        MAXIMUM: with_rules(MAXIMUM, *one_side("greater_equal")),
        MINIMUM: with_rules(MINIMUM, *one_side("less_equal")),
        ARCTAN2: with_rules(
            ARCTAN2,
            lambda xp, g, out, a, b: b * (g / (a * a + b * b)),
            lambda xp, g, out, a, b: -a * (g / (a * a + b * b)),
        ),
    }


DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(
        ("Sqrt", "Round", "Floor", "Ceil", "Maximum", "Minimum", "Arctan2", "Norm", "MaxPool1D",
         "MaxPool2D", "MaxPool3D"),
        as_written,
    ),
    "Pow": lambda xp, block, a, b: xp.power(a, b),
}  # fmt: skip
