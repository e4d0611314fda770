"""Two-dimensional convolution and pooling, closed under differentiation.

Convolution is bilinear: with C(x, w) the forward product, X(g, w) its transpose in x and W(x, g)
its transpose in w, every derivative of each of the three is again one of the three. Pooling is a
reduction over windows; *windows* and *fold* are each other's transpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blocks.errors import ShapeError
from runtime.calculus.primitives.linear import LinearNames
from runtime.calculus.trace import Primitive, Value

if TYPE_CHECKING:
    from blocks.block import Shape

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]


class Geometry(NamedTuple):
    """How a window moves over an image: all in elements, (rows, columns)."""

    window: Pair
    stride: Pair = (1, 1)
    padding: Padding = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)

    def output(self, image: Pair) -> Pair:
        """Places the window takes; raises ShapeError when it doesn't fit once."""
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
                    f"A window that reaches {reach} doesn't fit an image of {padded} "
                    f"{'rows' if axis == 0 else 'columns'}, padding included.",
                    next_step="Make the window smaller or pad more.",
                )
            lengths.append((padded - reach) // self.stride[axis] + 1)
        return lengths[0], lengths[1]


def _padded(x: Any, padding: Padding, fill: float) -> Any:
    if padding == ((0, 0), (0, 0)):
        return x
    return np.pad(x, ((0, 0), (0, 0), *padding), constant_values=fill)


def _windows(x: Any, geometry: Geometry, fill: float = 0.0) -> Any:
    """(N, C, H, W) → a view (N, C, rows, columns, window rows, window columns)."""
    x = _padded(x, geometry.padding, fill)
    (kh, kw), (sh, sw), _, (dh, dw) = geometry
    n, c, h, w = x.shape
    rows, columns = (h - dh * (kh - 1) - 1) // sh + 1, (w - dw * (kw - 1) - 1) // sw + 1
    a, b, p, q = x.strides
    return np.lib.stride_tricks.as_strided(
        x, (n, c, rows, columns, kh, kw), (a, b, p * sh, q * sw, p * dh, q * dw), writeable=False
    )


def _fold(patches: Any, out: Any, geometry: Geometry) -> None:
    """Add windows back where they came from: the transpose of ``_windows``."""
    (kh, kw), (sh, sw), ((top, bottom), (left, right)), (dh, dw) = geometry
    n, c, h, w = out.shape
    rows, columns = patches.shape[2:4]
    whole = np.zeros((n, c, h + top + bottom, w + left + right), out.dtype)
    for i in range(kh):
        for j in range(kw):
            y, x = i * dh, j * dw
            whole[:, :, y : y + rows * sh : sh, x : x + columns * sw : sw] += patches[..., i, j]
    out[...] = whole[:, :, top : top + h, left : left + w]


def _grouped(x: Any, groups: int, axis: int) -> Any:
    shape = x.shape
    return x.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])


def _conv_kernel(x: Any, w: Any, *, out: Any, geometry: Geometry, groups: int) -> None:
    patches = _windows(x, geometry)
    if groups == 1:
        result = np.tensordot(w, patches, ((1, 2, 3), (1, 4, 5)))
        out[...] = result.transpose(1, 0, 2, 3)
        return
    patches, weights = _grouped(patches, groups, 1), _grouped(w, groups, 0)
    for group in range(groups):
        part = np.tensordot(weights[group], patches[:, group], ((1, 2, 3), (1, 4, 5)))
        _grouped(out, groups, 1)[:, group] = part.transpose(1, 0, 2, 3)


def _conv_x_kernel(
    g: Any, w: Any, *, out: Any, shape: Shape, geometry: Geometry, groups: int
) -> None:
    gradients, weights = _grouped(g, groups, 1), _grouped(w, groups, 0)
    parts = [
        np.tensordot(gradients[:, group], weights[group], ((1,), (0,))).transpose(0, 3, 1, 2, 4, 5)
        for group in range(groups)
    ]
    _fold(np.concatenate(parts, axis=1), out, geometry)


def _conv_w_kernel(
    x: Any, g: Any, *, out: Any, shape: Shape, geometry: Geometry, groups: int
) -> None:
    rows, columns = g.shape[2:]
    patches = _grouped(_windows(x, geometry)[:, :, :rows, :columns], groups, 1)
    gradients = _grouped(g, groups, 1)
    for group in range(groups):
        _grouped(out, groups, 0)[group] = np.tensordot(
            gradients[:, group], patches[:, group], ((0, 2, 3), (0, 2, 3))
        )


def _conv_infer(x: Value, w: Value, *, geometry: Geometry, groups: int) -> tuple[Shape, str]:
    if groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"Weights {list(w.shape)} don't fit an image {list(x.shape)} in {groups} group(s).",
            expected="(filters, channels / groups, rows, columns), filters divisible by groups",
        )
    return (x.shape[0], w.shape[0], *geometry.output((x.shape[2], x.shape[3]))), x.dtype


def _given_shape(*inputs: Value, shape: Shape, **_: Any) -> tuple[Shape, str]:
    return shape, inputs[0].dtype


def _windows_infer(x: Value, *, geometry: Geometry, fill: float) -> tuple[Shape, str]:
    places = geometry.output((x.shape[2], x.shape[3]))
    return (*x.shape[:2], *places, *geometry.window), x.dtype


def _windows_kernel(x: Any, *, out: Any, geometry: Geometry, fill: float) -> None:
    out[...] = _windows(x, geometry, fill)


def _fold_kernel(patches: Any, *, out: Any, shape: Shape, geometry: Geometry) -> None:
    _fold(patches, out, geometry)


CONV2D = Primitive(
    "conv2d",
    _conv_infer,
    _conv_kernel,
    (
        lambda xp, g, out, x, w, **how: xp.conv2d_x(g, w, x.shape, **how),
        lambda xp, g, out, x, w, **how: xp.conv2d_w(x, g, w.shape, **how),
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
)
CONV2D_W = Primitive(
    "conv2d_w",
    _given_shape,
    _conv_w_kernel,
    (
        lambda xp, k, out, x, g, *, shape, **how: xp.conv2d_x(g, k, x.shape, **how),
        lambda xp, k, out, x, g, *, shape, **how: xp.conv2d_c(x, k, **how),
    ),
)
WINDOWS = Primitive(
    "windows",
    _windows_infer,
    _windows_kernel,
    (lambda xp, g, out, x, *, geometry, fill: xp.fold(g, x.shape, geometry),),
)
FOLD = Primitive(
    "fold",
    _given_shape,
    _fold_kernel,
    (lambda xp, h, out, patches, *, shape, geometry: xp.windows(h, geometry),),
)


class ConvolutionNames(LinearNames):
    """Images are (batch, channels, rows, columns), weights (filters, channels, rows, columns)."""

    __slots__ = ()

    def conv2d(
        self,
        x: Any,
        w: Any,
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
        """Every window of an image: (N, C, rows, columns, window rows, window columns)."""
        return self.trace.apply(WINDOWS, x, geometry=geometry, fill=fill)

    def fold(self, patches: Value, shape: Shape, geometry: Geometry) -> Value:
        """Windows added back into an image of ``shape``: the transpose of ``windows``."""
        return self.trace.apply(FOLD, patches, shape=shape, geometry=geometry)

    def _pooled(self, x: Any, what: str) -> Value:
        image = self._float(x)
        if image.ndim != 4:
            raise ShapeError(f"{what} needs an image (N, C, H, W).", got=str(list(image.shape)))
        return image

    def max_pool2d(
        self, x: Any, window: Pair, stride: Pair, padding: Padding = ((0, 0), (0, 0))
    ) -> Value:
        """Largest element of each window; padding never wins; ties share the gradient."""
        patches = self.windows(
            self._pooled(x, "max_pool2d"), Geometry(window, stride, padding), -np.inf
        )
        return self.max(patches, (4, 5))

    def avg_pool2d(
        self, x: Any, window: Pair, stride: Pair, padding: Padding = ((0, 0), (0, 0))
    ) -> Value:
        """Mean of each window, padding counted as zeros."""
        patches = self.windows(self._pooled(x, "avg_pool2d"), Geometry(window, stride, padding))
        return self.mean(patches, (4, 5))
