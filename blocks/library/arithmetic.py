"""Arithmetic of two values, element by element; shapes broadcast, dtypes promote."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Operand, Value


class Add(Elementwise):
    """Elementwise sum, ``out = a + b``; shapes broadcast.

    The gradient goes unchanged to both sides, summed over the axes that were broadcast.
    """

    symbol: ClassVar[str] = "+"
    formula: ClassVar[str] = r"y = a + b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return a + b


class Sub(Elementwise):
    """Elementwise difference, ``out = a - b``; shapes broadcast."""

    symbol: ClassVar[str] = "−"
    formula: ClassVar[str] = r"y = a - b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return a - b


class Mul(Elementwise):
    """Elementwise product, ``out = a * b``; shapes broadcast."""

    symbol: ClassVar[str] = "·"
    formula: ClassVar[str] = r"y = a \, b"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return a * b


class Div(Elementwise):
    """Elementwise quotient, ``out = a / b``; shapes broadcast.

    Integers give float32. Division by zero gives inf or NaN (IEEE 754), and so does its gradient.
    """

    symbol: ClassVar[str] = "÷"
    formula: ClassVar[str] = r"y = \frac{a}{b}"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return a / b


class Mod(Elementwise):
    """Remainder with the sign of b, ``out = a - b * floor(a / b)``; shapes broadcast.

    Exact for floats and integers. A float by 0 is NaN, and so is a remainder of ±inf; by ±inf it
    is a itself, or b where the signs differ. An integer by 0 fails when the diagram runs. The
    gradient is 1 for a and ``-floor(a / b)`` for b: the jumps have none.
    """

    symbol: ClassVar[str] = "mod"
    formula: ClassVar[str] = r"y = a - b \left\lfloor \frac{a}{b} \right\rfloor"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.remainder(a, b)


class Neg(Elementwise):
    """Negative, ``out = -x``; unsigned integers wrap around, booleans count as 0 and 1."""

    symbol: ClassVar[str] = "−x"
    formula: ClassVar[str] = r"y = -x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return -x


class Pow(Elementwise):
    """Elementwise power, ``out = a ** b``; shapes broadcast. Unwired, b is 2.

    A negative a with a fractional b is NaN. The gradient for b is ``out * log(a)``, 0 where
    a = 0; the gradient for a is inf where a = 0 and 0 < b < 1, and 0 where b = 0. Raises
    DTypeError for an integer to a negative constant power.
    """

    symbol: ClassVar[str] = "aᵇ"
    formula: ClassVar[str] = r"y = a^{b}"

    def forward(self, xp: Namespace, a: Value, b: Operand = 2) -> Value:
        return a**b


class Maximum(Elementwise):
    """Elementwise larger one, ``out = max(a, b)``; shapes broadcast.

    The gradient goes to the larger side; where both are equal, half to each. Where one is NaN, the
    output is NaN and both sides get the whole gradient.
    """

    symbol: ClassVar[str] = "max"
    formula: ClassVar[str] = r"y = \max(a, b)"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.maximum(a, b)


class Minimum(Elementwise):
    """Elementwise smaller one, ``out = min(a, b)``; shapes broadcast.

    The gradient goes to the smaller side; where both are equal, half to each. Where one is NaN,
    the output is NaN and both sides get the whole gradient.
    """

    symbol: ClassVar[str] = "min"
    formula: ClassVar[str] = r"y = \min(a, b)"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.minimum(a, b)


class AddN(Elementwise):
    """Sum of any number of values, ``out = terms.0 + terms.1 + …``; shapes broadcast.

    Raises ShapeError without a term.
    """

    symbol: ClassVar[str] = "Σ"
    formula: ClassVar[str] = r"y = \sum_i t_i"

    def forward(self, xp: Namespace, *terms: Value) -> Value:
        if not terms:
            raise ShapeError(
                "Nothing to add.", expected="one term or more", next_step="Wire terms.0."
            )
        return reduce(add, terms)
