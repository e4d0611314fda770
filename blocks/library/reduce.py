"""Reductions: sums, extremes and norms over axes, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

from pydantic import Field

from gradwire.blocks.block import Block
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.requirements import require_axis

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Axes: TypeAlias = int | Annotated[tuple[int, ...], Field(min_length=1)] | None


class _Reduction(Block):
    """Reduces over axes; an axis that x lacks is a ShapeError."""

    abstract: ClassVar[bool] = True

    axis: Axes = None
    """Axis or axes to reduce, negative from the end; null for all of them."""
    keepdims: bool = False
    """Whether the reduced axes stay, with length 1."""

    def label(self) -> str:
        return self.symbol if self.axis is None else f"{self.symbol} {_axes(self.axis)}"


class Sum(_Reduction):
    """Sum over axes, ``out = sum(x)``. Integers give int64 (uint64 stays), an empty sum is 0."""

    symbol: ClassVar[str] = "Σ"
    formula: ClassVar[str] = r"y = \sum_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.sum(x, axis=self.axis, keepdims=self.keepdims)


class Mean(_Reduction):
    """Mean over axes, ``out = sum(x) / n``. Integers give float32.

    Raises ShapeError where an axis to reduce is empty.
    """

    symbol: ClassVar[str] = "μ"
    formula: ClassVar[str] = r"y = \frac{1}{n} \sum_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.mean(x, axis=self.axis, keepdims=self.keepdims)


class Variance(_Reduction):
    """Mean squared distance from the mean, ``out = mean((x - mean(x))²)``; divides by n.

    Raises ShapeError where an axis to reduce is empty.
    """

    symbol: ClassVar[str] = "σ²"
    formula: ClassVar[str] = r"y = \frac{1}{n} \sum_i (x_i - \mu)^2"

    def forward(self, xp: Namespace, x: Value) -> Value:
        centred = x - xp.mean(x, axis=self.axis, keepdims=True)
        return xp.mean(xp.square(centred), axis=self.axis, keepdims=self.keepdims)


class Prod(_Reduction):
    """Product over axes, ``out = x₁ * x₂ * …``. The gradient is right with zeros among them."""

    symbol: ClassVar[str] = "Π"
    formula: ClassVar[str] = r"y = \prod_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.prod(x, axis=self.axis, keepdims=self.keepdims)


class Max(_Reduction):
    """Largest over axes, ``out = max(x)``. Ties share the gradient evenly.

    Raises ShapeError where an axis to reduce is empty.
    """

    symbol: ClassVar[str] = "max"
    formula: ClassVar[str] = r"y = \max_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.max(x, axis=self.axis, keepdims=self.keepdims)


class Min(_Reduction):
    """Smallest over axes, ``out = min(x)``. Ties share the gradient evenly.

    Raises ShapeError where an axis to reduce is empty.
    """

    symbol: ClassVar[str] = "min"
    formula: ClassVar[str] = r"y = \min_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.min(x, axis=self.axis, keepdims=self.keepdims)


class LogSumExp(_Reduction):
    """Smooth maximum, ``out = log(sum(e ** x))`` over axes; doesn't overflow.

    Raises ShapeError where an axis to reduce is empty.
    """

    symbol: ClassVar[str] = "lse"
    formula: ClassVar[str] = r"y = \ln \sum_i e^{x_i}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.logsumexp(x, axis=self.axis, keepdims=self.keepdims)


class Norm(_Reduction):
    """Euclidean length over axes, ``out = sqrt(sum(x²))``. The gradient at length 0 is 0."""

    symbol: ClassVar[str] = "‖x‖"
    formula: ClassVar[str] = r"y = \sqrt{\sum_i x_i^2}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.norm(x, axis=self.axis, keepdims=self.keepdims)


class AllTrue(_Reduction):
    """Whether all are true over axes, bool; numbers count as true unless 0. No gradient."""

    symbol: ClassVar[str] = "∀"
    formula: ClassVar[str] = r"y = \bigwedge_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.all(x, axis=self.axis, keepdims=self.keepdims)


class AnyTrue(_Reduction):
    """Whether any is true over axes, bool; numbers count as true unless 0. No gradient."""

    symbol: ClassVar[str] = "∃"
    formula: ClassVar[str] = r"y = \bigvee_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.any(x, axis=self.axis, keepdims=self.keepdims)


class _Choice(Block):
    """Finds an index along one axis."""

    abstract: ClassVar[bool] = True

    axis: int | None = None
    """Axis to search, negative from the end; null for x flattened."""
    keepdims: bool = False
    """Whether the searched axis stays, with length 1."""


class ArgMax(_Choice):
    """Index of the largest, int64; the first of equal ones.

    Piecewise constant: no gradient. Raises ShapeError where the axis is empty or missing.
    """

    symbol: ClassVar[str] = "arg↑"
    formula: ClassVar[str] = r"y = \operatorname{arg\,max}_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.argmax(x, axis=self.axis, keepdims=self.keepdims)


class ArgMin(_Choice):
    """Index of the smallest, int64; the first of equal ones.

    Piecewise constant: no gradient. Raises ShapeError where the axis is empty or missing.
    """

    symbol: ClassVar[str] = "arg↓"
    formula: ClassVar[str] = r"y = \operatorname{arg\,min}_i x_i"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.argmin(x, axis=self.axis, keepdims=self.keepdims)


class _Cumulative(Elementwise):
    """Runs along one axis; an axis that x lacks is a ShapeError."""

    abstract: ClassVar[bool] = True

    axis: int = -1
    """Axis along which it runs, negative from the end."""
    reverse: bool = False
    """Whether it runs from the last element to the first."""
    exclusive: bool = False
    """Whether an element is left out of its own result, so that the first one is that of none."""

    def _run(
        self, xp: Namespace, x: Value, cumulate: Callable[[Value, int], Value], of_none: int
    ) -> Value:
        axis = require_axis(x, self.axis)
        out = cumulate(xp.flip(x, axis) if self.reverse else x, axis)
        if self.exclusive:
            widths = tuple((int(i == axis), 0) for i in range(x.ndim))
            out = xp.slice_(xp.pad(out, widths, of_none), (0,) * x.ndim, x.shape)
        return xp.flip(out, axis) if self.reverse else out


class CumulativeSum(_Cumulative):
    """Running sum along an axis, ``out[i] = x[0] + … + x[i]``, of the shape of x.

    Integers give int64 (uint64 stays).
    """

    symbol: ClassVar[str] = "Sₙ"
    formula: ClassVar[str] = r"y_i = \sum_{j \le i} x_j"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return self._run(xp, x, xp.cumulative_sum, 0)


class CumulativeProduct(_Cumulative):
    """Running product along an axis, ``out[i] = x[0] * … * x[i]``, of the shape of x.

    The gradient is right with zeros among the factors. Integers give int64 (uint64 stays).
    """

    symbol: ClassVar[str] = "Pₙ"
    formula: ClassVar[str] = r"y_i = \prod_{j \le i} x_j"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return self._run(xp, x, xp.cumulative_product, 1)


def _axes(axis: int | tuple[int, ...]) -> str:
    return ",".join(str(a) for a in ([axis] if isinstance(axis, int) else axis))
