"""What JAX computes where it differs. Run against JAX in the tests, on the CPU with 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from gradwire.runtime.calculus.choices.definitions.operations import (
    PLAIN_ARCCOSH,
    PLAIN_ARCSINH,
    PLAIN_ARCTAN2,
    Definition,
    Operations,
    as_written,
    closed,
    with_rules,
)
from gradwire.runtime.calculus.primitives.elementwise import (
    ABS,
    ARCCOSH,
    ARCSINH,
    ARCTAN2,
    CEIL,
    DIVIDE,
    FLOOR,
    MAXIMUM,
    MINIMUM,
    POWER,
    REMAINDER,
    ROUND,
    SIGN,
    TANH,
)

if TYPE_CHECKING:
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.primitives.base import Axis
    from gradwire.runtime.calculus.value import Operand, Rule, Value


def _balanced(x: str, other: str) -> Rule:
    """``g`` times 1 for the winner, 1/2 for a tie and 0 else: ∞ times 0 is NaN."""

    def rule(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
        sides = {"a": a, "b": b}
        share = xp.where(xp.equal(sides[other], out), 0.5, xp.ones_like(g))
        return g * xp.where(xp.equal(sides[x], out), share, xp.zeros_like(g))

    return rule


def _remainder_divisor(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    """Of the remainder with the sign of a, to which b is added where the signs differ."""
    quotient = a / b
    whole = xp.sign(quotient) * xp.floor(xp.abs(quotient))
    apart = xp.logical_xor((a < 0) & xp.logical_not(xp.isnan(out)), b < 0) & xp.not_equal(out, 0)
    return -g * whole + xp.where(apart, g, xp.zeros_like(g))


class JaxOperations(Operations):
    """The operations of JAX that differ."""

    __slots__ = ()
    OTHERS: ClassVar = {
        ABS: with_rules(ABS, lambda xp, g, out, x: xp.where(x >= 0, g, -g)),
        TANH: with_rules(TANH, lambda xp, g, out, x: (g + g * out) * (1 - out)),
        ROUND: closed(ROUND), FLOOR: closed(FLOOR), CEIL: closed(CEIL), SIGN: closed(SIGN),
        DIVIDE: with_rules(
            DIVIDE, DIVIDE.rules[0], lambda xp, g, out, a, b: -g * a * (1 / xp.square(b))
        ),
        REMAINDER: with_rules(REMAINDER, REMAINDER.rules[0], _remainder_divisor),
        POWER: with_rules(  # 0·a⁻¹ at b = 0
            POWER, lambda xp, g, out, a, b: g * (b * a ** (b - 1)),
            lambda xp, g, out, a, b: g * (xp.log(xp.where(xp.equal(a, 0), 1.0, a)) * out),
        ),
        MAXIMUM: with_rules(MAXIMUM, _balanced("a", "b"), _balanced("b", "a")),
        MINIMUM: with_rules(MINIMUM, _balanced("a", "b"), _balanced("b", "a")),
        ARCTAN2: PLAIN_ARCTAN2, ARCSINH: PLAIN_ARCSINH, ARCCOSH: PLAIN_ARCCOSH,
    }  # fmt: skip
    # The last is kept only where it is at least as large as the new one.
    WINS = staticmethod(lambda new, best: new.trace.xp.logical_not(best >= new))

    def clip(self, x: Operand, lo: float | None = None, hi: float | None = None) -> Value:
        """``min(max(x, lo), hi)``: a limit is a tie."""
        x = self.asarray(x)
        raised = x if lo is None else self.maximum(lo, x)
        return raised if hi is None else self.minimum(hi, raised)

    def logsumexp(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``log Σ e^(x − max x) + max x``."""
        xp, x = self.xp, self.as_float(x)
        top = xp.stop_gradient(xp.max(x, axis, keepdims=True))
        shift = xp.where(xp.isfinite(top), top, 0.0)
        found = xp.log(xp.sum(xp.exp(x - shift), axis, keepdims=True)) + shift
        return found if keepdims else xp.sum(found, axis)


DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(
        ("Abs", "MeanAbsoluteError", "Tanh", "Round", "Floor", "Ceil", "Sign", "Maximum", "Minimum",
         "Clip", "Arctan2", "Arcsinh", "Arccosh", "Norm", "LogSumExp", "MaxPool1D",
         "MaxPool2D", "MaxPool3D"),
        as_written,
    ),
    "Div": lambda xp, block, a, b: xp.divide(a, b),
    "Mod": lambda xp, block, a, b: xp.remainder(a, b),
    "Pow": lambda xp, block, a, b: xp.power(a, b),
    "LeakyRelu": lambda xp, block, x: xp.where(x >= 0, x, block.slope * x),
}  # fmt: skip
