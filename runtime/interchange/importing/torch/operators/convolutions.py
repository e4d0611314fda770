"""Convolution, pooling, padding and resizing, over one, two or three axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import depth_to_space, space_to_depth
from gradwire.runtime.interchange.importing.meanings.shapes import pad as padded
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Operator,
    enter,
    operator,
    pairs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_MODES = {"replicate": "edge", "circular": "wrap"}
"""PyTorch's names of ways to pad, as NumPy has them."""
Sizes: TypeAlias = "int | Sequence[int]"


def _batched(
    x: Staged, rank: int, meaning: Callable[..., Staged], *args: Any, **more: Any
) -> Staged:
    """A meaning of what may lack the axis of the batch, which its result lacks then too."""
    if x.ndim != rank + 1:
        return meaning(x, *args, **more)
    y = meaning(x.stage.reshape(x, (1, *x.shape)), *args, **more)
    return y.stage.reshape(y, y.shape[1:])


def _convolution(
    _: Stage,
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Staged:
    more = (weight, bias, stride, padding, dilation, groups)
    return _batched(x, weight.ndim - 2, windows.conv, *more)


def _transposed(
    _: Stage,
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Staged:
    more = (weight, bias, stride, padding, output_padding, dilation, groups)
    return _batched(x, weight.ndim - 2, windows.conv_transpose, *more)


@operator("convolution", "_convolution")
def convolution(
    stage: Stage,
    x: Staged,
    weight: Staged,
    bias: Staged | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    *_: Any,
) -> Staged:
    """A convolution or a transposed one."""
    if transposed:
        return _transposed(
            stage, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _convolution(stage, x, weight, bias, stride, padding, dilation, groups)


def _max_pool(
    rank: int,
    _: Stage,
    x: Staged,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Staged:
    pool = partial(windows.pool, "Max")
    return _batched(x, rank, pool, kernel_size, stride, padding, dilation, ceil_mode)


def _avg_pool(
    rank: int,
    _: Stage,
    x: Staged,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Staged:
    if divisor_override:
        raise UnsupportedError("avg_pool", "with a divisor of its own")
    pool = partial(windows.pool, "Avg")
    return _batched(x, rank, pool, kernel_size, stride, padding, 1, ceil_mode, count_include_pad)


def _adaptive(kind: str, rank: int, _: Stage, x: Staged, output_size: Sizes) -> Staged:
    """None for a size keeps the length."""
    sizes = zip(pairs(output_size, rank), x.shape[-rank:], strict=True)
    given = [length if size is None else int(size) for size, length in sizes]
    return _batched(x, rank, partial(windows.adaptive_pool, kind), given)


def _without_places(pool: Callable[..., Staged]) -> Operator:
    """With the places of the largest as a second result, which no block can express."""
    return lambda *args, **more: [pool(*args, **more), None]


for _rank in (1, 2, 3):
    enter({
        f"conv{_rank}d": _convolution,
        f"conv_transpose{_rank}d": _transposed,
        f"conv_transpose{_rank}d.input": _transposed,
        f"max_pool{_rank}d": partial(_max_pool, _rank),
        f"max_pool{_rank}d_with_indices": _without_places(partial(_max_pool, _rank)),
        f"avg_pool{_rank}d": partial(_avg_pool, _rank),
        f"adaptive_avg_pool{_rank}d": partial(_adaptive, "Mean", _rank),
        f"adaptive_max_pool{_rank}d": _without_places(partial(_adaptive, "Max", _rank)),
    })  # fmt: skip


def _new_sizes(x: Staged, size: Sequence[int] | None, factors: Sequence[float] | None) -> list[int]:
    if size is not None:
        return [int(n) for n in size]
    assert factors is not None
    lengths = x.shape[-len(factors) :]
    return [math.floor(n * f) for n, f in zip(lengths, factors, strict=True)]


@operator("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(
    stage: Stage,
    x: Staged,
    output_size: Sequence[int] | None,
    scale_factors: Sequence[float] | None = None,
) -> Staged:
    """Each new element is the old one that it falls into."""
    sizes = _new_sizes(x, output_size, scale_factors)
    for i, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + i
        places = np.minimum(np.arange(size) * x.shape[axis] // size, x.shape[axis] - 1)
        x = stage.take(x, places, axis)
    return x


@operator("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def upsample_linear(
    stage: Stage,
    x: Staged,
    output_size: Sequence[int] | None,
    align_corners: bool = False,
    scale_factors: Sequence[float] | None = None,
) -> Staged:
    """New elements on straight lines between the old ones."""
    sizes = _new_sizes(x, output_size, scale_factors)
    for i, size in enumerate(sizes):
        axis = x.ndim - len(sizes) + i
        factor = None if output_size is not None or not scale_factors else scale_factors[i]
        low, high, share = _between(x.shape[axis], size, align_corners, factor)
        shape = [1] * x.ndim
        shape[axis] = size
        weight = stage.constant(share.reshape(shape).astype(x.dtype))
        a, b = stage.take(x, low, axis), stage.take(x, high, axis)
        x = a + (b - a) * weight
    return x


def _between(length: int, size: int, align_corners: bool, factor: float | None) -> Any:
    """The two old elements around each new one, and how far it is from the first."""
    if align_corners:
        at = np.arange(size) * ((length - 1) / max(1, size - 1))
    else:
        step = length / size if factor is None else 1 / factor
        at = np.maximum((np.arange(size) + 0.5) * step - 0.5, 0)
    low = np.minimum(at.astype(np.int64), length - 1)
    return low, np.minimum(low + 1, length - 1), at - low


@operator("channel_shuffle")
def channel_shuffle(stage: Stage, x: Staged, groups: int) -> Staged:
    """The first channels of all groups, then the second ones, and so on."""
    batch, channels, *rest = x.shape
    apart = stage.reshape(x, (batch, groups, channels // groups, *rest))
    return stage.reshape(stage.transpose(apart, (0, 2, 1, *range(3, x.ndim + 1))), x.shape)


def _windows(
    size: Sequence[int], kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[NDArray[Any], Shape]:
    """The flat places of all windows in an image with its padding, of shape (height, width, rows,
    columns), and the shape of that image.
    """
    lengths = [n + 2 * p for n, p in zip(size, pairs(padding, 2), strict=True)]
    along = []
    each = (lengths, pairs(kernel, 2), pairs(dilation, 2), pairs(stride, 2))
    for length, count, apart, step in zip(*each, strict=True):
        starts = np.arange(0, length - apart * (count - 1), step)
        along.append(np.arange(count)[:, None] * apart + starts)
    rows, columns = along
    places = rows[:, None, :, None] * lengths[1] + columns[None, :, None, :]
    return places, (lengths[0], lengths[1])


@operator("im2col")
def im2col(
    stage: Stage, x: Staged, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Staged:
    """The windows of an image as columns: (n, c, …, …) gives (n, c * kernel, windows)."""
    places, lengths = _windows(x.shape[-2:], kernel_size, dilation, padding, stride)
    down, across = pairs(padding, 2)
    height, width, rows, columns = places.shape

    def columns_of(x: Staged) -> Staged:
        padded = pad(stage, x, (across, across, down, down))
        flat = stage.reshape(padded, (*x.shape[:2], math.prod(lengths)))
        shape = (x.shape[0], x.shape[1] * height * width, rows * columns)
        return stage.reshape(stage.take(flat, places.ravel(), 2), shape)

    return _batched(x, 2, columns_of)


@operator("col2im")
def col2im(
    stage: Stage,
    x: Staged,
    output_size: Sequence[int],
    kernel_size: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Staged:
    """The image of which these are the windows as columns; where they overlap, their sum."""
    places, lengths = _windows(output_size, kernel_size, dilation, padding, stride)

    def image_of(x: Staged) -> Staged:
        channels = x.shape[1] // (places.shape[0] * places.shape[1])
        flat = stage.reshape(x, (x.shape[0], channels, places.size))
        empty = stage.constant(np.zeros((*flat.shape[:2], math.prod(lengths)), x.dtype))
        where = stage.constant(places.ravel())
        image = stage.block("ScatterRows", empty, where, flat, mode="add", axis=2)
        image = stage.reshape(image, (*flat.shape[:2], *lengths))
        for axis, (before, length) in enumerate(zip(pairs(padding, 2), output_size, strict=True)):
            image = stage.cut(image, 2 + axis, before, before + length)
        return image

    return _batched(x, 1, image_of)


@operator("affine_grid_generator")
def affine_grid(
    stage: Stage, theta: Staged, size: Sequence[int], align_corners: bool = False
) -> Staged:
    """Where each pixel of an image lies once matrices have moved it: (n, 2, 3) to (n, h, w, 2)."""
    along = []
    for length in size[2:]:
        ends = 1.0 if align_corners else (length - 1) / length
        along.append(np.linspace(-ends, ends, length) if length > 1 else np.zeros(1))
    grids = np.meshgrid(*along, indexing="ij")
    places = np.stack([*reversed(grids), np.ones(size[2:])], axis=-1)
    flat = stage.constant(places.reshape(-1, places.shape[-1]).astype(theta.dtype))
    moved = stage.block("MatMul", flat, stage.transpose(theta, (0, 2, 1)))
    return stage.reshape(moved, (size[0], *size[2:], len(along)))


@operator("pad", "constant_pad_nd")
def pad(
    stage: Stage,
    x: Staged,
    pad: Sequence[int],
    mode: str | float = "constant",
    value: float | None = None,
) -> Staged:
    """More elements at both ends of the last axes; negative widths take some away."""
    how = mode if isinstance(mode, str) else "constant"
    number = value if isinstance(mode, str) else mode  # constant_pad_nd(x, pad, value)
    widths = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return padded(
        x, [(0, 0)] * (x.ndim - len(widths)) + widths, float(number or 0), _MODES.get(how, how)
    )


enter({
    "pixel_shuffle": lambda _, x, factor: depth_to_space(x, factor, depth_first=False),
    "pixel_unshuffle": lambda _, x, factor: space_to_depth(x, factor, depth_first=False),
})  # fmt: skip


@operator("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(
    stage: Stage,
    x: Staged,
    grid: Staged,
    interpolation_mode: int = 0,
    padding_mode: int = 0,
    align_corners: bool = False,
) -> Staged:
    """An image read between its elements, with PyTorch's numbers for the modes."""
    return stage.block(
        "GridSample",
        x,
        grid,
        mode=("linear", "nearest", "cubic")[interpolation_mode],
        padding=("zeros", "border", "reflection")[padding_mode],
        align_corners=bool(align_corners),
    )
