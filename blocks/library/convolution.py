"""Images: convolution and pooling over height and width, channels before them (N, C, H, W)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from blocks.block import Block, Shape, Source
from blocks.errors import ShapeError
from blocks.library.sources import Variable

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Pair: TypeAlias = tuple[Positive, Positive]
Padding: TypeAlias = Literal["valid", "same"] | tuple[Natural, Natural]
Widths: TypeAlias = tuple[tuple[int, int], tuple[int, int]]


class Conv2D(Block):
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

    ownable: ClassVar[Mapping[str, Source]] = {
        "weight": Variable(initialiser="he_uniform"),
        "bias": Variable(initialiser="zeros"),
    }

    filters: Positive | None = None
    """Number of output channels O; null to take it from weight."""
    kernel: Pair = (3, 3)
    """Height and width of the filters, for a weight of open shape."""
    stride: Pair = (1, 1)
    """Steps down and across, in px."""
    padding: Padding = "valid"
    """valid: none; same: as many zeros as keep H/stride by W/stride, an odd one at the end; or
    how many zeros above and below, and how many left and right."""
    dilation: Pair = (1, 1)
    """Distance between the elements of a filter, in px."""
    groups: Positive = 1
    """Number of groups of channels that are convolved separately."""

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        x, weight, bias = (inputs.get(name) for name in ("x", "weight", "bias"))
        filters = next((shape[0] for shape in (weight, bias) if shape), self.filters)
        if filters is None and output is not None and len(output) == 4:
            filters = output[1]
        if filters is None:
            return {}
        found: dict[str, Shape] = {"bias": (filters,)}
        if x is not None and len(x) == 4:
            found["weight"] = (filters, x[1] // self.groups, *self.kernel)
        return {n: s for n, s in found.items() if n in inputs and inputs[n] is None}

    def forward(self, xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        self._check(x, weight, bias)
        padding = _widths(x, weight.shape[2:], self.stride, self.padding, self.dilation)
        out = xp.conv2d(x, weight, self.stride, padding, self.dilation, self.groups)
        return out if bias is None else out + xp.reshape(bias, (-1, 1, 1))

    def _check(self, x: Any, weight: Any, bias: Any) -> None:
        _require_image(x)
        if weight.ndim != 4 or weight.shape[1] * self.groups != x.shape[1]:
            raise ShapeError(
                "Weight doesn't fit the channels of x.",
                expected=f"(filters, {x.shape[1]}/{self.groups}, height, width)",
                got=str(weight.shape),
            )
        if self.filters not in (None, weight.shape[0]):
            raise ShapeError(
                "Weight doesn't have as many filters as the block.",
                expected=str(self.filters),
                got=str(weight.shape[0]),
            )
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ShapeError(
                "Bias doesn't fit the filters.",
                expected=str(weight.shape[:1]),
                got=str(bias.shape),
            )


class _Pool(Block):
    """Reduces windows of an image (N, C, H, W) to one number each, by channel."""

    abstract: ClassVar[bool] = True

    window: Pair = (2, 2)
    """Height and width of a window, in px."""
    stride: Pair | None = None
    """Steps down and across, in px; null for those of the window."""
    padding: Padding = "valid"
    """valid: none; same: as much as keeps H/stride by W/stride, an odd one at the end; or how
    much above and below, and how much left and right."""

    def _arguments(self, x: Any) -> tuple[Pair, Pair, Widths]:
        _require_image(x)
        stride = self.stride or self.window
        return self.window, stride, _widths(x, self.window, stride, self.padding)


class MaxPool2D(_Pool):
    """Largest of each window: (N, C, H, W) gives (N, C, H', W').

    Padding never wins; ties share the gradient evenly. Raises ShapeError unless x has rank 4 and
    a window fits.
    """

    symbol: ClassVar[str] = "max▦"
    formula: ClassVar[str] = r"y_{ij} = \max_{k, l} x_{s i + k,\, s j + l}"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.max_pool2d(x, *self._arguments(x))


class AvgPool2D(_Pool):
    """Mean of each window: (N, C, H, W) gives (N, C, H', W').

    Padding counts as zeros. Raises ShapeError unless x has rank 4 and a window fits.
    """

    symbol: ClassVar[str] = "μ▦"
    formula: ClassVar[str] = r"y_{ij} = \frac{1}{|W|} \sum_{k, l} x_{s i + k,\, s j + l}"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.avg_pool2d(x, *self._arguments(x))


def _require_image(x: Any) -> None:
    if x.ndim != 4:
        raise ShapeError(
            "x is not a batch of images.",
            expected="(batch, channels, height, width)",
            got=str(x.shape),
            next_step="Put a Reshape before it.",
        )


def _widths(
    x: Any, window: tuple[int, ...], stride: Pair, padding: Padding, dilation: Pair = (1, 1)
) -> Widths:
    """Padding before and after, down and across."""
    if padding == "valid":
        return (0, 0), (0, 0)
    if padding != "same":
        return (padding[0], padding[0]), (padding[1], padding[1])
    down, across = (
        max((-(-n // step) - 1) * step + spread * (k - 1) + 1 - n, 0)
        for n, k, step, spread in zip(x.shape[2:], window, stride, dilation, strict=True)
    )
    return (down // 2, down - down // 2), (across // 2, across - across // 2)
