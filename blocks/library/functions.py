"""Functions of one value, element by element; integers become float32 where results are real."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import model_validator

from gradwire.blocks.elementwise import Elementwise

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class Abs(Elementwise):
    """Absolute value, ``out = |x|``. The gradient at 0 is 0."""

    symbol: ClassVar[str] = "|x|"
    formula: ClassVar[str] = r"y = |x|"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.abs(x)


class Square(Elementwise):
    """Square, ``out = x * x``."""

    symbol: ClassVar[str] = "x²"
    formula: ClassVar[str] = r"y = x^2"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.square(x)


class Sqrt(Elementwise):
    """Square root, ``out = sqrt(x)``. NaN for x < 0; the gradient at 0 is inf."""

    symbol: ClassVar[str] = "√"
    formula: ClassVar[str] = r"y = \sqrt{x}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sqrt(x)


class Exp(Elementwise):
    """Exponential, ``out = e ** x``."""

    symbol: ClassVar[str] = "eˣ"
    formula: ClassVar[str] = r"y = e^x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.exp(x)


class Expm1(Elementwise):
    """Exponential less 1, ``out = e ** x - 1``, exact near 0."""

    symbol: ClassVar[str] = "eˣ−1"
    formula: ClassVar[str] = r"y = e^x - 1"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.expm1(x)


class Log(Elementwise):
    """Natural logarithm, ``out = log(x)``. -inf at 0, NaN for x < 0."""

    symbol: ClassVar[str] = "ln"
    formula: ClassVar[str] = r"y = \ln x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.log(x)


class Log1p(Elementwise):
    """Natural logarithm of 1 + x, ``out = log(1 + x)``, exact near 0."""

    symbol: ClassVar[str] = "ln1p"
    formula: ClassVar[str] = r"y = \ln(1 + x)"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.log1p(x)


class Sin(Elementwise):
    """Sine, ``out = sin(x)``; x in radians."""

    symbol: ClassVar[str] = "sin"
    formula: ClassVar[str] = r"y = \sin x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sin(x)


class Cos(Elementwise):
    """Cosine, ``out = cos(x)``; x in radians."""

    symbol: ClassVar[str] = "cos"
    formula: ClassVar[str] = r"y = \cos x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.cos(x)


class Tan(Elementwise):
    """Tangent, ``out = tan(x)``; x in radians."""

    symbol: ClassVar[str] = "tan"
    formula: ClassVar[str] = r"y = \tan x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.tan(x)


class Arcsin(Elementwise):
    """Angle whose sine is x, in radians, in [-π/2, π/2].

    NaN for |x| > 1; the gradient at ±1 is inf.
    """

    symbol: ClassVar[str] = "asin"
    formula: ClassVar[str] = r"y = \arcsin x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arcsin(x)


class Arccos(Elementwise):
    """Angle whose cosine is x, in radians, in [0, π].

    NaN for |x| > 1; the gradient at ±1 is -inf.
    """

    symbol: ClassVar[str] = "acos"
    formula: ClassVar[str] = r"y = \arccos x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arccos(x)


class Arctan(Elementwise):
    """Angle whose tangent is x, in radians, in [-π/2, π/2]."""

    symbol: ClassVar[str] = "atan"
    formula: ClassVar[str] = r"y = \arctan x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arctan(x)


class Arctan2(Elementwise):
    """Angle of the point (b, a), ``out = atan2(a, b)`` in radians, in [-π, π]; shapes broadcast.

    The gradient where both are 0 is 0.
    """

    symbol: ClassVar[str] = "atan2"
    formula: ClassVar[str] = r"y = \operatorname{atan2}(a, b)"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        return xp.arctan2(a, b)


class Sinh(Elementwise):
    """Hyperbolic sine, ``out = (e ** x - e ** -x) / 2``, exact near 0."""

    symbol: ClassVar[str] = "sinh"
    formula: ClassVar[str] = r"y = \sinh x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sinh(x)


class Cosh(Elementwise):
    """Hyperbolic cosine, ``out = (e ** x + e ** -x) / 2``."""

    symbol: ClassVar[str] = "cosh"
    formula: ClassVar[str] = r"y = \cosh x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.cosh(x)


class Arcsinh(Elementwise):
    """Inverse hyperbolic sine, ``out = log(x + sqrt(x² + 1))``, exact near 0."""

    symbol: ClassVar[str] = "asinh"
    formula: ClassVar[str] = r"y = \operatorname{arsinh} x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arcsinh(x)


class Arccosh(Elementwise):
    """Inverse hyperbolic cosine, ``out = log(x + sqrt(x² - 1))``.

    NaN for x < 1; the gradient at 1 is inf.
    """

    symbol: ClassVar[str] = "acosh"
    formula: ClassVar[str] = r"y = \operatorname{arcosh} x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arccosh(x)


class Arctanh(Elementwise):
    """Inverse hyperbolic tangent, ``out = log((1 + x) / (1 - x)) / 2``, exact near 0.

    ±inf at ±1, with gradient inf; NaN beyond.
    """

    symbol: ClassVar[str] = "atanh"
    formula: ClassVar[str] = r"y = \operatorname{artanh} x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.arctanh(x)


class Erf(Elementwise):
    """Error function, ``out = 2 / sqrt(π) * ∫₀ˣ e ** -t² dt``, in (-1, 1)."""

    symbol: ClassVar[str] = "erf"
    formula: ClassVar[str] = r"y = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} \, dt"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.erf(x)


class Sign(Elementwise):
    """Sign, ``out = -1, 0 or 1``. Piecewise constant: the gradient is 0."""

    symbol: ClassVar[str] = "sgn"
    formula: ClassVar[str] = r"y = \operatorname{sgn} x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sign(x)


class Round(Elementwise):
    """Nearest whole number, halves to the even one. Piecewise constant: the gradient is 0."""

    symbol: ClassVar[str] = "⌊x⌉"
    formula: ClassVar[str] = r"y = \lfloor x \rceil"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.round(x)


class Floor(Elementwise):
    """Largest whole number not above x. Piecewise constant: the gradient is 0."""

    symbol: ClassVar[str] = "⌊x⌋"
    formula: ClassVar[str] = r"y = \lfloor x \rfloor"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.floor(x)


class Ceil(Elementwise):
    """Smallest whole number not below x. Piecewise constant: the gradient is 0."""

    symbol: ClassVar[str] = "⌈x⌉"
    formula: ClassVar[str] = r"y = \lceil x \rceil"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.ceil(x)


class Clip(Elementwise):
    """Keeps x between two limits, ``out = max(min, min(x, max))``.

    The gradient is 1 between the limits and 0 beyond them; at a limit it is 1, or 0 if the limits
    are ``open``. Integers stay integers. Raises DTypeError where no integer lies between the
    limits.
    """

    symbol: ClassVar[str] = "clip"
    formula: ClassVar[str] = r"y = \min(\max(x, l), u)"

    min: float | None = 0.0
    """Lower limit l, in units of x; null for none."""
    max: float | None = 1.0
    """Upper limit u, in units of x; null for none."""
    open: bool = False
    """Whether the gradient at a limit is 0, as that of PyTorch's hardtanh and relu6 is, and not 1,
    as that of its clamp is."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self

    def label(self) -> str:
        before, after = "()" if self.open else "[]"
        low = "(−∞" if self.min is None else f"{before}{self.min:g}"
        high = "∞)" if self.max is None else f"{self.max:g}{after}"
        return f"{low}, {high}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        if x.dtype.startswith("float"):
            return self._opened(xp, x) if self.open else xp.clip(x, self.min, self.max)
        x = xp.astype(x, "int64") if x.dtype == "bool" else x
        info = np.iinfo(x.dtype)
        low = info.min if self.min is None else max(math.ceil(self.min), info.min)
        high = info.max if self.max is None else min(math.floor(self.max), info.max)
        return xp.clip(x, int(low), int(high))

    def _opened(self, xp: Namespace, x: Value) -> Value:
        y = x if self.min is None else xp.where(x <= self.min, self.min, x)
        return y if self.max is None else xp.where(x >= self.max, self.max, y)
