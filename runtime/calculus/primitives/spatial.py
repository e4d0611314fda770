"""Convolution and pooling over one to three axes, made of the primitives of two.

A line is an image of one row. A volume is cut into slabs, as deep as the window: the slices of a
slab lie beside the channels of one image, whose convolution then is that of the volume.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.primitives.convolution import ConvolutionOps, Geometry

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus.primitives.convolution import Padding
    from gradwire.runtime.calculus.value import Operand, Value

Widths = tuple[tuple[int, int], ...]


class Stride(NamedTuple):
    """How a window moves along one to three axes: in elements, a number for each axis."""

    window: Shape
    stride: Shape
    padding: Widths
    dilation: Shape

    @property
    def plane(self) -> Geometry:
        """How it moves over the last two axes; a line has one row."""
        if len(self.window) == 1:
            return Geometry(
                (1, self.window[0]),
                (1, self.stride[0]),
                ((0, 0), self.padding[0]),
                (1, self.dilation[0]),
            )
        # Two of each field, so that every part fits its own; mypy sees only tuples.
        return Geometry(*(part[-2:] for part in self))  # type: ignore[arg-type]

    @property
    def depth(self) -> Geometry:
        """How it moves along the first of three axes: over images whose rows are the slices."""
        padding: Padding = (self.padding[0], (0, 0))
        return Geometry((self.window[0], 1), (self.stride[0], 1), padding, (self.dilation[0], 1))


class SpatialOps(ConvolutionOps):
    """Arrays are (batch, channels, lengths…), weights (filters, channels, lengths…)."""

    __slots__ = ()

    def conv(
        self,
        x: Operand,
        w: Operand,
        stride: Shape,
        padding: Widths,
        dilation: Shape,
        groups: int = 1,
    ) -> Value:
        """Cross-correlation with filters along all axes after the channels, one to three."""
        x, w, _ = self._promoted(x, w, floats=True)
        self._require_spatial(x, w.ndim, "conv")
        how = Stride(w.shape[2:], stride, padding, dilation)
        _require_fit(x, how)
        if len(how.window) < 3:
            out = self.conv2d_c(_plane(self, x), _plane(self, w), how.plane, groups)
            return self.reshape(out, (*out.shape[:2], *out.shape[-len(how.window) :]))
        n, channels, *lengths = x.shape
        flat = (n, channels, lengths[0], math.prod(lengths[1:]))
        slabs = self.windows(self.reshape(x, flat), how.depth)
        places = slabs.shape[4]
        beside = self.xp.permute_dims(slabs, (2, 4, 3, 0, 1, 5))
        images = self.reshape(beside, (n * places, channels * how.window[0], *lengths[1:]))
        out = self.conv2d_c(images, _joined(self, w), how.plane, groups)
        volume = self.reshape(out, (n, places, *out.shape[1:]))
        return self.xp.permute_dims(volume, (0, 2, 1, 3, 4))

    def conv_transpose(
        self,
        g: Operand,
        w: Operand,
        lengths: Shape,
        stride: Shape,
        padding: Widths,
        dilation: Shape,
        groups: int = 1,
    ) -> Value:
        """The transpose of ``conv`` in x, whose last axes get these lengths.

        Weights are (channels of g, channels of the result / groups, lengths…).
        """
        g, w, _ = self._promoted(g, w, floats=True)
        self._require_spatial(g, w.ndim, "conv_transpose")
        how, channels = Stride(w.shape[2:], stride, padding, dilation), w.shape[1] * groups
        n, filters, *places = g.shape
        if len(how.window) < 3:
            shape = (n, channels, *(1,) * (2 - len(lengths)), *lengths)
            out = self.conv2d_x(_plane(self, g), _plane(self, w), shape, how.plane, groups)
            return self.reshape(out, (n, channels, *lengths))
        images = self.reshape(
            self.xp.permute_dims(g, (0, 2, 1, 3, 4)), (n * places[0], filters, *places[1:])
        )
        depth = how.window[0]
        shape = (n * places[0], channels * depth, *lengths[1:])
        beside = self.conv2d_x(images, _joined(self, w), shape, how.plane, groups)
        slabs = self.reshape(beside, (n, places[0], channels, depth, 1, math.prod(lengths[1:])))
        slabs = self.xp.permute_dims(slabs, (3, 4, 0, 2, 1, 5))
        flat = (n, channels, lengths[0], math.prod(lengths[1:]))
        return self.reshape(self.fold(slabs, flat, how.depth), (n, channels, *lengths))

    def max_pool(
        self,
        x: Operand,
        window: Shape,
        stride: Shape,
        padding: Widths | None = None,
        dilation: Shape | None = None,
    ) -> Value:
        """Largest element of each window; padding never wins; ties share the gradient."""
        x, how = self.as_float(x), _stride(window, stride, padding, dilation)
        patches, shape = self._patches(x, how, "max_pool", -np.inf)
        return self.reshape(self.xp.max(patches, (0, 1), keepdims=True), shape)

    def avg_pool(
        self,
        x: Operand,
        window: Shape,
        stride: Shape,
        padding: Widths | None = None,
        dilation: Shape | None = None,
        counts: Operand | None = None,
    ) -> Value:
        """Mean of each window; padding counts as zeros, unless ``counts`` has what to divide by."""
        x, how = self.as_float(x), _stride(window, stride, padding, dilation)
        if counts is None and _is_whole(x, how):
            rows = self.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))
            return self.reshape(self.xp.mean(rows, -1), (*x.shape[:2], *(1 for _ in window)))
        patches, shape = self._patches(x, how, "avg_pool", 0.0)
        if counts is None:
            return self.reshape(self.xp.mean(patches, (0, 1)), shape)
        total = self.reshape(self.xp.sum(patches, (0, 1)), shape)
        return self.xp.divide(total, self.astype(counts, total.dtype))

    def _patches(self, x: Value, how: Stride, what: str, fill: float) -> tuple[Value, Shape]:
        """All windows, their elements along the first two axes; and the shape of the result."""
        self._require_spatial(x, len(how.window) + 2, what)
        _require_fit(x, how)
        n, channels, *lengths = x.shape
        if len(lengths) < 3:
            patches = self.windows(_plane(self, x), how.plane, fill)
            return patches, (n, channels, *patches.shape[-len(lengths) :])
        planes = self.windows(
            self.reshape(x, (n, channels * lengths[0], *lengths[1:])), how.plane, fill
        )
        height, width, *_, rows, columns = planes.shape
        flat = (height * width * n, channels, lengths[0], rows * columns)
        slabs = self.windows(self.reshape(planes, flat), how.depth, fill)
        out = (n, channels, slabs.shape[4], rows, columns)
        return self.reshape(slabs, (how.window[0], height * width, *out)), out

    def _require_spatial(self, x: Value, rank: int, what: str) -> None:
        if x.ndim != rank or not 3 <= rank <= 5:
            raise ShapeError(
                f"{what} needs a batch of channels with one to three axes, and weights or a "
                "window of the same rank.",
                expected=str(["batch", "channels", *["length"] * min(max(rank - 2, 1), 3)]),
                got=str(list(x.shape)),
            )


def _is_whole(x: Value, how: Stride) -> bool:
    """Whether there is one window, which is all of a channel."""
    none, each = ((0, 0),) * len(how.window), (1,) * len(how.window)
    return x.shape[2:] == how.window and (how.padding, how.dilation) == (none, each)


def _require_fit(x: Value, how: Stride) -> None:
    """Raise ShapeError where the window of a line or a volume doesn't fit once."""
    axes = zip(x.shape[2:], *how, strict=True)
    for axis, (length, window, _, ends, dilation) in enumerate(axes, 2):
        reach, padded = dilation * (window - 1) + 1, length + sum(ends)
        if reach > padded and x.ndim != 4:
            raise ShapeError(
                f"A window that spans {reach} doesn't fit {padded} elements along axis {axis}, "
                "padding included.",
                next_step="Make the window smaller or pad more.",
            )


def _stride(window: Shape, stride: Shape, padding: Widths | None, dilation: Shape | None) -> Stride:
    none, each = ((0, 0),) * len(window), (1,) * len(window)
    return Stride(window, stride, none if padding is None else padding, dilation or each)


def _plane(xp: SpatialOps, x: Value) -> Value:
    """A line as an image of one row."""
    return x if x.ndim == 4 else xp.reshape(x, (*x.shape[:2], 1, x.shape[2]))


def _joined(xp: SpatialOps, w: Value) -> Value:
    """Weights of a volume as those of images with the slices beside the channels."""
    filters, channels, depth, *plane = w.shape
    return xp.reshape(w, (filters, channels * depth, *plane))
