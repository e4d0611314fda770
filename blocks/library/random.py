"""Random numbers: reproducible by seed, new at every step of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import Elementwise, same_shape
from gradwire.blocks.values import FloatDType

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Length = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class _Random(Block):
    """Draws numbers of a shape, or of the shape of ``like`` where that is wired.

    Only the shape of ``like`` is read, so no gradient goes to it.
    """

    abstract: ClassVar[bool] = True

    shape: tuple[Length, ...] = ()
    """Lengths of the axes; of no effect where ``like`` is wired."""
    seed: Seed | None = None
    """Seed: the same numbers for the same seed, shape and step; null draws by the block's name,
    differently for each block."""
    dtype: FloatDType = "float32"
    """Dtype of the numbers."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {} if output is None else same_shape(inputs, output)

    def _shape(self, like: Value | None) -> Shape:
        return self.shape if like is None else tuple(like.shape)


class RandomNormal(_Random):
    """Normal random numbers, ``out = mean + std * z`` with ``z ~ N(0, 1)``.

    Of ``shape``, or of the shape of ``like`` where that is wired; no gradient goes to ``like``.
    """

    symbol: ClassVar[str] = "N"
    formula: ClassVar[str] = r"y \sim \mathcal{N}(\mu, \sigma^2)"

    mean: float = 0.0
    """Mean μ."""
    std: Annotated[float, Field(ge=0)] = 1.0
    """Standard deviation σ, in units of the mean."""

    def label(self) -> str:
        return f"N({self.mean:g}, {self.std:g}²)"

    def forward(self, xp: Namespace, like: Value | None = None) -> Value:
        return self.mean + self.std * xp.random_normal(self._shape(like), self.seed, self.dtype)


class RandomUniform(_Random):
    """Uniform random numbers, ``out = low + (high - low) * u`` with u in [0, 1).

    Of ``shape``, or of the shape of ``like`` where that is wired; no gradient goes to ``like``.
    """

    symbol: ClassVar[str] = "U"
    formula: ClassVar[str] = r"y \sim \mathcal{U}(l, h)"

    low: float = 0.0
    """Lower limit l, included."""
    high: float = 1.0
    """Upper limit h, excluded up to rounding."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")
        return self

    def label(self) -> str:
        return f"U({self.low:g}, {self.high:g})"

    def forward(self, xp: Namespace, like: Value | None = None) -> Value:
        u = xp.random_uniform(self._shape(like), self.seed, self.dtype)
        return self.low + (self.high - self.low) * u


class Dropout(Elementwise):
    """Sets elements to 0 at random, ``out = x / (1 - rate)`` of those that stay.

    In training a new choice at every step, and gradient goes through what stays; in evaluation x
    itself.

    Source: Srivastava et al. 2014.
    """

    symbol: ClassVar[str] = "drop"
    formula: ClassVar[str] = r"y = \frac{m \odot x}{1 - p}, \quad m \sim \mathcal{B}(1 - p)"

    rate: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share p of the elements that are set to 0."""
    seed: Seed | None = None
    """Seed: the same choice for the same seed, shape and step; null draws by the block's name,
    differently for each block."""
    mode: Literal["train", "eval"] = "train"
    """Whether elements are dropped, as in training, or all stay, as in use."""

    def label(self) -> str:
        return f"{self.symbol} {self.rate:g}" if self.mode == "train" else f"{self.symbol} off"

    def forward(self, xp: Namespace, x: Value) -> Value:
        x = xp.as_float(x)
        if self.mode == "eval":
            return x
        stays = xp.random_uniform(x.shape, self.seed) >= self.rate
        return xp.where(stays, x * (1 / (1 - self.rate) if self.rate < 1 else 0.0), 0.0)
