"""Activations of networks, element by element or along one axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.library.sources import Variable

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape, Source
    from gradwire.blocks.symbolic import Namespace, Value

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848, 1.0507009873554804934


class Tanh(Elementwise):
    """Hyperbolic tangent, ``out = tanh(x)``, in (-1, 1)."""

    symbol: ClassVar[str] = "tanh"
    formula: ClassVar[str] = r"y = \tanh x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.tanh(x)


class Sigmoid(Elementwise):
    """Logistic function, ``out = 1 / (1 + e ** -x)``, in (0, 1)."""

    symbol: ClassVar[str] = "σ"
    formula: ClassVar[str] = r"y = \frac{1}{1 + e^{-x}}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sigmoid(x)


class Relu(Elementwise):
    """Rectifier, ``out = max(x, 0)``. The gradient at 0 is 0."""

    symbol: ClassVar[str] = "relu"
    formula: ClassVar[str] = r"y = \max(x, 0)"

    def forward(self, xp: Namespace, x: Value) -> Value:
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

    def forward(self, xp: Namespace, x: Value) -> Value:
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

    def forward(self, xp: Namespace, x: Value) -> Value:
        return _smooth_rectifier(xp, x, self.alpha, 1.0)


class Selu(Elementwise):
    """Scaled smooth rectifier, ``out = λ x`` for x > 0, else ``λ α (e ** x - 1)``.

    λ ≈ 1.0507 and α ≈ 1.6733 keep mean 0 and variance 1 from layer to layer. Source: Klambauer,
    Unterthiner, Mayr & Hochreiter, Self-normalizing neural networks, 2017.
    """

    symbol: ClassVar[str] = "selu"
    formula: ClassVar[str] = (
        r"y = \lambda \begin{cases} x & x > 0 \\ \alpha (e^x - 1) & x \le 0 \end{cases}"
    )

    def forward(self, xp: Namespace, x: Value) -> Value:
        return _SELU_SCALE * _smooth_rectifier(xp, x, _SELU_ALPHA, 1.0)


class Celu(Elementwise):
    """Smooth rectifier of slope 1 at 0: x for x > 0, else ``alpha * (e ** (x / alpha) - 1)``.

    Source: Barron, Continuously differentiable exponential linear units, 2017.
    """

    symbol: ClassVar[str] = "celu"
    formula: ClassVar[str] = (
        r"y = \begin{cases} x & x > 0 \\ \alpha (e^{x / \alpha} - 1) & x \le 0 \end{cases}"
    )

    alpha: Annotated[float, Field(gt=0)] = 1.0
    """Depth α of the negative side, in units of x."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return _smooth_rectifier(xp, x, self.alpha, self.alpha)


class PRelu(Elementwise):
    """Rectifier with a learned slope below 0, ``out = x`` for x > 0, else ``slope * x``.

    The slope broadcasts with x; its own is one number, 0.25. The gradient at 0 is the slope.
    Source: He, Zhang, Ren & Sun, Delving deep into rectifiers, 2015.
    """

    symbol: ClassVar[str] = "prelu"
    formula: ClassVar[str] = r"y = \begin{cases} x & x > 0 \\ s x & x \le 0 \end{cases}"
    ownable: ClassVar[Mapping[str, Source]] = {
        "slope": Variable(initialiser="constant", scale=0.25)
    }

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        shapes = {"x": output, "slope": ()}
        return {n: s for n, s in shapes.items() if s is not None and inputs.get(n, ()) is None}

    def forward(self, xp: Namespace, x: Value, slope: Value) -> Value:
        return xp.where(x > 0, x, slope * x)


class HardSigmoid(Elementwise):
    """Logistic function in straight lines, ``out = max(0, min(alpha * x + beta, 1))``.

    The gradient is alpha on the closed slope, its ends included, and 0 outside.
    """

    symbol: ClassVar[str] = "hσ"
    formula: ClassVar[str] = r"y = \max(0, \min(\alpha x + \beta, 1))"

    alpha: float = 1 / 6
    """Slope α, in units of 1/x."""
    beta: float = 0.5
    """Output β at 0."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.clip(self.alpha * xp.as_float(x) + self.beta, 0.0, 1.0)


class HardSwish(Elementwise):
    """Swish in straight lines, ``out = x * max(0, min(x / 6 + 1 / 2, 1))``.

    Source: Howard et al., Searching for MobileNetV3, 2019.
    """

    symbol: ClassVar[str] = "hsw"
    formula: ClassVar[str] = r"y = x \max(0, \min(\tfrac{x}{6} + \tfrac{1}{2}, 1))"

    def forward(self, xp: Namespace, x: Value) -> Value:
        x = xp.as_float(x)
        return x * xp.clip(x / 6 + 0.5, 0.0, 1.0)


class Mish(Elementwise):
    """Smooth unit that dips below 0, ``out = x * tanh(log(1 + e ** x))``; doesn't overflow.

    Source: Misra, Mish: a self regularized non-monotonic activation function, 2019.
    """

    symbol: ClassVar[str] = "mish"
    formula: ClassVar[str] = r"y = x \tanh \ln(1 + e^x)"

    def forward(self, xp: Namespace, x: Value) -> Value:
        x = xp.as_float(x)
        return x * xp.tanh(xp.softplus(x))


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

    def forward(self, xp: Namespace, x: Value) -> Value:
        if self.approximate == "none":
            return 0.5 * x * (1 + xp.erf(x * math.sqrt(0.5)))
        return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class Silu(Elementwise):
    """Sigmoid linear unit, or swish, ``out = x * sigmoid(x)``."""

    symbol: ClassVar[str] = "silu"
    formula: ClassVar[str] = r"y = \frac{x}{1 + e^{-x}}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return x * xp.sigmoid(x)


class Softplus(Elementwise):
    """Smooth rectifier, ``out = log(1 + e ** x)``; doesn't overflow."""

    symbol: ClassVar[str] = "soft+"
    formula: ClassVar[str] = r"y = \ln(1 + e^x)"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.softplus(x)


class Softmax(Elementwise):
    """Positive numbers that sum to 1 along an axis, ``out = e ** x / sum(e ** x)``.

    Doesn't overflow. Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "smax"
    formula: ClassVar[str] = r"y_i = \frac{e^{x_i}}{\sum_j e^{x_j}}"

    axis: int = -1
    """Axis along which they sum to 1; negative counts from the end."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.softmax(x, axis=self.axis)


class LogSoftmax(Elementwise):
    """Logarithm of softmax, ``out = x - log(sum(e ** x))`` along an axis.

    Doesn't overflow. Raises ShapeError where x has no such axis.
    """

    symbol: ClassVar[str] = "lsmax"
    formula: ClassVar[str] = r"y_i = x_i - \ln \sum_j e^{x_j}"

    axis: int = -1
    """Axis along which the sum runs; negative counts from the end."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.log_softmax(x, axis=self.axis)


def _smooth_rectifier(xp: Namespace, x: Value, depth: float, width: float) -> Value:
    """X above 0, else ``depth * (e ** (x / width) - 1)``."""
    x = xp.as_float(x)
    # The branch not taken would overflow and make the gradient NaN.
    below = xp.where(x > 0, 0.0, x)
    return xp.where(x > 0, x, depth * xp.expm1(below if width == 1 else below / width))
