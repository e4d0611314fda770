"""Convolution and its two transposes, windows and their transpose."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax import Array

    from gradwire.blocks.block import Shape
    from gradwire.runtime.calculus.primitives.convolution import Geometry


def _conv(x: Array, w: Array, *, geometry: Geometry, groups: int) -> Array:
    """Each group by itself, unless its images have one channel.

    XLA would gather a batch that is split over devices, and on a processor the transpose in w takes
    up to 500 times as long.
    """
    if groups == 1:
        onto = partial(_channels_first, geometry=geometry)
        plain = partial(_product, geometry=geometry, groups=1)
        return lax.platform_dependent(x, w, cpu=onto, default=plain)
    if w.shape[1] == 1:
        return _product(x, w, geometry, groups)
    parts = zip(jnp.split(x, groups, 1), jnp.split(w, groups, 0), strict=True)
    return jnp.concatenate([_product(*part, geometry, 1) for part in parts], 1)


def _channels_first(x: Array, w: Array, *, geometry: Geometry) -> Array:
    found = _channels_last(
        x.transpose(0, 2, 3, 1),
        w.transpose(2, 3, 1, 0),
        window_strides=geometry.stride,
        padding=geometry.padding,
        rhs_dilation=geometry.dilation,
    )
    return found.transpose(0, 3, 1, 2)


def _product(x: Array, w: Array, geometry: Geometry, groups: int) -> Array:
    return lax.conv_general_dilated(
        x,
        w,
        geometry.stride,
        geometry.padding,
        rhs_dilation=geometry.dilation,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )


def _transposed(function: Callable[[Array], Array], shape: Shape, g: Array) -> Array:
    """The transpose of a linear function of an array of ``shape``, which is not needed for it."""
    (found,) = jax.linear_transpose(function, jax.ShapeDtypeStruct(shape, g.dtype))(g)
    return found


def _conv_x(g: Array, w: Array, *, shape: Shape, geometry: Geometry, groups: int) -> Array:
    def transposed(g: Array, w: Array) -> Array:
        convolved = partial(_conv, w=w, geometry=geometry, groups=groups)
        return _transposed(convolved, shape, g)

    if groups > 1:
        return transposed(g, w)
    onto_x = partial(_onto_x, shape=shape, geometry=geometry)
    return lax.platform_dependent(g, w, cpu=onto_x, default=transposed)


def _conv_w(x: Array, g: Array, *, shape: Shape, geometry: Geometry, groups: int) -> Array:
    def transposed(x: Array, g: Array) -> Array:
        return _transposed(lambda w: _conv(x, w, geometry=geometry, groups=groups), shape, g)

    if groups > 1:
        return transposed(x, g)
    onto_w = partial(_onto_w, shape=shape, geometry=geometry)
    return lax.platform_dependent(x, g, cpu=onto_w, default=transposed)


def _onto_x(g: Array, w: Array, *, shape: Shape, geometry: Geometry) -> Array:
    """The gradient by the images as a convolution by the mirrored window."""
    ends = []
    for axis, (low, _) in enumerate(geometry.padding):
        reach = geometry.dilation[axis] * (geometry.window[axis] - 1)
        spread = (g.shape[2 + axis] - 1) * geometry.stride[axis] + 1
        ends.append((reach - low, shape[2 + axis] - spread + low))
    found = _channels_last(
        g.transpose(0, 2, 3, 1),
        w[:, :, ::-1, ::-1].transpose(2, 3, 0, 1),
        padding=ends,
        lhs_dilation=geometry.stride,
        rhs_dilation=geometry.dilation,
    )
    return found.transpose(0, 3, 1, 2)


def _onto_w(x: Array, g: Array, *, shape: Shape, geometry: Geometry) -> Array:
    """The gradient by the filters as a convolution of the channels by the output."""
    ends = []
    for axis, (low, _) in enumerate(geometry.padding):
        reach = geometry.dilation[axis] * (geometry.window[axis] - 1)
        spread = (g.shape[2 + axis] - 1) * geometry.stride[axis] + 1
        ends.append((low, reach + spread - x.shape[2 + axis] - low))
    found = _channels_last(
        x.transpose(1, 2, 3, 0),
        g.transpose(2, 3, 0, 1),
        window_strides=geometry.dilation,
        padding=ends,
        rhs_dilation=geometry.stride,
    )
    return found.transpose(3, 0, 1, 2)


def _channels_last(x: Array, w: Array, window_strides: Any = (1, 1), **how: Any) -> Array:
    """A convolution in the layout for which XLA has fast code for processors: outside of loops it
    finds that layout by itself.
    """
    return lax.conv_general_dilated(
        x,
        w,
        window_strides,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=lax.Precision.HIGHEST,
        **how,
    )


def _places(geometry: Geometry) -> Iterator[tuple[int, int]]:
    """Where each element of the window begins, from the first one of the padded image."""
    for i in range(geometry.window[0]):
        for j in range(geometry.window[1]):
            yield i * geometry.dilation[0], j * geometry.dilation[1]


def _windows(x: Array, *, geometry: Geometry, fill: float) -> Array:
    rows, columns = geometry.output((x.shape[2], x.shape[3]))
    down, across = geometry.stride
    widths = [(0, 0, 0), (0, 0, 0), *((*ends, 0) for ends in geometry.padding)]
    padded = lax.pad(x, np.asarray(fill).astype(x.dtype), widths)
    seen = [
        padded[
            :, :, top : top + (rows - 1) * down + 1 : down,
            left : left + (columns - 1) * across + 1 : across,
        ]
        for top, left in _places(geometry)
    ]  # fmt: skip
    return jnp.stack(seen).reshape(*geometry.window, *x.shape[:2], rows, columns)


def _fold(patches: Array, *, shape: Shape, geometry: Geometry) -> Array:
    """Each element of the window padded to the image, what lies in the padding cut off; added."""
    zero = np.zeros((), patches.dtype)
    flat = patches.reshape(-1, *patches.shape[2:])
    found = jnp.zeros(shape, patches.dtype)
    for place, starts in enumerate(_places(geometry)):
        widths = [(0, 0, 0), (0, 0, 0)]
        for axis, start in enumerate(starts):
            step = geometry.stride[axis]
            before = start - geometry.padding[axis][0]
            after = shape[2 + axis] - 1 - before - (patches.shape[4 + axis] - 1) * step
            widths.append((before, after, step - 1))
        found = found + lax.pad(flat[place], zero, widths)
    return found


ROWS = {
    "conv2d": JaxRow(_conv),
    "conv2d_x": JaxRow(_conv_x),
    "conv2d_w": JaxRow(_conv_w),
    "windows": JaxRow(_windows),
    "fold": JaxRow(_fold),
}
