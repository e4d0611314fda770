"""What MXNet computes where it differs. Not run here: from its source.

Source: src/operator/mshadow_op.h (power_grad, power_rgrad, arctan2_grad, ge, le) and the backward
of norm, x / norm, of MXNet 1.
"""

from __future__ import annotations

from typing import ClassVar

from gradwire.runtime.calculus.choices.definitions.operations import (
    PLAIN_ARCTAN2,
    Definition,
    Operations,
    as_written,
    with_rules,
)
from gradwire.runtime.calculus.choices.definitions.tensorflow import one_side
from gradwire.runtime.calculus.primitives.elementwise import ARCTAN2, MAXIMUM, MINIMUM, POWER


class MXNetOperations(Operations):
    """The operations of MXNet that differ."""

    __slots__ = ()
    OTHERS: ClassVar = {
        POWER: with_rules(  # without exceptions
            POWER,
            lambda xp, g, out, a, b: g * (a ** (b - 1) * b),
            lambda xp, g, out, a, b: g * (out * xp.log(a)),
        ),
        MAXIMUM: with_rules(MAXIMUM, *one_side("greater_equal")),
        MINIMUM: with_rules(MINIMUM, *one_side("less_equal")),
        ARCTAN2: PLAIN_ARCTAN2,
    }


DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(("Maximum", "Minimum", "Arctan2", "Norm"), as_written),
    "Pow": lambda xp, block, a, b: xp.power(a, b),
}
