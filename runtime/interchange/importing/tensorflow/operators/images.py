"""Convolution, pooling and normalisation of images: channels last there, first here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

_SUFFIX = {2: "2D", 3: "3D"}


def _channels_last(call: Call) -> bool:
    return not call.attributes.text("data_format", "NHWC").startswith("NC")


def _inward(call: Call, x: Staged) -> Staged:
    """The value with its channels before its spatial axes."""
    if not _channels_last(call):
        return x
    return call.stage.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def _outward(call: Call, x: Staged) -> Staged:
    """What ``_inward`` did, undone."""
    return call.stage.transpose(x, (0, *range(2, x.ndim), 1)) if _channels_last(call) else x


def _spatial(call: Call, key: str, rank: int) -> tuple[int, ...]:
    """An attribute's numbers for the spatial axes; 1 where it is missing."""
    numbers = call.attributes.wholes(key) or (1,) * (rank + 2)
    inner = numbers[1:-1] if _channels_last(call) else numbers[2:]
    outer = (numbers[0], numbers[-1] if _channels_last(call) else numbers[1])
    if len(numbers) != rank + 2 or outer != (1, 1):
        raise call.unsupported(f"its {key} is {numbers[:8]}")
    return inner


def _padding(call: Call, rank: int) -> Any:
    """``valid``, ``same``, or the zeros before and after each spatial axis."""
    name = call.attributes.text("padding")
    if name in ("SAME", "VALID"):
        return name.lower()
    widths = call.attributes.wholes("explicit_paddings")
    pairs = tuple(zip(widths[::2], widths[1::2], strict=True))
    if len(pairs) != rank + 2:
        raise call.unsupported(f"its padding is {name[:20]}")
    return pairs[1:-1] if _channels_last(call) else pairs[2:]


def _kernel(call: Call, weight: Staged) -> Staged:
    """A kernel (height, width, in, out) as (out, in, height, width)."""
    rank = weight.ndim
    return call.stage.transpose(weight, (rank - 1, rank - 2, *range(rank - 2)))


def _convolution(call: Call) -> Staged:
    x, weight = _inward(call, call.x(0)), _kernel(call, call.x(1))
    rank = weight.ndim - 2
    out = call.block(
        f"Conv{_SUFFIX[rank]}", x, weight, kernel=weight.shape[2:],
        stride=_spatial(call, "strides", rank), dilation=_spatial(call, "dilations", rank),
        padding=_padding(call, rank), groups=x.shape[1] // max(weight.shape[1], 1),
    )  # fmt: skip
    return _outward(call, out)


def _depthwise(call: Call) -> Staged:
    """Every channel convolved by itself: the kernel is (height, width, channels, times)."""
    x, weight = _inward(call, call.x(0)), call.x(1)
    height, width, channels, times = weight.shape
    turned = call.stage.transpose(weight, (2, 3, 0, 1))
    flat = call.stage.reshape(turned, (channels * times, 1, height, width))
    out = call.block(
        "Conv2D", x, flat, kernel=(height, width), stride=_spatial(call, "strides", 2),
        dilation=_spatial(call, "dilations", 2), padding=_padding(call, 2), groups=channels,
    )  # fmt: skip
    return _outward(call, out)


def _transposed(call: Call) -> Staged:
    """The gradient of a convolution, which enlarges: a wanted shape, a kernel and a value."""
    wanted, weight, y = call.shape(0), call.x(1), _inward(call, call.x(2))
    stride = _spatial(call, "strides", 2)
    sizes = wanted[1:-1] if _channels_last(call) else wanted[2:]
    kernel = weight.shape[:2]
    padding, more = [], []
    for length, size, width, step in zip(y.shape[2:], sizes, kernel, stride, strict=True):
        full = (length - 1) * step + width
        before, after = _cropped(call, full, size)
        padding.append((before, max(after, 0)))
        more.append(max(-after, 0))
    out = call.block(
        "ConvTranspose2D", y, _kernel_of_transposed(call, weight), kernel=kernel, stride=stride,
        padding=tuple(padding), output_padding=tuple(more),
    )  # fmt: skip
    return _outward(call, out)


def _kernel_of_transposed(call: Call, weight: Staged) -> Staged:
    """A kernel (height, width, out, in) as (in, out, height, width)."""
    return call.stage.transpose(weight, (3, 2, 0, 1))


def _cropped(call: Call, full: int, size: int) -> tuple[int, int]:
    """How much of a full result is cut off before and after, SAME or VALID."""
    if call.attributes.text("padding") == "VALID":
        return 0, full - size
    before = max(full - size, 0) // 2
    return before, full - size - before


def _max_pool(call: Call) -> Staged:
    return _pool(call, "MaxPool", call.x(), {})


def _avg_pool(call: Call) -> Staged:
    return _pool(call, "AvgPool", call.x(), {"count_padding": False})


def _pool(call: Call, kind: str, x: Staged, more: dict[str, Any]) -> Staged:
    x = _inward(call, x)
    rank = x.ndim - 2
    out = call.block(
        f"{kind}{_SUFFIX[rank]}", x, window=_spatial(call, "ksize", rank),
        stride=_spatial(call, "strides", rank), padding=_padding(call, rank), **more,
    )  # fmt: skip
    return _outward(call, out)


def _bias(call: Call) -> Staged:
    x, bias = call.x(0), call.x(1)
    if not _channels_last(call):
        bias = call.stage.reshape(bias, (bias.size, *(1,) * (x.ndim - 2)))
    return call.block("Add", x, bias)


def _normalised(call: Call) -> tuple[Item, ...]:
    """By given statistics or, in training, by those of the batch."""
    x, gamma, beta, mean, variance = call.xs(5)
    by_batch = call.attributes.flag("is_training", True)
    found = call.stage.blocks(
        "BatchNorm", x, gamma, beta, *((None, None) if by_batch else (mean, variance)),
        name=call.name, mode="batch" if by_batch else "running",
        axis=x.ndim - 1 if _channels_last(call) else 1,
        epsilon=call.attributes.number("epsilon", 1e-4),
    )  # fmt: skip
    return *found, None, None, None


def _enlarged(mode: str) -> Operator:
    """Images of another size; half of a pixel's width is where its centre is, if so."""

    def resize(call: Call) -> Staged:
        height, width = call.shape(1)
        x = call.stage.transpose(call.x(), (0, 3, 1, 2))
        out = call.block(
            "Resize", x, mode=mode, sizes=(height, width), axes=(2, 3),
            coordinates=_coordinates(call), rounding=_rounding(call),
        )  # fmt: skip
        return call.stage.transpose(out, (0, 2, 3, 1))

    return resize


def _rounding(call: Call) -> str:
    """Which pixel is nearest; there, half a pixel is never taken off a coordinate."""
    exact = call.attributes.flag("align_corners") or call.attributes.flag("half_pixel_centers")
    return "round_prefer_ceil" if exact else "floor"


def _coordinates(call: Call) -> str:
    if call.attributes.flag("align_corners"):
        return "align_corners"
    return "half_pixel" if call.attributes.flag("half_pixel_centers") else "asymmetric"


OPERATORS: dict[str, Operator] = {
    "Conv2D": _convolution, "Conv3D": _convolution, "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _transposed, "MaxPool": _max_pool, "MaxPool3D": _max_pool,
    "AvgPool": _avg_pool, "AvgPool3D": _avg_pool, "BiasAdd": _bias,
    "FusedBatchNorm": _normalised, "FusedBatchNormV2": _normalised,
    "FusedBatchNormV3": _normalised, "ResizeNearestNeighbor": _enlarged("nearest"),
    "ResizeBilinear": _enlarged("linear"),
}  # fmt: skip
