"""Blocks that change where gradient goes and how much of it, and one that computes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from blocks.block import Block, Shape
from blocks.elementwise import Elementwise
from blocks.requirements import require_float


class StopGradient(Elementwise):
    """Passes its input through and lets no gradient back, ``out = x``.

    Any shape and dtype; NaN and inf pass. It cuts this path only, never other uses of x, and
    all orders of derivative. What arrives at its output is thrown away.
    """

    symbol: ClassVar[str] = "⊣"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = \text{none}"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.stop_gradient(x)


class GradientScale(Elementwise):
    """Passes its input through and multiplies the gradient by ``scale``, ``out = x``.

    A scale of 0 sends a gradient of 0, which is not a stop: a stop sends none.
    Raises DTypeError unless x is floating.
    """

    symbol: ClassVar[str] = "×∇"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s on the gradient, dimensionless."""

    def label(self) -> str:
        return f"∇×{self.scale:g}"

    def forward(self, xp: Any, x: Any) -> Any:
        require_float(x, "x")
        return xp.surrogate(x, self.scale * x)


class GradientReversal(Elementwise):
    """Passes its input through and turns the gradient round, ``out = x``.

    What lies before it climbs where what lies behind it descends. Raises DTypeError unless x is
    floating. Source: Ganin & Lempitsky, Unsupervised domain adaptation by backpropagation, 2015.
    """

    symbol: ClassVar[str] = "⇄"
    formula: ClassVar[str] = r"y = x, \qquad \bar{x} = -s \, \bar{y}"
    surrogate: ClassVar[bool] = True

    scale: float = 1.0
    """Factor s of the reversed gradient, dimensionless; λ in the paper."""

    def label(self) -> str:
        return f"∇×{-self.scale:g}"

    def forward(self, xp: Any, x: Any) -> Any:
        require_float(x, "x")
        return xp.surrogate(x, -self.scale * x)


class StraightThrough(Elementwise):
    """Has the value of ``hard`` and the gradient of ``soft``, ``out = hard``.

    Both have one shape; hard is cast to the dtype of soft, so that a comparison or a one-hot
    choice may be the hard side. All gradient goes to soft, none to hard. Raises ShapeError where
    the shapes differ, DTypeError unless soft is floating.
    Source: Bengio et al., Estimating or propagating gradients through stochastic neurons, 2013.
    """

    symbol: ClassVar[str] = "≈"
    formula: ClassVar[str] = r"y = h, \qquad \bar{s} = \bar{y}"
    surrogate: ClassVar[bool] = True

    def forward(self, xp: Any, hard: Any, soft: Any) -> Any:
        require_float(soft, "soft")
        return xp.surrogate(xp.astype(hard, soft.dtype), soft)


class Gradient(Block):
    """The gradient itself as a value, ``out = d sum(of) / d wrt``, of wrt's shape and dtype.

    Differentiable again, to any order; stops on the way count. 0, with a warning, where no path
    that passes gradient leads from wrt to of. Raises DTypeError unless both are floating.
    """

    symbol: ClassVar[str] = "∇"
    formula: ClassVar[str] = r"y = \frac{\partial \sum_i f_i}{\partial w}"

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {"wrt": output} if output is not None and inputs.get("wrt", ()) is None else {}

    def forward(self, xp: Any, of: Any, wrt: Any) -> Any:
        return xp.gradient(of, wrt)
