"""Blocks that bring numbers in: variables, constants and inputs."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from gradwire.blocks.block import OpenShape, Shape, Source
from gradwire.blocks.values import DType, Json, Tensor, fitted

Length = Annotated[int, Field(ge=0)]
Initialiser = Literal[
    "zeros",
    "ones",
    "constant",
    "normal",
    "uniform",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
]

_LARGEST_EXACT = 2**53
_WIDEST = np.finfo(np.float64).max / 2


def _checked_slider(slider: tuple[float, ...]) -> tuple[float, ...]:
    """The limits of a slider if they are some; raises ValueError."""
    if len(slider) not in (2, 3) or not all(map(math.isfinite, slider)):
        raise ValueError("a slider is [least, largest] or [least, largest, step], all finite")
    least, largest, *steps = slider
    if not least < largest:
        raise ValueError(f"the least number of the slider, {least:g}, is not below {largest:g}")
    if any(not 0.0 < step <= largest - least for step in steps):
        raise ValueError(f"the step of the slider must be above 0, at most {largest - least:g}")
    return slider


Slider = Annotated[tuple[float, ...], AfterValidator(_checked_slider)]
"""The limits within which a number is dragged: least, largest and, if wanted, the step."""


class _Given(Source):
    """A source whose value may be given; value, shape and dtype must agree.

    The value is held in ``dtype``, so that two sources of equal numbers are equal.
    """

    abstract: ClassVar[bool] = True

    value: Tensor | None = None
    """The numbers, as nested lists."""
    shape: tuple[Length | None, ...] | None = None
    """Lengths of the axes, null for a length to be inferred; null for all of it."""
    dtype: DType = "float32"
    """Dtype of the numbers."""
    slider: Slider | None = None
    """Limits within which its numbers are dragged, [least, largest] or [least, largest, step]; a
    single number gets a slider. They bind the hand alone: training may leave them."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.value is None:
            return self
        fits = self.shape is None or (
            len(self.shape) == len(self.value.shape)
            and all(want in (None, n) for want, n in zip(self.shape, self.value.shape, strict=True))
        )
        if not fits:
            shape = "×".join("?" if n is None else str(n) for n in self.shape or ()) or "a scalar"
            raise ValueError(f"shape is {shape}, but the value has shape {self.value.shape}")
        object.__setattr__(self, "value", fitted(self.value, self.dtype))
        return self

    def to_record(self) -> dict[str, Json]:
        record = super().to_record()
        if self.value is not None:
            record["value"] = without_needless_points(self.value)
        return record

    @property
    def open_shape(self) -> OpenShape | None:
        return self.shape if self.value is None else self.value.shape

    @property
    def leaf_dtype(self) -> str:
        return self.dtype

    def label(self) -> str:
        return ""


class Variable(_Given):
    """Numbers that training moves: given by value, or drawn by an initialiser; ``out = value``.

    With neither value nor full shape, the shape is inferred from the diagram. A trainable
    variable of a floating dtype wants a gradient; integers, booleans and frozen ones don't.

    Sources: Glorot & Bengio 2010, He et al. 2015 for ``glorot_*`` and ``he_*``.
    """

    symbol: ClassVar[str] = "θ"
    formula: ClassVar[str] = r"y = \theta"
    kind: ClassVar[Literal["variable", "constant", "input"]] = "variable"

    trainable: bool = True
    """Whether training moves it; frozen otherwise."""
    initialiser: Initialiser = "glorot_uniform"
    """How the numbers are drawn without a value. normal has the standard deviation ``scale``,
    uniform lies in [-scale, scale); glorot and he take their width, times ``scale``, from the
    fans of a weight laid out (units, features, …); constant is ``scale`` everywhere."""
    scale: float = 1.0
    """Width of what the initialiser draws, in units of the variable."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the initialiser; null draws by the block's name, differently for each variable."""

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        if self.value is None and not self.dtype.startswith("float"):
            if self.initialiser not in ("zeros", "ones", "constant"):
                raise ValueError(
                    f"{self.initialiser} draws floats, but the dtype is {self.dtype}; "
                    "choose zeros, ones or constant, or give a value"
                )
            if self.initialiser == "constant":
                fitted(Tensor(self.scale), self.dtype)
        return self

    @property
    def wants_gradient(self) -> bool:
        return self.trainable and self.dtype.startswith("float")

    def data(self, shape: Shape, path: str = "") -> NDArray[np.generic]:
        if self.value is not None:
            return self.value.array
        with np.errstate(over="ignore"):  # numbers that the dtype lacks are infinite
            return _draw(self.initialiser, shape, self.scale, self.seeds(path)).astype(self.dtype)

    def seeds(self, path: str) -> np.random.SeedSequence:
        """What the generator of a variable without a value starts from."""
        entropy = list(path.encode("utf-8", "surrogatepass")) if self.seed is None else self.seed
        return np.random.SeedSequence(entropy)

    def deviation(self, shape: Shape) -> float | None:
        """The standard deviation of what the initialiser draws normally; None where it does not."""
        name, _, law = self.initialiser.rpartition("_")
        return self.scale * _deviation(name, shape) if law == "normal" else None

    def interval(self, shape: Shape) -> tuple[float, float] | None:
        """Where the initialiser draws uniformly, from low up to high; None where it does not."""
        if not self.initialiser.endswith("uniform"):
            return None
        width = _width(self.initialiser, shape, self.scale)
        return None if width > _WIDEST else (-width, width)


class Constant(Source):
    """Fixed numbers, ``out = value``; never trained."""

    symbol: ClassVar[str] = "c"
    formula: ClassVar[str] = r"y = c"
    kind: ClassVar[Literal["variable", "constant", "input"]] = "constant"

    value: Tensor = Tensor(np.float32(0))
    """The numbers, as nested lists."""
    dtype: DType | None = None
    """Dtype of the numbers; null for float32, int64 or bool, by what the value holds."""
    slider: Slider | None = None
    """Limits within which its numbers are dragged, [least, largest] or [least, largest, step]; a
    single number gets a slider."""

    @model_validator(mode="after")
    def _hold(self) -> Self:
        if not self.value.array.size:  # an empty list has no dtype of its own
            object.__setattr__(self, "dtype", self.leaf_dtype)
        object.__setattr__(self, "value", fitted(self.value, self.leaf_dtype))
        return self

    def to_record(self) -> dict[str, Json]:
        record = super().to_record()
        if self.dtype is not None:
            record["value"] = without_needless_points(self.value)
        return record

    @property
    def open_shape(self) -> OpenShape:
        return self.value.shape

    @property
    def leaf_dtype(self) -> str:
        by_kind = {"b": "bool", "i": "int64", "u": "int64", "f": "float32"}
        return self.dtype or by_kind[self.value.array.dtype.kind]

    def label(self) -> str:
        return ""

    def data(self, shape: Shape, path: str = "") -> NDArray[np.generic]:
        return self.value.array


class Input(_Given):
    """Data fed at each run, ``out`` = what is fed; without a feed, its value.

    The shape is that of the value or the feed, and a shape that is given must fit both; null
    stands for any length (a batch). Wants no gradient.
    """

    symbol: ClassVar[str] = "⇥"
    formula: ClassVar[str] = r"y = x_{\text{fed}}"
    kind: ClassVar[Literal["variable", "constant", "input"]] = "input"

    def data(self, shape: Shape, path: str = "") -> NDArray[np.generic] | None:
        return None if self.value is None else self.value.array


def without_needless_points(value: Tensor) -> object:
    """JSON of a value whose dtype is known otherwise: whole numbers without ``.0``."""
    if value.array.dtype.kind != "f" or not value.array.size:
        return value.to_json()
    array = value.array.astype(np.float64)
    negative_zero = np.signbit(array) & (array == 0)
    whole = (array == np.round(array)) & (np.abs(array) <= _LARGEST_EXACT) & ~negative_zero
    return array.astype(np.int64).tolist() if np.all(whole) else value.to_json()


def _draw(
    initialiser: Initialiser, shape: Shape, scale: float, seed: np.random.SeedSequence
) -> NDArray[np.float64]:
    if initialiser in ("zeros", "ones", "constant"):
        fill = {"zeros": 0.0, "ones": 1.0, "constant": scale}[initialiser]
        return np.full(shape, fill)
    name, _, law = initialiser.rpartition("_")
    deviation = scale * _deviation(name, shape)
    generator = np.random.Generator(np.random.Philox(seed))
    if law == "normal":
        return np.asarray(generator.standard_normal(shape) * deviation)
    width = _width(initialiser, shape, scale)
    if width > _WIDEST:  # from end to end no float counts it
        return np.asarray(generator.uniform(-1.0, 1.0, shape) * width)
    return np.asarray(generator.uniform(-width, width, shape))


def _width(initialiser: Initialiser, shape: Shape, scale: float) -> float:
    """Half the interval of a uniform initialiser."""
    name = initialiser.rpartition("_")[0]
    return scale * _deviation(name, shape) * math.sqrt(3.0) if name else scale


def _deviation(name: str, shape: Shape) -> float:
    """Standard deviation that keeps the signal (he: of Relu networks) at its size."""
    if not name:
        return 1.0
    field = math.prod(shape[2:])
    units, features = (shape[0], shape[1]) if len(shape) > 1 else (shape or (1,)) * 2
    fan_in, fan_out = max(features * field, 1), max(units * field, 1)
    return math.sqrt(2.0 / (fan_in + fan_out) if name == "glorot" else 2.0 / fan_in)
