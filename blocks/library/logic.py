"""Comparisons, logic on booleans and bits, and choice. No gradient passes a comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from gradwire.blocks.elementwise import Elementwise

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Operand, Value


class Greater(Elementwise):
    """Whether a is larger, ``out = a > b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = ">"
    formula: ClassVar[str] = r"y = [a > b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.greater(a, b)


class GreaterEqual(Elementwise):
    """Whether a is not smaller, ``out = a >= b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≥"
    formula: ClassVar[str] = r"y = [a \ge b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.greater_equal(a, b)


class Less(Elementwise):
    """Whether a is smaller, ``out = a < b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "<"
    formula: ClassVar[str] = r"y = [a < b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.less(a, b)


class LessEqual(Elementwise):
    """Whether a is not larger, ``out = a <= b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≤"
    formula: ClassVar[str] = r"y = [a \le b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.less_equal(a, b)


class Equal(Elementwise):
    """Whether both are equal, ``out = a == b``, bool; shapes broadcast. No gradient.

    NaN equals nothing, itself included. Unwired, b is 0.
    """

    symbol: ClassVar[str] = "="
    formula: ClassVar[str] = r"y = [a = b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.equal(a, b)


class NotEqual(Elementwise):
    """Whether both differ, ``out = a != b``, bool; shapes broadcast. No gradient.

    NaN differs from everything, itself included. Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≠"
    formula: ClassVar[str] = r"y = [a \ne b]"

    def forward(self, xp: Namespace, a: Value, b: Operand = 0) -> Value:
        return xp.not_equal(a, b)


class And(Elementwise):
    """Whether both are true, ``out = a and b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "and"
    formula: ClassVar[str] = r"y = a \land b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.logical_and(a, b)


class Or(Elementwise):
    """Whether at least one is true, ``out = a or b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "or"
    formula: ClassVar[str] = r"y = a \lor b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.logical_or(a, b)


class Xor(Elementwise):
    """Whether exactly one is true, ``out = a xor b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "xor"
    formula: ClassVar[str] = r"y = a \oplus b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.logical_xor(a, b)


class Not(Elementwise):
    """The opposite, ``out = not x``; booleans. No gradient."""

    symbol: ClassVar[str] = "not"
    formula: ClassVar[str] = r"y = \lnot x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.logical_not(x)


class IsFinite(Elementwise):
    """Whether x is neither NaN nor infinite, bool. No gradient."""

    symbol: ClassVar[str] = "<∞"
    formula: ClassVar[str] = r"y = [|x| < \infty]"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.isfinite(x)


class IsNaN(Elementwise):
    """Whether x is NaN, bool. No gradient."""

    symbol: ClassVar[str] = "NaN?"
    formula: ClassVar[str] = r"y = [x \ne x]"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.isnan(x)


class IsInf(Elementwise):
    """Whether x is infinite, bool; NaN is not. No gradient."""

    symbol: ClassVar[str] = "∞?"
    formula: ClassVar[str] = r"y = [|x| = \infty]"

    sign: Literal["both", "positive", "negative"] = "both"
    """Which infinities count: both, ∞ alone, or −∞ alone."""

    def label(self) -> str:
        return {"both": self.symbol, "positive": "+∞?", "negative": "−∞?"}[self.sign]

    def forward(self, xp: Namespace, x: Value) -> Value:
        if not x.dtype.startswith("float"):
            return xp.logical_not(xp.isfinite(x))
        if self.sign == "both":
            return xp.equal(xp.abs(x), math.inf)
        return xp.equal(x, math.inf if self.sign == "positive" else -math.inf)


class Bits(Elementwise):
    """Bits of two integers combined, ``out = a op b``; shapes broadcast. No gradient.

    Booleans count as one bit, and can't be shifted. ``left`` is a · 2ᵇ without the bits that the
    dtype does not hold, ``right`` is ⌊a / 2ᵇ⌋; a shift by less than 0 has no meaning. Raises
    DTypeError for floats.
    """

    symbol: ClassVar[str] = "bits"
    formula: ClassVar[str] = r"y = a \mathbin{\mathrm{op}} b"

    op: Literal["and", "or", "xor", "left", "right"] = "and"
    """Bits that both have, that one has, that exactly one has; or a shifted left or right by b."""

    def label(self) -> str:
        return {"and": "&", "or": "|", "xor": "^", "left": "≪", "right": "≫"}[self.op]

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        combine = {
            "and": xp.bitwise_and,
            "or": xp.bitwise_or,
            "xor": xp.bitwise_xor,
            "left": xp.left_shift,
            "right": xp.right_shift,
        }
        return combine[self.op](a, b)


class Where(Elementwise):
    """Chooses by element, ``out = a`` where the condition is true, else ``b``; shapes broadcast.

    The condition is boolean and gets no gradient; a and b get it where they are chosen, 0
    elsewhere. A NaN made on the way to the side not chosen still spoils the gradient (0 · NaN):
    make the input of that side safe with a Where before it.
    """

    symbol: ClassVar[str] = "if"
    through: ClassVar[str] = "a"
    formula: ClassVar[str] = r"y = \begin{cases} a & c \\ b & \lnot c \end{cases}"

    def forward(self, xp: Namespace, condition: Value, a: Value, b: Value) -> Value:
        return xp.where(condition, a, b)
