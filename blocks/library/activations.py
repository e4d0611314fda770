"""Activations of networks, element by element or along one axis."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from blocks.elementwise import Elementwise


class Tanh(Elementwise):
    """Hyperbolic tangent, ``out = tanh(x)``, in (-1, 1)."""

    symbol: ClassVar[str] = "tanh"
    formula: ClassVar[str] = r"y = \tanh x"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.tanh(x)


class Sigmoid(Elementwise):
    """Logistic function, ``out = 1 / (1 + e ** -x)``, in (0, 1)."""

    symbol: ClassVar[str] = "σ"
    formula: ClassVar[str] = r"y = \frac{1}{1 + e^{-x}}"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.sigmoid(x)


class Relu(Elementwise):
    """Rectifier, ``out = max(x, 0)``. The gradient at 0 is 0."""

    symbol: ClassVar[str] = "relu"
    formula: ClassVar[str] = r"y = \max(x, 0)"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.relu(x)


class LeakyRelu(Elementwise):
    """Rectifier with a small slope below 0, ``out = x`` for x > 0, else ``slope * x``.

    The gradient at 0 is the slope. Source: Maas, Hannun & Ng, Rectifier nonlinearities improve
    neural network acoustic models, 2013.
    """

    symbol: ClassVar[str] = "lrelu"
    formula: ClassVar[str] = r"y = \begin{cases} x & x > 0 \\ s x & x \le 0 \end{cases}"

    slope: float = 0.01
    """Slope s of the negative side, dimensionless."""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.where(x > 0, x, self.slope * x)


class Elu(Elementwise):
    """Smooth rectifier, ``out = x`` for x > 0, else ``alpha * (e ** x - 1)``.

    Source: Clevert, Unterthiner & Hochreiter, Exponential linear units, 2015.
    """

    symbol: ClassVar[str] = "elu"
    formula: ClassVar[str] = (
        r"y = \begin{cases} x & x > 0 \\ \alpha (e^x - 1) & x \le 0 \end{cases}"
    )

    alpha: float = 1.0
    """Depth α of the negative side, in units of x."""

    def forward(self, xp: Any, x: Any) -> Any:
        x = xp.as_float(x)
        # The branch not taken would overflow and make the gradient NaN.
        return xp.where(x > 0, x, self.alpha * xp.expm1(xp.where(x > 0, 0.0, x)))


class Gelu(Elementwise):
    """Gaussian error linear unit, ``out = x * Φ(x)``, Φ the standard normal distribution.

    With ``tanh``, Φ is approximated as in the source: Hendrycks & Gimpel, Gaussian error linear
    units, 2016.
    """

    symbol: ClassVar[str] = "gelu"
    formula: ClassVar[str] = (
        r"y = \frac{x}{2} \left( 1 + \operatorname{erf} \frac{x}{\sqrt{2}} \right)"
    )

    approximate: Literal["none", "tanh"] = "none"
    """Exact, or by a tanh."""

    def forward(self, xp: Any, x: Any) -> Any:
        if self.approximate == "none":
            return 0.5 * x * (1 + xp.erf(x * math.sqrt(0.5)))
        return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class Silu(Elementwise):
    """Sigmoid linear unit, or swish, ``out = x * sigmoid(x)``."""

    symbol: ClassVar[str] = "silu"
    formula: ClassVar[str] = r"y = \frac{x}{1 + e^{-x}}"

    def forward(self, xp: Any, x: Any) -> Any:
        return x * xp.sigmoid(x)


class Softplus(Elementwise):
    """Smooth rectifier, ``out = log(1 + e ** x)``; doesn't overflow."""

    symbol: ClassVar[str] = "soft+"
    formula: ClassVar[str] = r"y = \ln(1 + e^x)"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.softplus(x)


class Softmax(Elementwise):
    """Positive numbers that sum to 1 along an axis, ``out = e ** x / sum(e ** x)``.

    Doesn't overflow. Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "smax"
    formula: ClassVar[str] = r"y_i = \frac{e^{x_i}}{\sum_j e^{x_j}}"

    axis: int = -1
    """Axis along which they sum to 1; negative counts from the end."""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.softmax(x, axis=self.axis)


class LogSoftmax(Elementwise):
    """Logarithm of softmax, ``out = x - log(sum(e ** x))`` along an axis.

    Doesn't overflow. Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "lsmax"
    formula: ClassVar[str] = r"y_i = x_i - \ln \sum_j e^{x_j}"

    axis: int = -1
    """Axis along which the sum runs; negative counts from the end."""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.log_softmax(x, axis=self.axis)
