"""Layers over images and sequences, whose channels are last in Keras and first in blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.keras.functions import activated
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.staged import named, put

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


class Layouts:
    """Values with channels last, and the same ones with channels first where they are known."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._first: dict[Staged, Staged] = {}

    def first(self, x: Staged) -> Staged:
        """A value with channels before the spatial axes."""
        if x not in self._first:
            order = (0, x.ndim - 1, *range(1, x.ndim - 1))
            self._first[x] = self._stage.transpose(x, order)
        return self._first[x]

    def last(self, x: Staged) -> Staged:
        """A value with channels first, in the layout of Keras."""
        turned = self._stage.transpose(x, (0, *range(2, x.ndim), 1))
        self._first[turned] = x
        return turned

    def known(self, x: Staged) -> Staged | None:
        """The value with channels first, if some block gives it."""
        return self._first.get(x)


def image(call: LayerCall, rank: int) -> Staged:
    """The input with channels first; raises UnsupportedError for another layout or rank."""
    x = call.x()
    if x.ndim != rank + 2:
        raise call.unsupported(f"its input has the shape {x.shape}")
    if call.config.text("data_format", "channels_last") == "channels_first":
        return x
    return call.layouts.first(x)


def result(call: LayerCall, x: Staged) -> Staged:
    """An output with channels first, in the layout of the layer."""
    if call.config.text("data_format", "channels_last") == "channels_first":
        return x
    return call.layouts.last(x)


def _outward(kernel: Array) -> Array:
    """A kernel (…, in, out) as (out, in, …); one of a transposed layer as (in, out, …)."""
    return np.ascontiguousarray(np.moveaxis(kernel, (-1, -2), (0, 1)))


def _geometry(call: LayerCall, rank: int) -> dict[str, Any]:
    padding: windows.Padding = call.config.text("padding", "valid")
    dilation = call.config.wholes("dilation_rate", rank, 1)
    if padding == "causal":
        padding = [((call.config.wholes("kernel_size", rank)[0] - 1) * dilation[0], 0)]
    elif padding not in ("valid", "same"):
        raise call.unsupported(f"its padding is {str(padding)[:20]!r}")
    stride = call.config.wholes("strides", rank, 1)
    return {"stride": stride, "padding": padding, "dilation": dilation}


def _bias(call: LayerCall, number: int) -> Staged | None:
    return call.variable(number, "bias") if call.config.flag("use_bias", True) else None


def _activated(call: LayerCall, y: Staged) -> Staged:
    """An output with its activation."""
    return result(call, activated(call, y, axis=1))


def _convolution(rank: int) -> Operator:
    return lambda call: _activated(call, windows.conv(
        image(call, rank), call.variable(0, "kernel", _outward), _bias(call, 1),
        **_geometry(call, rank), groups=call.config.whole("groups", 1),
    ))  # fmt: skip


def _by_channel(kernel: Array) -> Array:
    """A kernel (…, channels, times) as (channels * times, 1, …)."""
    turned = np.moveaxis(kernel, (-2, -1), (0, 1))
    return np.ascontiguousarray(turned.reshape(-1, 1, *kernel.shape[:-2]))


def _depthwise(rank: int, call: LayerCall) -> Staged:
    x, weight = image(call, rank), call.variable(0, "kernel", _by_channel)
    more = _geometry(call, rank)
    return _activated(call, windows.conv(x, weight, _bias(call, 1), **more, groups=x.shape[1]))


def _separable(rank: int, call: LayerCall) -> Staged:
    """Each channel by itself, then all channels of each pixel."""
    x, depth = image(call, rank), call.variable(0, "depthwise_kernel", _by_channel)
    y = windows.conv(x, depth, **_geometry(call, rank), groups=x.shape[1])
    point = call.variable(1, "pointwise_kernel", _outward)
    return _activated(call, windows.conv(named(y, "depthwise"), point, _bias(call, 2)))


def _transposed(rank: int, call: LayerCall) -> Staged:
    """The transpose of a convolution; of SAME, the output is as long as the input times strides."""
    kernel = call.config.wholes("kernel_size", rank)
    strides = call.config.wholes("strides", rank, 1)
    if call.config.json("output_padding") is not None:
        raise call.unsupported("it has padding of the output")
    if set(call.config.wholes("dilation_rate", rank, 1)) != {1}:
        raise call.unsupported("it is dilated")
    x, same = image(call, rank), call.config.text("padding", "valid") == "same"
    lengths = [
        n * s if same else (n - 1) * s + max(k, s)
        for n, k, s in zip(x.shape[2:], kernel, strides, strict=True)
    ]
    weight, bias = call.variable(0, "kernel", _outward), _bias(call, 1)
    return _activated(call, windows.conv_transpose(x, weight, bias, strides, lengths=lengths))


CONVOLUTIONS: dict[str, Operator] = {
    **{f"Conv{rank}D": _convolution(rank) for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": partial(_depthwise, rank) for rank in (1, 2)},
    **{f"SeparableConv{rank}D": partial(_separable, rank) for rank in (1, 2)},
    **{f"Conv{rank}DTranspose": partial(_transposed, rank) for rank in (1, 2, 3)},
}


_MODES = {"nearest": "nearest", "bilinear": "linear"}


def _pooling(kind: str, rank: int, call: LayerCall) -> Staged:
    has_strides = call.config.json("strides") is not None
    y = windows.pool(
        kind, image(call, rank), call.config.wholes("pool_size", rank),
        call.config.wholes("strides", rank) if has_strides else None,
        call.config.text("padding", "valid"), count_include_pad=False,
    )  # fmt: skip
    return result(call, y)


def _global(kind: str, rank: int, call: LayerCall) -> Staged:
    keepdims = call.config.flag("keepdims", False)
    y = windows.pool_everywhere(kind, image(call, rank), keepdims)
    return result(call, y) if keepdims else y


def _pairs(call: LayerCall, key: str, rank: int) -> list[tuple[int, int]]:
    """Two lengths for each spatial axis, given as one number, one for each axis, or pairs."""
    given = call.config.json(key)
    parts = given if isinstance(given, list) else [given] * (rank if rank > 1 else 2)
    if rank == 1:
        parts = [parts]
    found = [part if isinstance(part, list) else [part, part] for part in parts]
    lengths = [n for pair in found for n in pair if type(n) is int and 0 <= n < 2**31]
    if len(found) != rank or any(len(pair) != 2 for pair in found) or len(lengths) != 2 * rank:
        raise call.unsupported(f"its {key} is {str(given)[:80]}")
    return list(zip(lengths[::2], lengths[1::2], strict=True))


def _padding(rank: int, call: LayerCall) -> Staged:
    pairs = _pairs(call, "padding", rank)
    y = put("Pad", image(call, rank), widths=((0, 0), (0, 0), *pairs))
    return result(call, y)


def _cropping(rank: int, call: LayerCall) -> Staged:
    x = image(call, rank)
    for axis, (before, after) in enumerate(_pairs(call, "cropping", rank), 2):
        x = call.stage.cut(x, axis, before, x.shape[axis] - after)
    return result(call, x)


def _enlarged(call: LayerCall) -> Staged:
    """Every pixel repeated, or what lies between them interpolated."""
    x, size = image(call, 2), call.config.wholes("size", 2)
    mode = call.config.text("interpolation", "nearest")
    if mode not in _MODES:
        raise call.unsupported(f"its interpolation is {mode[:20]!r}")
    sizes = tuple(n * times for n, times in zip(x.shape[2:], size, strict=True))
    y = put("Resize", x, mode=_MODES[mode], sizes=sizes, axes=(2, 3), rounding="round_prefer_ceil")
    return result(call, y)


POOLINGS: dict[str, Operator] = {"UpSampling2D": _enlarged}
for _rank in (1, 2, 3):
    POOLINGS |= {
        f"MaxPooling{_rank}D": partial(_pooling, "Max", _rank),
        f"AveragePooling{_rank}D": partial(_pooling, "Avg", _rank),
        f"GlobalMaxPooling{_rank}D": partial(_global, "Max", _rank),
        f"GlobalAveragePooling{_rank}D": partial(_global, "Mean", _rank),
        f"ZeroPadding{_rank}D": partial(_padding, _rank),
        f"Cropping{_rank}D": partial(_cropping, _rank),
    }
