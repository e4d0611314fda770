"""Convolution, pooling and normalisation of images: channels last there, first here."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.interchange.importing.meanings import normalisation, windows
from gradwire.runtime.interchange.importing.meanings.shapes import move
from gradwire.runtime.interchange.importing.staged import named, put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item


How: TypeAlias = "tuple[tuple[int, ...], windows.Padding, tuple[int, ...]]"
"""Stride, padding and dilation."""


def _channels_last(call: TensorFlowCall) -> bool:
    return not call.attributes.text("data_format", "NHWC").startswith("NC")


def _inward(call: TensorFlowCall, number: int = 0) -> Staged:
    """An input with its channels before its spatial axes."""
    return move(call.x(number), -1, 1) if _channels_last(call) else call.x(number)


def _outward(call: TensorFlowCall, y: Staged) -> Staged:
    """What ``_inward`` did, undone; the block before is the main one of the node."""
    return move(named(y, call.name), 1, -1) if _channels_last(call) else y


def _spatial(call: TensorFlowCall, key: str, rank: int) -> tuple[int, ...]:
    """An attribute's numbers for the spatial axes; 1 where it is missing."""
    numbers = call.attributes.wholes(key) or (1,) * (rank + 2)
    inner = numbers[1:-1] if _channels_last(call) else numbers[2:]
    outer = (numbers[0], numbers[-1] if _channels_last(call) else numbers[1])
    if len(numbers) != rank + 2 or outer != (1, 1):
        raise call.unsupported(f"its {key} is {numbers[:8]}")
    return inner


def _padding(call: TensorFlowCall, rank: int) -> windows.Padding:
    """``valid``, ``same``, or the zeros before and after each spatial axis."""
    name = call.attributes.text("padding")
    if name in ("SAME", "VALID"):
        return name.lower()
    widths = call.attributes.wholes("explicit_paddings")
    if len(widths) != 2 * rank + 4:
        raise call.unsupported(f"its padding is {name[:20]}")
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    return pairs[1:-1] if _channels_last(call) else pairs[2:]


def _kernel(call: TensorFlowCall) -> Staged:
    """A kernel (…, in, out) as (out, in, …), or one of a transposed convolution as (in, out, …)."""
    weight, rank = call.x(1), call.x(1).ndim
    return call.stage.transpose(weight, (rank - 1, rank - 2, *range(rank - 2)))


def _how(call: TensorFlowCall, rank: int) -> How:
    return _spatial(call, "strides", rank), _padding(call, rank), _spatial(call, "dilations", rank)


def _convolution(call: TensorFlowCall) -> Staged:
    x, weight = _inward(call), _kernel(call)
    groups = x.shape[1] // max(weight.shape[1], 1)
    how = _how(call, weight.ndim - 2)
    return _outward(call, windows.conv(x, weight, None, *how, groups))


def _depthwise(call: TensorFlowCall) -> Staged:
    x, weight = _inward(call), windows.depthwise(call.x(1))
    return _outward(call, windows.conv(x, weight, None, *_how(call, 2), x.shape[1]))


def _transposed(call: TensorFlowCall) -> Staged:
    """The gradient of a convolution, which enlarges: a wanted shape, a kernel and a value."""
    wanted, y = call.shape(0), _inward(call, 2)
    lengths = wanted[1:-1] if _channels_last(call) else wanted[2:]
    weight, stride = _kernel(call), _spatial(call, "strides", 2)
    return _outward(call, windows.conv_transpose(y, weight, None, stride, lengths=lengths))


def _pool(kind: str, call: TensorFlowCall) -> Staged:
    x = _inward(call)
    size, stride = (_spatial(call, key, x.ndim - 2) for key in ("ksize", "strides"))
    padding = _padding(call, x.ndim - 2)
    return _outward(call, windows.pool(kind, x, size, stride, padding, count_include_pad=False))


def _bias(call: TensorFlowCall) -> Staged:
    x, bias = call.x(0), call.x(1)
    if not _channels_last(call):
        bias = call.stage.reshape(bias, (bias.size, *(1,) * (x.ndim - 2)))
    return x + bias


def _normalised(call: TensorFlowCall) -> tuple[Item, ...]:
    """By given statistics or, in training, by those of the batch."""
    x, gamma, beta, mean, variance = call.xs(5)
    trains = call.attributes.flag("is_training", True)
    found = normalisation.batch_norm(
        x, gamma, beta, None if trains else mean, None if trains else variance,
        trains or call.training, call.attributes.number("epsilon", 1e-4),
        axis=x.ndim - 1 if _channels_last(call) else 1,
    )  # fmt: skip
    named(found[0], call.name)
    return *found, None, None, None


def _enlarged(mode: str, call: TensorFlowCall) -> Staged:
    """Images of another size; half a pixel is never taken off a coordinate in rounding it."""
    ends, half = map(call.attributes.flag, ("align_corners", "half_pixel_centers"))
    height, width = call.shape(1)
    y = put(
        "Resize", move(call.x(), -1, 1), mode=mode, sizes=(height, width), axes=(2, 3),
        coordinates="align_corners" if ends else "half_pixel" if half else "asymmetric",
        rounding="round_prefer_ceil" if ends or half else "floor",
    )  # fmt: skip
    return move(named(y, call.name), 1, -1)


OPERATORS: dict[str, Operator] = {
    "Conv2D": _convolution, "Conv3D": _convolution, "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _transposed, "BiasAdd": _bias,
    **{f"{kind}Pool{rank}": partial(_pool, kind) for kind in ("Max", "Avg") for rank in ("", "3D")},
    **{f"FusedBatchNorm{version}": _normalised for version in ("", "V2", "V3")},
    "ResizeNearestNeighbor": partial(_enlarged, "nearest"),
    "ResizeBilinear": partial(_enlarged, "linear"),
}  # fmt: skip
