"""Two-dimensional convolution and pooling, closed under differentiation.

Convolution is bilinear: with C(x, w) the forward product, X(g, w) its transpose in x and W(x, g)
its transpose in w, every derivative of each of the three is again one of the three. Pooling is a
reduction over windows; *windows* and *fold* are each other's transpose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.kernels.windows import windows_back
from gradwire.runtime.calculus.primitives.base import BaseOps
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.calculus.value import Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.value import Operand

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
Places: TypeAlias = tuple[Any, ...]
"""An index that begins with an Ellipsis."""


LONG = 128
"""Places of a window in an image from which a product for it alone is fast."""

FEW = 1 << 11
"""Weights of which each image may have a gradient of its own, before all are added up."""


class Geometry(NamedTuple):
    """How a window moves over an image: all in elements, (rows, columns)."""

    window: Pair
    stride: Pair = (1, 1)
    padding: Padding = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)

    def output(self, image: Pair) -> Pair:
        """The number of positions of the window; raises ShapeError where it doesn't fit once."""
        if min(*self.window, *self.stride, *self.dilation) < 1 or min(map(min, self.padding)) < 0:
            raise ShapeError(
                "A window needs lengths, strides and dilations of at least 1, and paddings of at "
                "least 0.",
                got=", ".join(f"{name} {value}" for name, value in self._asdict().items()),
            )
        lengths = []
        for axis in (0, 1):
            padded = image[axis] + sum(self.padding[axis])
            reach = self.dilation[axis] * (self.window[axis] - 1) + 1
            if reach > padded:
                raise ShapeError(
                    f"A window that spans {reach} doesn't fit an image of {padded} "
                    f"{'rows' if axis == 0 else 'columns'}, padding included.",
                    next_step="Make the window smaller or pad more.",
                )
            lengths.append((padded - reach) // self.stride[axis] + 1)
        return lengths[0], lengths[1]

    @property
    def is_pointwise(self) -> bool:
        """Whether the window is each element of an image in turn."""
        return (self.window, self.stride) == ((1, 1), (1, 1)) and self.padding == ((0, 0), (0, 0))

    @property
    def apart(self) -> bool:
        """Whether no element of an image is in two windows."""
        axes = zip(self.window, self.stride, self.dilation, strict=True)
        return all(stride > dilation * (window - 1) for window, stride, dilation in axes)

    def spans(self, image: Pair, places: Pair) -> Iterator[tuple[int, int, Places, Places]]:
        """For each place in the window, the part of the image it covers and at which positions.

        At the other positions it covers padding.
        """
        for i in range(self.window[0]):
            inside, rows = self._span(0, i, image[0], places[0])
            for j in range(self.window[1]):
                within, columns = self._span(1, j, image[1], places[1])
                yield i, j, (..., inside, within), (..., rows, columns)

    def _span(self, axis: int, offset: int, length: int, places: int) -> tuple[slice, slice]:
        step = self.stride[axis]
        start = offset * self.dilation[axis] - self.padding[axis][0]
        first = max(0, -(start // step))
        last = max(first, min(places, (length - 1 - start) // step + 1))
        begin = start + first * step
        return slice(begin, begin + (last - first) * step, step), slice(first, last)


def _windows_into(x: Array, out: Array, geometry: Geometry, fill: float) -> None:
    """out[i, j] = the image under place (i, j) of the window, ``fill`` in the padding."""
    if geometry.padding != ((0, 0), (0, 0)):
        out[...] = fill
    for i, j, seen, by in geometry.spans(x.shape[2:], out.shape[4:]):
        out[(i, j, *by)] = x[seen]


def _fold_into(patches: Array, out: Array, geometry: Geometry) -> None:
    """Add windows back where they came from: the transpose of ``_windows_into``."""
    apart = geometry.apart
    if not apart or geometry.stride != geometry.window or _ends(geometry, out, patches):
        out[...] = 0
    for i, j, seen, by in geometry.spans(out.shape[2:], patches.shape[4:]):
        if apart:  # what 0 plus the patch is, so that −0 becomes 0
            np.add(patches[(i, j, *by)], 0, out=out[seen])
        else:
            out[seen] += patches[(i, j, *by)]


def _ends(geometry: Geometry, image: Array, patches: Array) -> bool:
    """Whether windows side by side leave some elements of an image out."""
    lengths = zip(image.shape[2:], patches.shape[4:], geometry.window, strict=True)
    return geometry.padding != ((0, 0), (0, 0)) or any(n != m * k for n, m, k in lengths)


def columns_shape(x: Shape, geometry: Geometry) -> Shape:
    """Shape of the columns of images ``x``: (C, window rows, window columns, N, rows, columns)."""
    return (x[1], *geometry.window, x[0], *geometry.output((x[2], x[3])))


def columns_of(x: Array, geometry: Geometry) -> Array:
    """The columns of images: a view of those of single elements, else written out."""
    if geometry.is_pointwise:
        return x.swapaxes(0, 1)[:, None, None]
    columns = np.empty(columns_shape(x.shape, geometry), x.dtype)
    fill_columns(x, columns, geometry)
    return columns


def fill_columns(x: Array, columns: Array, geometry: Geometry) -> None:
    """Write out all windows of the images, which makes convolution a matrix product."""
    _windows_into(x, columns.transpose(1, 2, 3, 0, 4, 5), geometry, 0.0)


def convolve(columns: Array, w: Array, out: Array, groups: int) -> None:
    """``out = w · columns``, one product a group, or one for each image if it is large."""
    for rows, part in _groups(columns, w.shape[0], groups):
        weights, results = _as_rows(w[rows]), _matrices(out[:, rows])
        if _apart(part):
            np.matmul(weights, part.swapaxes(0, 1), out=results)
        else:
            products = np.matmul(weights, part.reshape(len(part), -1))
            results[...] = products.reshape(len(weights), *part.shape[1:]).swapaxes(0, 1)


def weight_gradient(columns: Array, g: Array, out: Array, groups: int) -> None:
    """``out = Σ g · columnsᵀ`` over the images: the transpose of ``convolve`` in w."""
    for rows, part in _groups(columns, out.shape[0], groups):
        gradients = _matrices(g[:, rows])
        if _apart(part) and gradients.shape[1] * len(part) <= FEW:
            products = np.matmul(gradients, part.transpose(1, 2, 0)).sum(0)
        elif _apart(part) and not part.flags.c_contiguous:
            products = np.matmul(gradients[0], part[:, 0].T)
            for image in range(1, len(gradients)):
                products += np.matmul(gradients[image], part[:, image].T)
        else:
            products = np.matmul(_beside(gradients), part.reshape(len(part), -1).T)
        out[rows] = products.reshape(out[rows].shape)


def _groups(columns: Array, filters: int, groups: int) -> Iterator[tuple[slice, Array]]:
    """The filters of each group, and its columns: (products, N, places)."""
    channels, kh, kw, n, *places = columns.shape
    each, some = channels // groups, filters // groups
    for group in range(groups):
        part = columns[group * each : (group + 1) * each]
        rows = slice(group * some, (group + 1) * some)
        yield rows, part.reshape(each * kh * kw, n, math.prod(places))


def _apart(columns: Array) -> bool:
    """Whether the columns of each image are enough for a product of their own."""
    return bool(columns.shape[2] >= LONG)


def _matrices(images: Array) -> Array:
    """Images (N, C, rows, columns) as matrices (N, C, places): a view."""
    return images.reshape(*images.shape[:2], math.prod(images.shape[2:]))


def _beside(matrices: Array) -> Array:
    """Matrices (N, C, places) beside each other: (C, N · places)."""
    return matrices.swapaxes(0, 1).reshape(matrices.shape[1], -1)


def _as_rows(w: Array) -> Array:
    """Weights (filters, C, rows, columns) as a matrix whose columns go with ``fill_columns``."""
    return w.reshape(w.shape[0], math.prod(w.shape[1:]))


def _conv_kernel(x: Array, w: Array, *, out: Array, geometry: Geometry, groups: int) -> None:
    convolve(columns_of(x, geometry), w, out, groups)


def _conv_w_kernel(
    x: Array, g: Array, *, out: Array, shape: Shape, geometry: Geometry, groups: int
) -> None:
    weight_gradient(columns_of(x, geometry), g, out, groups)


def _conv_x_kernel(
    g: Array, w: Array, *, out: Array, shape: Shape, geometry: Geometry, groups: int
) -> None:
    each, filters = shape[1] // groups, w.shape[0] // groups
    if geometry.is_pointwise and math.prod(shape[2:]) >= LONG:
        for group in range(groups):
            rows = slice(group * filters, (group + 1) * filters)
            part = out[:, group * each : (group + 1) * each]
            np.matmul(_as_rows(w[rows]).T, _matrices(g[:, rows]), out=_matrices(part))
    elif geometry.stride == (1, 1) and (filters == 1 or g.shape[3] < LONG):
        windows_back(g, w, out, geometry, groups)
    else:
        weights = w.reshape(groups, filters, -1).swapaxes(1, 2)
        gradients = _beside(_matrices(g)).reshape(groups, filters, -1)
        patches = weights * gradients if filters == 1 else weights @ gradients
        patches = patches.reshape(columns_shape(shape, geometry))
        _fold_into(patches.transpose(1, 2, 3, 0, 4, 5), out, geometry)


def _conv_infer(x: Value, w: Value, *, geometry: Geometry, groups: int) -> tuple[Shape, str]:
    if groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"Weights {list(w.shape)} don't fit an image {list(x.shape)} in {groups} group(s).",
            expected="(filters, channels / groups, rows, columns), filters divisible by groups",
        )
    return (x.shape[0], w.shape[0], *geometry.output((x.shape[2], x.shape[3]))), x.dtype


def _given_shape(*inputs: Value, shape: Shape, **_: object) -> tuple[Shape, str]:
    return shape, inputs[0].dtype


def _windows_infer(x: Value, *, geometry: Geometry, fill: float) -> tuple[Shape, str]:
    places = geometry.output((x.shape[2], x.shape[3]))
    return (*geometry.window, *x.shape[:2], *places), x.dtype


def _windows_kernel(x: Array, *, out: Array, geometry: Geometry, fill: float) -> None:
    _windows_into(x, out, geometry, fill)


def _fold_kernel(patches: Array, *, out: Array, shape: Shape, geometry: Geometry) -> None:
    _fold_into(patches, out, geometry)


def _convolution(call: str, **others: str) -> Spelling:
    return Spelling(call, call, call.replace("groups=", ""))._replace(**others)


CONV2D = Primitive(
    "conv2d",
    _conv_infer,
    _conv_kernel,
    (
        lambda xp, g, out, x, w, **how: xp.conv2d_x(g, w, x.shape, **how),
        lambda xp, g, out, x, w, **how: xp.conv2d_w(x, g, w.shape, **how),
    ),
    spelling=_convolution(
        "_conv2d(a, b, geometry, groups=groups)", latex=r"\mathrm{conv}", plain="conv"
    ),
)
CONV2D_X = Primitive(
    "conv2d_x",
    _given_shape,
    _conv_x_kernel,
    (
        lambda xp, h, out, g, w, *, shape, **how: xp.conv2d_c(h, w, **how),
        lambda xp, h, out, g, w, *, shape, **how: xp.conv2d_w(h, g, w.shape, **how),
    ),
    spelling=_convolution(
        "_conv2d_x(a, b, shape, geometry, groups=groups)",
        latex=r"\mathrm{conv}^{\top}",
        plain="convᵀ",
    ),
)
CONV2D_W = Primitive(
    "conv2d_w",
    _given_shape,
    _conv_w_kernel,
    (
        lambda xp, k, out, x, g, *, shape, **how: xp.conv2d_x(g, k, x.shape, **how),
        lambda xp, k, out, x, g, *, shape, **how: xp.conv2d_c(x, k, **how),
    ),
    spelling=_convolution("_conv2d_w(a, b, shape, geometry, groups=groups)"),
)
WINDOWS = Primitive(
    "windows",
    _windows_infer,
    _windows_kernel,
    (lambda xp, g, out, x, *, geometry, fill: xp.fold(g, x.shape, geometry),),
    spelling=Spelling(*["_windows(a, window, geometry, fill=fill)"] * 3),
)
FOLD = Primitive(
    "fold",
    _given_shape,
    _fold_kernel,
    (lambda xp, h, out, patches, *, shape, geometry: xp.windows(h, geometry),),
    spelling=Spelling(*["_fold(a, shape, geometry)"] * 3),
)


class ConvolutionOps(BaseOps):
    """Images are (batch, channels, rows, columns), weights (filters, channels, rows, columns)."""

    __slots__ = ()

    def conv2d(
        self,
        x: Operand,
        w: Operand,
        stride: Pair = (1, 1),
        padding: Padding = ((0, 0), (0, 0)),
        dilation: Pair = (1, 1),
        groups: int = 1,
    ) -> Value:
        """Cross-correlation of an image with filters (what deep learning calls convolution)."""
        x, w = self.asarray(x), self.asarray(w)
        for name, value in (("image", x), ("weights", w)):
            if value.ndim != 4:
                raise ShapeError(
                    f"The {name} of a convolution must have rank 4.", got=str(list(value.shape))
                )
        x, w, _ = self._promoted(x, w, floats=True)
        geometry = Geometry((w.shape[2], w.shape[3]), stride, padding, dilation)
        return self.conv2d_c(x, w, geometry, groups)

    def conv2d_c(self, x: Value, w: Value, geometry: Geometry, groups: int) -> Value:
        """``C(x, w)``: see the module."""
        return self.trace.apply(CONV2D, x, w, geometry=geometry, groups=groups)

    def conv2d_x(self, g: Value, w: Value, shape: Shape, geometry: Geometry, groups: int) -> Value:
        """``X(g, w)``, an image of ``shape``: the transpose of ``C`` in x."""
        return self.trace.apply(CONV2D_X, g, w, shape=shape, geometry=geometry, groups=groups)

    def conv2d_w(self, x: Value, g: Value, shape: Shape, geometry: Geometry, groups: int) -> Value:
        """``W(x, g)``, weights of ``shape``: the transpose of ``C`` in w."""
        return self.trace.apply(CONV2D_W, x, g, shape=shape, geometry=geometry, groups=groups)

    def windows(self, x: Value, geometry: Geometry, fill: float = 0.0) -> Value:
        """Every window of an image: (window rows, window columns, N, C, rows, columns)."""
        return self.trace.apply(WINDOWS, x, geometry=geometry, fill=fill)

    def fold(self, patches: Value, shape: Shape, geometry: Geometry) -> Value:
        """Windows added back into an image of ``shape``: the transpose of ``windows``."""
        return self.trace.apply(FOLD, patches, shape=shape, geometry=geometry)
