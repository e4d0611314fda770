"""Transposed convolution: what convolution does to gradients, as a layer that enlarges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.convolution.convolutions import Filtering
from gradwire.blocks.library.convolution.windows import (
    AXES,
    Natural,
    Padding1D,
    Padding2D,
    Padding3D,
    Pair,
    Positive,
    Triple,
    Widths,
    divided,
    each,
    require_batch,
    widths,
)

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.symbolic import Namespace, Value

Extra: TypeAlias = Natural | tuple[Natural, ...]


class _Transposed(Filtering):
    """Every element of x puts a filter times itself into the output, ``stride`` apart."""

    abstract: ClassVar[bool] = True

    output_padding: Extra = 0
    """How much longer the output is at the end of each axis, in elements."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        x, weight, bias = (inputs.get(name) for name in ("x", "weight", "bias"))
        rank = self.axes + 2
        filters = bias[0] if bias else self.filters
        if weight is not None and len(weight) == rank:
            filters = weight[1] * self.groups
        elif filters is None and output is not None and len(output) == rank:
            filters = output[1]
        if filters is None:
            return {}
        found: dict[str, Shape] = {"bias": (filters,)}
        if x is not None and len(x) == rank:
            found["weight"] = (x[1], filters // self.groups, *each(self.kernel))
        return {n: s for n, s in found.items() if n in inputs and inputs[n] is None}

    def forward(self, xp: Namespace, x: Value, weight: Value, bias: Value | None = None) -> Value:
        self._check(x, weight, bias)
        stride, dilation = each(self.stride), each(self.dilation)
        lengths, cut, zeros = self._lengths(x.shape[2:], weight.shape[2:])
        out = xp.conv_transpose(x, weight, lengths, stride, cut, dilation, self.groups)
        if any(zeros):
            out = xp.pad(out, ((0, 0), (0, 0), *((0, n) for n in zeros)))
        return self._with_bias(xp, out, bias)

    def _lengths(self, places: Shape, window: Shape) -> tuple[Shape, Widths, tuple[int, ...]]:
        """Lengths of what the filters reach, what is cut off it, and the zeros after it."""
        stride, dilation = each(self.stride), each(self.dilation)
        axes = zip(places, stride, window, dilation, strict=True)
        reached = [(n - 1) * step + spread * (k - 1) + 1 for n, step, k, spread in axes]
        extra = [*each(self.output_padding)]
        if self.padding in ("same", "same-lower"):
            surplus = [
                long + more - n * step
                for long, more, n, step in zip(reached, extra, places, stride, strict=True)
            ]
            ends = divided([max(n, 0) for n in surplus], self.padding)
            extra = [more - min(n, 0) for more, n in zip(extra, surplus, strict=True)]
        else:
            ends = widths(places, window, stride, self.padding, dilation)
        cut = tuple((a, max(b - more, 0)) for (a, b), more in zip(ends, extra, strict=True))
        lengths = tuple(long - sum(pair) for long, pair in zip(reached, cut, strict=True))
        zeros = tuple(max(more - b, 0) for (_, b), more in zip(ends, extra, strict=True))
        if min((long + more for long, more in zip(lengths, zeros, strict=True))) < 1:
            raise ShapeError(
                "The padding cuts all of the output off.",
                got=f"padding {ends} of lengths {tuple(reached)}",
            )
        return lengths, cut, zeros

    def _check(self, x: Value, weight: Value, bias: Value | None) -> None:
        require_batch(x, self.axes)
        if weight.ndim != x.ndim or weight.shape[0] != x.shape[1] or x.shape[1] % self.groups:
            raise ShapeError(
                "Weight doesn't fit the channels of x.",
                expected=f"({x.shape[1]}, filters/{self.groups}, {AXES[self.axes]}), channels "
                f"divisible by {self.groups}",
                got=str(weight.shape),
            )
        self._require_filters(weight, bias, weight.shape[1] * self.groups)


class ConvTranspose1D(_Transposed):
    """Transposed convolution of signals, plus bias.

    x (N, C, L), weight (C, O/groups, k), bias (O,), out (N, O, L') with
    ``L' = (L - 1) * stride - padding + dilation * (k - 1) + 1 + output_padding``; the rest is as
    for ConvTranspose2D. Raises ShapeError where the shapes don't fit.

    Source: Dumoulin and Visin 2016.
    """

    symbol: ClassVar[str] = "∗₁ᵀ"
    formula: ClassVar[str] = r"y_{n o,\, s i + k} \mathrel{+}= \sum_c w_{c o k} \, x_{n c i}"
    axes: ClassVar[int] = 1

    kernel: Positive = 3
    """Length of the filters, for a weight of open shape."""
    stride: Positive = 1
    """Distance in the output of what neighbours in x give, in elements."""
    padding: Padding1D = "valid"
    """How much is cut off the output. valid: nothing; same: what leaves L * stride, an odd one at
    the end, or with same-lower at the start; or how much on both sides; or before, and after."""
    dilation: Positive = 1
    """Distance between the elements of a filter."""
    output_padding: Natural = 0
    """How much longer the output is at the end, in elements."""


class ConvTranspose2D(_Transposed):
    """Transposed convolution of images, plus bias: the derivative of a convolution by its image.

    x (N, C, H, W), weight (C, O/groups, kh, kw), bias (O,), out (N, O, H', W') with
    ``H' = (H - 1) * stride - padding + dilation * (kh - 1) + 1 + output_padding``; a bias that is
    neither wired nor owned is left out. Its own weight is He uniform, its own bias 0. Raises
    ShapeError where the shapes don't fit.

    Source: Dumoulin and Visin 2016.
    """

    symbol: ClassVar[str] = "∗ᵀ"
    formula: ClassVar[str] = (
        r"y_{n o,\, s i + k,\, s j + l} \mathrel{+}= \sum_c w_{c o k l} \, x_{n c i j}"
    )
    axes: ClassVar[int] = 2

    kernel: Pair = (3, 3)
    """Height and width of the filters, for a weight of open shape."""
    stride: Pair = (1, 1)
    """Distances in the output of what neighbours in x give, down and across, in px."""
    padding: Padding2D = "valid"
    """How much is cut off the output. valid: nothing; same: what leaves H * stride by W * stride,
    an odd one at the end, or with same-lower at the start; or how much above and below, and how
    much left and right; or ((above, below), (left, right))."""
    dilation: Pair = (1, 1)
    """Distance between the elements of a filter, in px."""
    output_padding: tuple[Natural, Natural] = (0, 0)
    """How much longer the output is below and on the right, in px."""


class ConvTranspose3D(_Transposed):
    """Transposed convolution of volumes, plus bias.

    x (N, C, D, H, W), weight (C, O/groups, kd, kh, kw), bias (O,), out (N, O, D', H', W'); the
    rest is as for ConvTranspose2D. Raises ShapeError where the shapes don't fit.

    Source: Dumoulin and Visin 2016.
    """

    symbol: ClassVar[str] = "∗₃ᵀ"
    formula: ClassVar[str] = (
        r"y_{n o,\, s h + m,\, s i + k,\, s j + l} \mathrel{+}= "
        r"\sum_c w_{c o m k l} \, x_{n c h i j}"
    )
    axes: ClassVar[int] = 3

    kernel: Triple = (3, 3, 3)
    """Depth, height and width of the filters, for a weight of open shape."""
    stride: Triple = (1, 1, 1)
    """Distances in the output of what neighbours in x give, along the axes, in elements."""
    padding: Padding3D = "valid"
    """How much is cut off the output. valid: nothing; same: what leaves length * stride, an odd
    one at the end, or with same-lower at the start; or how much on both sides of each axis, or
    (before, after) of each."""
    dilation: Triple = (1, 1, 1)
    """Distance between the elements of a filter, along the axes."""
    output_padding: tuple[Natural, Natural, Natural] = (0, 0, 0)
    """How much longer the output is at the end of each axis, in elements."""
