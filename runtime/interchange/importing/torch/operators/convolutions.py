"""Convolution, pooling, padding and resizing, over one, two or three axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.table import operator, pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

Sizes: TypeAlias = "int | Sequence[int]"


def _spread(values: Sizes, axes: int) -> Any:
    """As a block takes it: a number over one axis, else one for each."""
    each = tuple(int(v) for v in pairs(values, axes))
    return each[0] if axes == 1 else each


def _batched(stage: Stage, x: Staged, axes: int) -> tuple[Staged, bool]:
    """With an axis for the batch, and whether one was missing."""
    return (stage.reshape(x, (1, *x.shape)), True) if x.ndim == axes + 1 else (x, False)


def _unbatched(stage: Stage, y: Staged, was_single: bool) -> Staged:
    return stage.reshape(y, y.shape[1:]) if was_single else y


def _convolution(
    stage: Stage,
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Staged:
    axes = weight.ndim - 2
    x, single = _batched(stage, x, axes)
    y = stage.block(
        f"Conv{axes}D",
        x,
        weight,
        bias,
        kernel=_spread(weight.shape[2:], axes),
        stride=_spread(stride, axes),
        padding=padding if isinstance(padding, str) else _spread(padding, axes),
        dilation=_spread(dilation, axes),
        groups=int(groups),
    )
    return _unbatched(stage, y, single)


def _transposed(
    stage: Stage,
    x: Staged,
    weight: Staged,
    bias: Staged | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Staged:
    axes = weight.ndim - 2
    x, single = _batched(stage, x, axes)
    y = stage.block(
        f"ConvTranspose{axes}D",
        x,
        weight,
        bias,
        kernel=_spread(weight.shape[2:], axes),
        stride=_spread(stride, axes),
        padding=_spread(padding, axes),
        output_padding=_spread(output_padding, axes),
        dilation=_spread(dilation, axes),
        groups=int(groups),
    )
    return _unbatched(stage, y, single)


for _axes in (1, 2, 3):
    operator(f"conv{_axes}d")(_convolution)
for _name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
    operator(_name, f"{_name}.input")(_transposed)


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


def _pooled(
    stage: Stage,
    kind: str,
    axes: int,
    x: Staged,
    window: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    **more: Any,
) -> Staged:
    x, single = _batched(stage, x, axes)
    stride = window if stride is None or (not isinstance(stride, int) and not stride) else stride
    y = stage.block(
        f"{kind}Pool{axes}D",
        x,
        window=_spread(window, axes),
        stride=_spread(stride, axes),
        padding=_spread(padding, axes),
        **more,
    )
    return _unbatched(stage, y, single)


def _enter_pools(axes: int) -> None:
    @operator(f"max_pool{axes}d")
    def _max(
        stage: Stage,
        x: Staged,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
    ) -> Staged:
        more: dict[str, Any] = {"ceil": True} if ceil_mode else {}
        if any(n != 1 for n in pairs(dilation, axes)):
            more["dilation"] = _spread(dilation, axes)
        return _pooled(stage, "Max", axes, x, kernel_size, stride, padding, **more)

    @operator(f"avg_pool{axes}d")
    def _mean(
        stage: Stage,
        x: Staged,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Staged:
        more: dict[str, Any] = {"ceil": True} if ceil_mode else {}
        if divisor_override:
            raise UnsupportedError("avg_pool", "with a divisor of its own")
        if not count_include_pad and any(pairs(padding, axes)):
            more["count_padding"] = False
        return _pooled(stage, "Avg", axes, x, kernel_size, stride, padding, **more)

    @operator(f"max_pool{axes}d_with_indices")
    def _max_with_indices(stage: Stage, x: Staged, *args: Any, **more: Any) -> list[Staged | None]:
        return [_max(stage, x, *args, **more), None]

    @operator(f"adaptive_avg_pool{axes}d")
    def _adaptive_mean(stage: Stage, x: Staged, output_size: Sizes) -> Staged:
        return _adaptive(stage, "Mean", axes, x, output_size)

    @operator(f"adaptive_max_pool{axes}d")
    def _adaptive_max(stage: Stage, x: Staged, output_size: Sizes) -> list[Staged | None]:
        return [_adaptive(stage, "Max", axes, x, output_size), None]


for _axes in (1, 2, 3):
    _enter_pools(_axes)


def _adaptive(stage: Stage, kind: str, axes: int, x: Staged, output_size: Sizes) -> Staged:
    """Windows that cover an axis evenly, whatever its length."""
    sizes = [
        length if size is None else int(size)
        for size, length in zip(pairs(output_size, axes), x.shape[-axes:], strict=True)
    ]
    if all(size == 1 for size in sizes):
        return stage.block(kind, x, axis=tuple(range(x.ndim - axes, x.ndim)), keepdims=True)
    lengths = x.shape[-axes:]
    if all(length % size == 0 for size, length in zip(sizes, lengths, strict=True)):
        window = [length // size for size, length in zip(sizes, lengths, strict=True)]
        return _pooled(stage, "Avg" if kind == "Mean" else kind, axes, x, window, None, 0)
    for i, size in enumerate(sizes):
        axis = x.ndim - axes + i
        ends = [
            (j * x.shape[axis] // size, -(-(j + 1) * x.shape[axis] // size)) for j in range(size)
        ]
        parts = [
            stage.block(kind, stage.cut(x, axis, a, b), axis=(axis,), keepdims=True)
            for a, b in ends
        ]
        x = parts[0] if size == 1 else stage.block("Concat", *parts, axis=axis)
    return x


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


@operator("pixel_shuffle")
def pixel_shuffle(stage: Stage, x: Staged, factor: int) -> Staged:
    """Channels as finer pixels."""
    *batch, channels, height, width = x.shape
    inner = channels // factor**2
    n = len(batch)
    apart = stage.reshape(x, (*batch, inner, factor, factor, height, width))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return stage.reshape(
        stage.transpose(apart, order), (*batch, inner, height * factor, width * factor)
    )


@operator("pixel_unshuffle")
def pixel_unshuffle(stage: Stage, x: Staged, factor: int) -> Staged:
    """Finer pixels as channels."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    coarse = height // factor, width // factor
    apart = stage.reshape(x, (*batch, channels, coarse[0], factor, coarse[1], factor))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return stage.reshape(stage.transpose(apart, order), (*batch, channels * factor**2, *coarse))


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
    x, single = _batched(stage, x, 2)
    down, across = pairs(padding, 2)
    places, lengths = _windows(x.shape[2:], kernel_size, dilation, padding, stride)
    padded = pad(stage, x, (across, across, down, down))
    flat = stage.reshape(padded, (*x.shape[:2], math.prod(lengths)))
    height, width, rows, columns = places.shape
    shape = (x.shape[0], x.shape[1] * height * width, rows * columns)
    return _unbatched(stage, stage.reshape(stage.take(flat, places.ravel(), 2), shape), single)


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
    single = x.ndim == 2
    x = stage.reshape(x, (1, *x.shape)) if single else x
    places, lengths = _windows(output_size, kernel_size, dilation, padding, stride)
    channels = x.shape[1] // (places.shape[0] * places.shape[1])
    flat = stage.reshape(x, (x.shape[0], channels, places.size))
    empty = stage.constant(np.zeros((*flat.shape[:2], math.prod(lengths)), x.dtype))
    where = stage.constant(places.ravel())
    image = stage.block("ScatterRows", empty, where, flat, mode="add", axis=2)
    image = stage.reshape(image, (*flat.shape[:2], *lengths))
    for axis, (before, length) in enumerate(zip(pairs(padding, 2), output_size, strict=True)):
        image = stage.cut(image, 2 + axis, before, before + length)
    return _unbatched(stage, image, single)


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
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        x = _padded(stage, x, x.ndim - 1 - i, before, after, how, float(number or 0))
    return x


def _padded(
    stage: Stage, x: Staged, axis: int, before: int, after: int, mode: str, value: float
) -> Staged:
    length = x.shape[axis]
    if mode != "constant":
        how = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        # numpy's annotations want a literal here, and this is one of several.
        places = np.pad(np.arange(length), (before, after), how)  # type: ignore[call-overload]
        return stage.take(x, places, axis)
    x = stage.cut(x, axis, max(0, -before), length - max(0, -after))
    widths = [(0, 0)] * x.ndim
    widths[axis] = (max(0, before), max(0, after))
    return stage.block("Pad", x, widths=tuple(widths), value=value) if any(widths[axis]) else x


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
