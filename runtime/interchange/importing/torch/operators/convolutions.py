"""Convolution, pooling, padding and resizing, over one, two or three axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import shapes, windows
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import Operator, enter, pairs

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

_PADDINGS = {"replicate": "edge", "circular": "wrap"}
"""PyTorch's names of ways to pad, as NumPy has them."""
_MODES, _OUTSIDE = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
"""Of a grid_sampler, by PyTorch's numbers."""
Sizes: TypeAlias = "int | Sequence[int]"


def _batched(function: Callable[..., Staged], rank: int = 0) -> Operator:
    """A meaning of what may lack the axis of the batch, which its result lacks then too.

    Its axes are as many as told, or as the weight has.
    """

    def row(x: Staged, *args: Any, **more: Any) -> Staged:
        if x.ndim != (rank or args[0].ndim - 2) + 1:
            return function(x, *args, **more)
        y = function(x.stage.reshape(x, (1, *x.shape)), *args, **more)
        return y.stage.reshape(y, y.shape[1:])

    return row


_conv, _conv_transpose = _batched(windows.conv), _batched(windows.conv_transpose)


def _avg_pool(
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
    return windows.pool("Avg", x, kernel_size, stride, padding, 1, ceil_mode, count_include_pad)


def _adaptive(kind: str, rank: int) -> Operator:
    """None for a size keeps the length."""

    def pool(x: Staged, output_size: Sizes) -> Staged:
        sizes = zip(pairs(output_size, rank), x.shape[-rank:], strict=True)
        given = [length if size is None else int(size) for size, length in sizes]
        return windows.adaptive_pool(kind, x, given)

    return _batched(pool, rank)


def _without_places(pool: Operator) -> Operator:
    """With the places of the largest as a second result, which no block can express."""
    return lambda *args, **more: [pool(*args, **more), None]


def _resized(
    mode: str,
    x: Staged,
    size: Sequence[int] | None,
    align_corners: bool = False,
    factors: Sequence[float] | None = None,
) -> Staged:
    """To new lengths, or by factors: the old element that a new one falls into, or lines."""
    if size is None and align_corners and factors:
        size = [math.floor(n * f) for n, f in zip(x.shape[2:], factors, strict=True)]
    given = {"scales": factors} if size is None else {"sizes": size}
    smooth = "align_corners" if align_corners else "half_pixel"
    coordinates = "asymmetric" if mode == "nearest" else smooth
    axes = tuple(range(2, x.ndim))
    return put(
        "Resize", x, mode=mode, axes=axes, coordinates=coordinates, rounding="floor", **given
    )


def _affine_grid(theta: Staged, size: Sequence[int], align_corners: bool = False) -> Staged:
    """Where each pixel of an image lies once matrices have moved it: (n, 2, 3) to (n, h, w, 2)."""
    along = []
    for length in size[2:]:
        ends = 1.0 if align_corners else (length - 1) / length
        along.append(np.linspace(-ends, ends, length) if length > 1 else np.zeros(1))
    grids = np.meshgrid(*along, indexing="ij")
    places = np.stack([*reversed(grids), np.ones(size[2:])], axis=-1)
    stage = theta.stage
    flat = stage.constant(places.reshape(-1, places.shape[-1]).astype(theta.dtype))
    return stage.reshape(flat @ shapes.swap(theta, 1, 2), (size[0], *size[2:], len(along)))


def _pad(
    x: Staged, pad: Sequence[int], mode: str | float = "constant", value: float | None = None
) -> Staged:
    """More elements at both ends of the last axes; negative widths take some away."""
    how = mode if isinstance(mode, str) else "constant"
    number = value if isinstance(mode, str) else mode  # constant_pad_nd(x, pad, value)
    widths = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (x.ndim - len(widths)) + widths
    return shapes.pad(x, widths, float(number or 0), _PADDINGS.get(how, how))


for _rank, _name in enumerate(("linear", "bilinear", "trilinear"), 1):
    _max = _batched(partial(windows.pool, "Max"), _rank)
    enter({
        f"conv{_rank}d": _conv,
        f"conv_transpose{_rank}d": _conv_transpose,
        f"max_pool{_rank}d": _max,
        f"max_pool{_rank}d_with_indices": _without_places(_max),
        f"avg_pool{_rank}d": _batched(_avg_pool, _rank),
        f"adaptive_avg_pool{_rank}d": _adaptive("Mean", _rank),
        f"adaptive_max_pool{_rank}d": _without_places(_adaptive("Max", _rank)),
        f"upsample_nearest{_rank}d.vec": lambda x, size, factors=None: _resized(
            "nearest", x, size, factors=factors
        ),
        f"upsample_{_name}{_rank}d.vec": partial(_resized, "linear"),
    })  # fmt: skip
enter({
    "convolution _convolution": (
        lambda x, w, bias, stride, pad, dilation, transposed, more, groups, *rest: (
            _conv_transpose(x, w, bias, stride, pad, more, groups, dilation)
            if transposed
            else _conv(x, w, bias, stride, pad, dilation, groups)
        )
    ),
    "channel_shuffle": lambda x, groups: shapes.flatten(
        shapes.swap(shapes.unflatten(x, 1, (groups, -1)), 1, 2), 1, 2
    ),
    "im2col": _batched(windows.im2col, 2),
    "col2im": _batched(windows.col2im, 1),
    "affine_grid_generator": _affine_grid,
    "pad constant_pad_nd": _pad,
    "pixel_shuffle": partial(shapes.depth_to_space, depth_first=False),
    "pixel_unshuffle": partial(shapes.space_to_depth, depth_first=False),
    "grid_sampler grid_sampler_2d grid_sampler_3d": (
        lambda x, grid, mode=0, outside=0, align_corners=False: put(
            "GridSample", x, grid, mode=_MODES[mode], padding=_OUTSIDE[outside],
            align_corners=bool(align_corners),
        )
    ),
})  # fmt: skip
