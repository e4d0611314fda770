"""Convolution over one, two or three axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.block import Block, Shape, Source
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.convolution.windows import (
    AXES,
    Padding,
    Padding1D,
    Padding2D,
    Padding3D,
    Pair,
    Positive,
    Sizes,
    Triple,
    each,
    require_batch,
    widths,
)
from gradwire.blocks.library.sources import Variable

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class Filtering(Block):
    """Base of convolutions and transposed ones: filters that move along 1 to 3 axes."""

    abstract: ClassVar[bool] = True
    family: ClassVar[str] = "convolution"
    axes: ClassVar[int] = 2
    """The number of axes after the channels."""

    ownable: ClassVar[Mapping[str, Source]] = {
        "weight": Variable(initialiser="he_uniform"),
        "bias": Variable(initialiser="zeros"),
    }

    filters: Positive | None = None
    """Number of output channels O; null to take it from weight."""
    kernel: Sizes = 3
    """Lengths of the filters along the axes, for a weight of open shape."""
    stride: Sizes = 1
    """Steps along the axes, in elements."""
    padding: Padding = "valid"
    """valid: none; same: as many zeros as keep length/stride, an odd one at the end, or with
    same-lower at the start; or how many on both sides of each axis, or (before, after) of each."""
    dilation: Sizes = 1
    """Distance between the elements of a filter, along the axes."""
    groups: Positive = 1
    """Number of groups of channels that are convolved separately."""

    def _require_filters(self, weight: Value, bias: Value | None, filters: int) -> None:
        if self.filters not in (None, filters):
            raise ShapeError(
                "Weight doesn't have as many filters as the block.",
                expected=str(self.filters),
                got=str(filters),
            )
        if bias is not None and bias.shape != (filters,):
            raise ShapeError(
                "Bias doesn't fit the filters.", expected=str((filters,)), got=str(bias.shape)
            )

    def _with_bias(self, xp: Namespace, out: Value, bias: Value | None) -> Value:
        return out if bias is None else out + xp.reshape(bias, (-1, *(1,) * self.axes))


class _Convolution(Filtering):
    """Cross-correlation with filters, plus bias."""

    abstract: ClassVar[bool] = True

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        x, weight, bias = (inputs.get(name) for name in ("x", "weight", "bias"))
        rank = self.axes + 2
        filters = next((shape[0] for shape in (weight, bias) if shape), self.filters)
        if filters is None and output is not None and len(output) == rank:
            filters = output[1]
        if filters is None:
            return {}
        found: dict[str, Shape] = {"bias": (filters,)}
        if x is not None and len(x) == rank:
            found["weight"] = (filters, x[1] // self.groups, *each(self.kernel))
        return {n: s for n, s in found.items() if n in inputs and inputs[n] is None}

    def forward(self, xp: Namespace, x: Value, weight: Value, bias: Value | None = None) -> Value:
        self._check(x, weight, bias)
        stride, dilation = each(self.stride), each(self.dilation)
        padding = widths(x.shape[2:], weight.shape[2:], stride, self.padding, dilation)
        out = xp.conv(x, weight, stride, padding, dilation, self.groups)
        return self._with_bias(xp, out, bias)

    def _check(self, x: Value, weight: Value, bias: Value | None) -> None:
        require_batch(x, self.axes)
        if weight.ndim != x.ndim or weight.shape[1] * self.groups != x.shape[1]:
            raise ShapeError(
                "Weight doesn't fit the channels of x.",
                expected=f"(filters, {x.shape[1]}/{self.groups}, {AXES[self.axes]})",
                got=str(weight.shape),
            )
        self._require_filters(weight, bias, weight.shape[0])


class Conv1D(_Convolution):
    """Cross-correlation of signals with filters, plus bias.

    x (N, C, L), weight (O, C/groups, k), bias (O,), out (N, O, L') with
    ``L' = (L + padding - dilation * (k - 1) - 1) // stride + 1``; the rest is as for Conv2D.
    Raises ShapeError where the shapes don't fit.

    Source: He et al. 2015.
    """

    symbol: ClassVar[str] = "∗₁"
    formula: ClassVar[str] = r"y_{n o i} = b_o + \sum_{c, k} w_{o c k} \, x_{n,\, c,\, s i + k}"
    axes: ClassVar[int] = 1

    kernel: Positive = 3
    """Length of the filters, for a weight of open shape."""
    stride: Positive = 1
    """Step of the filters, in elements."""
    padding: Padding1D = "valid"
    """valid: none; same: as many zeros as keep L/stride, an odd one at the end, or with same-lower
    at the start; or how many on both sides; or how many before, and how many after."""
    dilation: Positive = 1
    """Distance between the elements of a filter."""


class Conv2D(_Convolution):
    """Cross-correlation of images with filters, plus bias.

    x (N, C, H, W), weight (O, C/groups, kh, kw), bias (O,), out (N, O, H', W') with
    ``H' = (H + padding - dilation * (kh - 1) - 1) // stride + 1``; a bias that is neither wired
    nor owned is left out. Variables of open shape take theirs from x, ``filters`` and ``kernel``.
    Its own weight is He uniform, its own bias 0. Raises ShapeError where the shapes don't fit.

    Source: He et al. 2015.
    """

    symbol: ClassVar[str] = "∗"
    formula: ClassVar[str] = (
        r"y_{n o i j} = b_o + \sum_{c, k, l} w_{o c k l} \, x_{n,\, c,\, s i + k,\, s j + l}"
    )
    axes: ClassVar[int] = 2

    kernel: Pair = (3, 3)
    """Height and width of the filters, for a weight of open shape."""
    stride: Pair = (1, 1)
    """Steps down and across, in px; one number is both."""
    padding: Padding2D = "valid"
    """valid: none; same: as many zeros as keep H/stride by W/stride, an odd one at the end, or
    with same-lower at the start; or how many above and below, and how many left and right; or
    ((above, below), (left, right))."""
    dilation: Pair = (1, 1)
    """Distance between the elements of a filter, in px."""


class Conv3D(_Convolution):
    """Cross-correlation of volumes with filters, plus bias.

    x (N, C, D, H, W), weight (O, C/groups, kd, kh, kw), bias (O,), out (N, O, D', H', W'); the
    rest is as for Conv2D. Raises ShapeError where the shapes don't fit.

    Source: He et al. 2015.
    """

    symbol: ClassVar[str] = "∗₃"
    formula: ClassVar[str] = (
        r"y_{n o h i j} = b_o + \sum_{c, m, k, l} w_{o c m k l} \, "
        r"x_{n,\, c,\, s h + m,\, s i + k,\, s j + l}"
    )
    axes: ClassVar[int] = 3

    kernel: Triple = (3, 3, 3)
    """Depth, height and width of the filters, for a weight of open shape."""
    stride: Triple = (1, 1, 1)
    """Steps along depth, height and width, in elements; one number is all three."""
    padding: Padding3D = "valid"
    """valid: none; same: as many zeros as keep length/stride, an odd one at the end, or with
    same-lower at the start; or how many on both sides of each axis, or (before, after) of each."""
    dilation: Triple = (1, 1, 1)
    """Distance between the elements of a filter, along the axes."""
