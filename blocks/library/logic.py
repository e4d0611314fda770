"""Comparisons, logic on booleans, and choice. No gradient passes a comparison."""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.elementwise import Elementwise


class Greater(Elementwise):
    """Whether a is larger, ``out = a > b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = ">"
    formula: ClassVar[str] = r"y = [a > b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.greater(a, b)


class GreaterEqual(Elementwise):
    """Whether a is not smaller, ``out = a >= b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≥"
    formula: ClassVar[str] = r"y = [a \ge b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.greater_equal(a, b)


class Less(Elementwise):
    """Whether a is smaller, ``out = a < b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "<"
    formula: ClassVar[str] = r"y = [a < b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.less(a, b)


class LessEqual(Elementwise):
    """Whether a is not larger, ``out = a <= b``, bool; shapes broadcast. No gradient.

    Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≤"
    formula: ClassVar[str] = r"y = [a \le b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.less_equal(a, b)


class Equal(Elementwise):
    """Whether both are equal, ``out = a == b``, bool; shapes broadcast. No gradient.

    NaN equals nothing, itself included. Unwired, b is 0.
    """

    symbol: ClassVar[str] = "="
    formula: ClassVar[str] = r"y = [a = b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.equal(a, b)


class NotEqual(Elementwise):
    """Whether both differ, ``out = a != b``, bool; shapes broadcast. No gradient.

    NaN differs from everything, itself included. Unwired, b is 0.
    """

    symbol: ClassVar[str] = "≠"
    formula: ClassVar[str] = r"y = [a \ne b]"

    def forward(self, xp: Any, a: Any, b: Any = 0) -> Any:
        return xp.not_equal(a, b)


class And(Elementwise):
    """Whether both are true, ``out = a and b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "and"
    formula: ClassVar[str] = r"y = a \land b"

    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        return xp.logical_and(a, b)


class Or(Elementwise):
    """Whether at least one is true, ``out = a or b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "or"
    formula: ClassVar[str] = r"y = a \lor b"

    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        return xp.logical_or(a, b)


class Xor(Elementwise):
    """Whether exactly one is true, ``out = a xor b``; booleans, shapes broadcast. No gradient."""

    symbol: ClassVar[str] = "xor"
    formula: ClassVar[str] = r"y = a \oplus b"

    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        return xp.logical_xor(a, b)


class Not(Elementwise):
    """The opposite, ``out = not x``; booleans. No gradient."""

    symbol: ClassVar[str] = "not"
    formula: ClassVar[str] = r"y = \lnot x"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.logical_not(x)


class IsFinite(Elementwise):
    """Whether x is neither NaN nor infinite, bool. No gradient."""

    symbol: ClassVar[str] = "<∞"
    formula: ClassVar[str] = r"y = [|x| < \infty]"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.isfinite(x)


class Where(Elementwise):
    """Chooses by element, ``out = a`` where the condition is true, else ``b``; shapes broadcast.

    The condition is boolean and gets no gradient; a and b get it where they are chosen, 0
    elsewhere. A NaN made on the way to the side not chosen still spoils the gradient (0 · NaN):
    make the input of that side safe with a Where before it.
    """

    symbol: ClassVar[str] = "if"
    through: ClassVar[str] = "a"
    formula: ClassVar[str] = r"y = \begin{cases} a & c \\ b & \lnot c \end{cases}"

    def forward(self, xp: Any, condition: Any, a: Any, b: Any) -> Any:
        return xp.where(condition, a, b)
