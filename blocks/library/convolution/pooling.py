"""Pooling over one, two or three axes."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.errors import LimitError
from gradwire.blocks.library.convolution.windows import (
    Ends,
    Padding,
    Padding1D,
    Padding2D,
    Padding3D,
    Pair,
    Positive,
    Sizes,
    Triple,
    Widths,
    each,
    require_batch,
    widths,
)
from gradwire.blocks.limits import MAX_CONSTANT

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class _Pool(Block):
    """Reduces windows to one number each, by channel."""

    abstract: ClassVar[bool] = True
    family: ClassVar[str] = "convolution"

    window: Sizes = 2
    """Lengths of a window along the axes, in elements."""
    stride: Sizes | None = None
    """Steps along the axes, in elements; null for those of the window."""
    padding: Padding = "valid"
    """valid: none; same: as much as keeps length/stride, an odd one at the end, or with same-lower
    at the start; or how much on both sides of each axis, or (before, after) of each."""
    dilation: Sizes = 1
    """Distance between the elements of a window, along the axes."""
    ceil: bool = False
    """Whether the number of windows is rounded up: the last may reach beyond the end, if it begins
    before it."""

    def _arguments(self, x: Value) -> tuple[Shape, Shape, Widths, Shape]:
        window, dilation = each(self.window), each(self.dilation)
        require_batch(x, len(window))
        stride = window if self.stride is None else each(self.stride)
        padding = widths(x.shape[2:], window, stride, self.padding, dilation, self.ceil)
        return window, stride, padding, dilation


class _Pool1D(_Pool):
    """Pooling of signals."""

    abstract: ClassVar[bool] = True

    window: Positive = 2
    """Length of a window, in elements."""
    stride: Positive | None = None
    """Step of the window, in elements; null for its length."""
    padding: Padding1D = "valid"
    """valid: none; same: as much as keeps L/stride, an odd one at the end, or with same-lower at
    the start; or how much on both sides; or how much before, and how much after."""
    dilation: Positive = 1
    """Distance between the elements of a window."""


class _Pool2D(_Pool):
    """Pooling of images."""

    abstract: ClassVar[bool] = True

    window: Pair = (2, 2)
    """Height and width of a window, in px."""
    stride: Pair | None = None
    """Steps down and across, in px, one number is both; null for those of the window."""
    padding: Padding2D = "valid"
    """valid: none; same: as much as keeps H/stride by W/stride, an odd one at the end, or with
    same-lower at the start; or how much above and below, and how much left and right; or
    ((above, below), (left, right))."""
    dilation: Pair = (1, 1)
    """Distance between the elements of a window, in px."""


class _Pool3D(_Pool):
    """Pooling of volumes."""

    abstract: ClassVar[bool] = True

    window: Triple = (2, 2, 2)
    """Depth, height and width of a window, in elements."""
    stride: Triple | None = None
    """Steps along depth, height and width, in elements, one number is all three; null for those
    of the window."""
    padding: Padding3D = "valid"
    dilation: Triple = (1, 1, 1)


class _MaxPool(_Pool):
    """Largest of each window."""

    abstract: ClassVar[bool] = True

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.max_pool(x, *self._arguments(x))


class _AvgPool(_Pool):
    """Mean of each window."""

    abstract: ClassVar[bool] = True

    count_padding: bool = True
    """Whether padding counts as zeros; else the sum is divided by the number of elements inside.
    What ceil adds beyond the padding never counts."""

    def forward(self, xp: Namespace, x: Value) -> Value:
        arguments = self._arguments(x)
        return xp.avg_pool(x, *arguments, self._counts(xp, x.shape[2:], *arguments))

    def _counts(
        self,
        xp: Namespace,
        lengths: Shape,
        window: Shape,
        stride: Shape,
        padding: Widths,
        dilation: Shape,
    ) -> Value | None:
        """What the sum of each window is divided by; None where that is always its size."""
        given = widths(lengths, window, stride, self.padding, dilation)
        if padding == given and (self.count_padding or not any(map(any, given))):
            return None
        counting = given if self.count_padding else ((0, 0),) * len(given)
        axes = zip(lengths, window, stride, padding, dilation, counting, strict=True)
        found = [_counted(*axis) for axis in axes]
        shapes = [(-1, *(1,) * (len(found) - 1 - i)) for i in range(len(found))]
        columns = [xp.reshape(xp.asarray(n), s) for n, s in zip(found, shapes, strict=True)]
        return reduce(lambda a, b: a * b, columns)


def _counted(
    length: int, size: int, step: int, padding: Ends, spread: int, counting: Ends
) -> NDArray[np.int64]:
    """How many elements of each window along an axis count; at least 1, to divide by."""
    places = (length + sum(padding) - spread * (size - 1) - 1) // step + 1
    if places > MAX_CONSTANT:
        raise LimitError(
            "There are too many windows to count their elements.",
            expected=f"at most {MAX_CONSTANT:,}",
            got=f"{places:,}",
        )
    start = np.arange(places) * step - padding[0]
    before = np.clip(-(-(-counting[0] - start) // spread), 0, size)
    until = np.clip(-(-(length + counting[1] - start) // spread), 0, size)
    counts: NDArray[np.int64] = np.maximum(until - before, 1)
    return counts


class MaxPool1D(_Pool1D, _MaxPool):
    """Largest of each window: (N, C, L) gives (N, C, L').

    Padding never wins; ties share the gradient evenly. Raises ShapeError unless x has rank 3 and
    a window fits.
    """

    symbol: ClassVar[str] = "max▬"
    formula: ClassVar[str] = r"y_i = \max_k x_{s i + k}"


class MaxPool2D(_Pool2D, _MaxPool):
    """Largest of each window: (N, C, H, W) gives (N, C, H', W').

    Padding never wins; ties share the gradient evenly. Raises ShapeError unless x has rank 4 and
    a window fits.
    """

    symbol: ClassVar[str] = "max▦"
    formula: ClassVar[str] = r"y_{ij} = \max_{k, l} x_{s i + k,\, s j + l}"


class MaxPool3D(_Pool3D, _MaxPool):
    """Largest of each window: (N, C, D, H, W) gives (N, C, D', H', W').

    Padding never wins; ties share the gradient evenly. Raises ShapeError unless x has rank 5 and
    a window fits.
    """

    symbol: ClassVar[str] = "max■"
    formula: ClassVar[str] = r"y_{hij} = \max_{m, k, l} x_{s h + m,\, s i + k,\, s j + l}"


class AvgPool1D(_Pool1D, _AvgPool):
    """Mean of each window: (N, C, L) gives (N, C, L').

    Padding counts as zeros unless ``count_padding`` is off. Raises ShapeError unless x has rank 3
    and a window fits.
    """

    symbol: ClassVar[str] = "μ▬"
    formula: ClassVar[str] = r"y_i = \frac{1}{|W|} \sum_k x_{s i + k}"


class AvgPool2D(_Pool2D, _AvgPool):
    """Mean of each window: (N, C, H, W) gives (N, C, H', W').

    Padding counts as zeros unless ``count_padding`` is off. Raises ShapeError unless x has rank 4
    and a window fits.
    """

    symbol: ClassVar[str] = "μ▦"
    formula: ClassVar[str] = r"y_{ij} = \frac{1}{|W|} \sum_{k, l} x_{s i + k,\, s j + l}"


class AvgPool3D(_Pool3D, _AvgPool):
    """Mean of each window: (N, C, D, H, W) gives (N, C, D', H', W').

    Padding counts as zeros unless ``count_padding`` is off. Raises ShapeError unless x has rank 5
    and a window fits.
    """

    symbol: ClassVar[str] = "μ■"
    formula: ClassVar[str] = (
        r"y_{hij} = \frac{1}{|W|} \sum_{m, k, l} x_{s h + m,\, s i + k,\, s j + l}"
    )
