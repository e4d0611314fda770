"""Convolutions over one to three axes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.keras.layers.activations import activated
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.staged import named

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


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


def _result(call: LayerCall, y: Staged) -> Staged:
    """An output with its activation."""
    return result(call, activated(call, y, axis=1))


def _convolution(rank: int) -> Operator:
    return lambda call: _result(call, windows.conv(
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
    return _result(call, windows.conv(x, weight, _bias(call, 1), **more, groups=x.shape[1]))


def _separable(rank: int, call: LayerCall) -> Staged:
    """Each channel by itself, then all channels of each pixel."""
    x, depth = image(call, rank), call.variable(0, "depthwise_kernel", _by_channel)
    y = windows.conv(x, depth, **_geometry(call, rank), groups=x.shape[1])
    point = call.variable(1, "pointwise_kernel", _outward)
    return _result(call, windows.conv(named(y, "depthwise"), point, _bias(call, 2)))


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
    return _result(call, windows.conv_transpose(x, weight, bias, strides, lengths=lengths))


LAYERS: dict[str, Operator] = {
    **{f"Conv{rank}D": _convolution(rank) for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": partial(_depthwise, rank) for rank in (1, 2)},
    **{f"SeparableConv{rank}D": partial(_separable, rank) for rank in (1, 2)},
    **{f"Conv{rank}DTranspose": partial(_transposed, rank) for rank in (1, 2, 3)},
}
