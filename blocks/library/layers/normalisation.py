"""Normalisation: numbers shifted to mean 0 and scaled to variance 1, then scaled as learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from gradwire.blocks.block import Block, Shape, Source
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.requirements import require_axis

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value

Axes: TypeAlias = int | Annotated[tuple[int, ...], Field(min_length=1)]
Epsilon = Annotated[float, Field(ge=0)]
_ONES, _ZEROS = Variable(initialiser="ones"), Variable(initialiser="zeros")


class _Normalisation(Block):
    """Normalises x, of whose shape the output is."""

    abstract: ClassVar[bool] = True
    family: ClassVar[str] = "layers"

    epsilon: Epsilon = 1e-5
    """Added to the variance, in units of x²; keeps what is constant at 0."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        shape = inputs.get("x") or output
        if shape is None:
            return {}
        rest = self._parameter_shape(shape)
        wanted = {name: shape if name == "x" else rest for name in inputs}
        return {n: s for n, s in wanted.items() if inputs[n] is None and s is not None}

    def _parameter_shape(self, shape: Shape) -> Shape | None:
        """The shape of weight and bias for x of a shape; None where it does not fit."""
        raise NotImplementedError  # each normalisation has its own

    def _require_parameters(self, x: Value, wanted: Shape, **parameters: Value | None) -> None:
        for name, value in parameters.items():
            if value is not None and value.shape != wanted:
                raise ShapeError(
                    f"{name.capitalize()} doesn't fit x of {x.shape}.",
                    expected=str(wanted),
                    got=str(value.shape),
                )


class _OfAxes(_Normalisation):
    """Normalises over axes, whose lengths are the shape of weight and bias."""

    abstract: ClassVar[bool] = True

    axes: Axes = -1
    """Axis or axes that are normalised, negative from the end."""

    def _parameter_shape(self, shape: Shape) -> Shape | None:
        wanted = (self.axes,) if isinstance(self.axes, int) else self.axes
        if not all(-len(shape) <= axis < len(shape) for axis in wanted):
            return None
        return tuple(shape[axis] for axis in sorted({axis % len(shape) for axis in wanted}))

    def _axes(self, x: Value) -> tuple[int, ...]:
        wanted = (self.axes,) if isinstance(self.axes, int) else self.axes
        return tuple(sorted({require_axis(x, axis) for axis in wanted}))


class LayerNorm(_OfAxes):
    """Each row to mean 0 and variance 1, ``out = (x - μ) / sqrt(σ² + ε) * weight + bias``.

    μ and σ² are of the elements along ``axes``, σ² their mean squared distance; weight and bias
    have the lengths of those axes, and are left out where neither wired nor owned. Its own weight
    is 1, its own bias 0. Raises ShapeError where the shapes don't fit.

    Source: Ba, Kiros & Hinton 2016.
    """

    symbol: ClassVar[str] = "norm"
    formula: ClassVar[str] = (
        r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta"
    )
    ownable: ClassVar[Mapping[str, Source]] = {"weight": _ONES, "bias": _ZEROS}

    def forward(
        self, xp: Namespace, x: Value, weight: Value | None = None, bias: Value | None = None
    ) -> Value:
        axes, lengths = self._axes(x), self._parameter_shape(x.shape) or ()
        self._require_parameters(x, lengths, weight=weight, bias=bias)
        out = _standardised(xp, x, axes, self.epsilon)
        return _scaled(xp, out, weight, bias, axes)


class RMSNorm(_OfAxes):
    """Each row to mean square 1, ``out = x / sqrt(mean(x²) + ε) * weight``.

    The mean is of the elements along ``axes``; weight has the lengths of those axes, and is left
    out where neither wired nor owned. Its own weight is 1. Raises ShapeError where the shapes don't
    fit.

    Source: Zhang & Sennrich 2019.
    """

    symbol: ClassVar[str] = "rms"
    formula: ClassVar[str] = (
        r"y = \frac{x}{\sqrt{\frac{1}{n} \sum_i x_i^2 + \varepsilon}} \odot \gamma"
    )
    ownable: ClassVar[Mapping[str, Source]] = {"weight": _ONES}

    def forward(self, xp: Namespace, x: Value, weight: Value | None = None) -> Value:
        axes, lengths = self._axes(x), self._parameter_shape(x.shape) or ()
        self._require_parameters(x, lengths, weight=weight)
        wide = _wide(xp, x)
        square = xp.mean(xp.square(wide), axis=axes, keepdims=True)
        out = xp.astype(wide / xp.sqrt(square + self.epsilon), xp.as_float(x).dtype)
        return _scaled(xp, out, weight, None, axes)


class GroupNorm(_Normalisation):
    """Each group of channels to mean 0 and variance 1, scaled and shifted by channel.

    x (N, C, …), weight and bias (C,), out (N, C, …): the C / groups channels of a group are
    normalised together with all that lies behind them. One channel a group is instance
    normalisation. Scale and bias are left out where neither wired nor owned; its own are 1 and 0.
    Raises ShapeError where groups don't divide C, or the shapes don't fit.

    Source: Wu & He 2018.
    """

    symbol: ClassVar[str] = "group"
    formula: ClassVar[str] = (
        r"y = \frac{x - \mu_g}{\sqrt{\sigma_g^2 + \varepsilon}} \odot \gamma_c + \beta_c"
    )
    ownable: ClassVar[Mapping[str, Source]] = {"weight": _ONES, "bias": _ZEROS}

    groups: Annotated[int, Field(ge=1)] = 1
    """Number of groups that the channels are divided into."""

    def _parameter_shape(self, shape: Shape) -> Shape | None:
        return shape[1:2] if len(shape) > 1 else None

    def forward(
        self, xp: Namespace, x: Value, weight: Value | None = None, bias: Value | None = None
    ) -> Value:
        if x.ndim < 2 or x.shape[1] % self.groups:
            raise ShapeError(
                "The channels of x don't divide into groups.",
                expected=f"(N, C, …), C a multiple of {self.groups}",
                got=str(x.shape),
            )
        self._require_parameters(x, x.shape[1:2], weight=weight, bias=bias)
        if not x.size:
            return _scaled(xp, xp.as_float(x), weight, bias, (1,))
        channels = (self.groups, x.shape[1] // self.groups)
        behind = (-1,) if x.ndim > 2 else ()
        grouped = xp.reshape(x, (x.shape[0], *channels, *behind))
        out = _standardised(xp, grouped, tuple(range(2, grouped.ndim)), self.epsilon)
        weight, bias = (p if p is None else xp.reshape(p, channels) for p in (weight, bias))
        return xp.reshape(_scaled(xp, out, weight, bias, (1, 2)), x.shape)


class BatchNorm(_Normalisation):
    """Each channel to mean 0 and variance 1, ``out = (x - μ) / sqrt(σ² + ε) * weight + bias``.

    All vectors have one element for each channel along ``axis``. In batch mode μ and σ² are of
    the batch, all other axes, and gradient goes through them; in running mode they are ``mean``
    and ``variance``. ``new_mean`` and ``new_variance`` are the running statistics after the batch,
    ``(1 - momentum) * mean + momentum * μ``, or those of the batch where no old ones are given; in
    running mode they stay. They have no gradient. What is neither wired nor owned is left out. Its
    own are weight 1, bias 0, and frozen, mean 0 and variance 1. Raises ShapeError where the shapes
    don't fit, or running statistics are missing.

    Source: Ioffe & Szegedy 2015.
    """

    symbol: ClassVar[str] = "batch"
    formula: ClassVar[str] = (
        r"y = \frac{x - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}} \odot \gamma_c + \beta_c"
    )
    outputs: ClassVar[tuple[str, ...]] = ("out", "new_mean", "new_variance")
    ownable: ClassVar[Mapping[str, Source]] = {
        "weight": _ONES,
        "bias": _ZEROS,
        "mean": Variable(initialiser="zeros", trainable=False),
        "variance": Variable(initialiser="ones", trainable=False),
    }

    mode: Literal["batch", "running"] = "batch"
    """Statistics of the batch, as in training, or the running ones, as in use."""
    momentum: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of the batch in new running statistics; where a system keeps that share of the old
    ones, 1 less it."""
    axis: int = 1
    """Axis of the channels, negative from the end."""
    unbiased: bool = True
    """Whether the running variance divides by n - 1, as that of the batch never does."""

    def _parameter_shape(self, shape: Shape) -> Shape | None:
        inside = -len(shape) <= self.axis < len(shape)
        return (shape[self.axis],) if inside else None

    def forward(
        self,
        xp: Namespace,
        x: Value,
        weight: Value | None = None,
        bias: Value | None = None,
        mean: Value | None = None,
        variance: Value | None = None,
    ) -> tuple[Value, Value, Value]:
        axis = require_axis(x, self.axis)
        channels = (x.shape[axis],)
        given = {"weight": weight, "bias": bias, "mean": mean, "variance": variance}
        self._require_parameters(x, channels, **given)
        others = tuple(i for i in range(x.ndim) if i != axis)
        if self.mode == "running":
            mean, variance = self._running(mean, variance)
            means, variances = (_spread(xp, each, x.ndim, (axis,)) for each in (mean, variance))
            out = (x - means) / xp.sqrt(variances + self.epsilon)
        else:
            out = _standardised(xp, x, others, self.epsilon)
            mean, variance = self._updated(xp, x, mean, variance, others)
        out = _scaled(xp, out, weight, bias, (axis,))
        return out, xp.stop_gradient(mean), xp.stop_gradient(variance)

    @staticmethod
    def _running(mean: Value | None, variance: Value | None) -> tuple[Value, Value]:
        if mean is None or variance is None:
            raise ShapeError(
                "There are no running statistics.",
                expected="mean and variance",
                next_step="Wire or own them, or let the block take those of the batch.",
            )
        return mean, variance

    def _updated(
        self,
        xp: Namespace,
        x: Value,
        mean: Value | None,
        variance: Value | None,
        others: Sequence[int],
    ) -> tuple[Value, Value]:
        wide = _wide(xp, x)
        average = xp.mean(wide, axis=tuple(others), keepdims=True)
        squares = xp.sum(xp.square(wide - average), axis=tuple(others))
        count = x.size // max(1, squares.size)
        spread = squares / max(1, count - int(self.unbiased))
        batch = (xp.reshape(average, squares.shape), spread)
        kept = zip((mean, variance), batch, strict=True)
        first, second = (
            xp.astype(new, xp.as_float(x).dtype)
            if old is None
            else xp.astype((1 - self.momentum) * old + self.momentum * new, old.dtype)
            for old, new in kept
        )
        return first, second


class LRN(Block):
    """Each element by the squares around it, ``out = x / (bias + alpha / size * Σ x²) ** beta``.

    x (N, C, …): the sum is over the ``size`` channels around its own, of an even number one more
    behind; channels beyond the first or last count as 0. Raises ShapeError unless x has channels.

    Source: Krizhevsky, Sutskever & Hinton 2012.
    """

    family: ClassVar[str] = "layers"
    symbol: ClassVar[str] = "lrn"
    formula: ClassVar[str] = (
        r"y_c = x_c \left( k + \frac{\alpha}{n} \sum_{c'} x_{c'}^2 \right)^{-\beta}"
    )

    size: Annotated[int, Field(ge=1)] = 5
    """Number n of channels that are summed."""
    alpha: float = 1e-4
    """Weight of the mean square, in units of 1/x²."""
    beta: float = 0.75
    """Exponent, dimensionless."""
    bias: float = 1.0
    """What is added to the mean square, dimensionless."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {"x": output} if output is not None and inputs.get("x", ()) is None else {}

    def forward(self, xp: Namespace, x: Value) -> Value:
        if x.ndim < 2:
            raise ShapeError("x has no channels.", expected="(N, C, …)", got=str(x.shape))
        x = xp.as_float(x)
        before = (self.size - 1) // 2
        widths = tuple(
            (before, self.size - 1 - before) if i == 1 else (0, 0) for i in range(x.ndim)
        )
        squares = xp.pad(xp.square(x), widths)
        total = xp.zeros_like(x)
        for first in range(self.size):
            begin = tuple(first if i == 1 else 0 for i in range(x.ndim))
            total = total + xp.slice_(squares, begin, x.shape)
        return x / (self.bias + self.alpha / self.size * total) ** self.beta


def _wide(xp: Namespace, x: Value) -> Value:
    """X as a float that holds its squares."""
    x = xp.as_float(x)
    return xp.astype(x, "float32") if x.dtype == "float16" else x


def _standardised(xp: Namespace, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    """Mean 0 and variance 1 along axes, in the dtype of x."""
    wide = _wide(xp, x)
    centred = wide - xp.mean(wide, axis=axes, keepdims=True)
    variance = xp.mean(xp.square(centred), axis=axes, keepdims=True)
    return xp.astype(centred / xp.sqrt(variance + epsilon), xp.as_float(x).dtype)


def _scaled(
    xp: Namespace, x: Value, weight: Value | None, bias: Value | None, axes: tuple[int, ...]
) -> Value:
    """``x * weight + bias``, whose axes lie along ``axes`` of x; without those not given."""
    if weight is not None:
        x = x * _spread(xp, weight, x.ndim, axes)
    return x if bias is None else x + _spread(xp, bias, x.ndim, axes)


def _spread(xp: Namespace, x: Value, rank: int, axes: tuple[int, ...]) -> Value:
    """X with its axes at places of a higher rank."""
    lengths = dict(zip(axes, x.shape, strict=True))
    return xp.reshape(x, tuple(lengths.get(i, 1) for i in range(rank)))
