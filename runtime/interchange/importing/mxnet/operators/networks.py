"""Layers of networks: affine maps, convolution, pooling, activations with parameters, dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import windows

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_POOLS = {"max": "Max", "avg": "Avg", "sum": "Sum"}
_EVERYWHERE = {"max": "Max", "avg": "Mean", "sum": "Sum"}
_SLOPES = {"leaky": "leaky", "elu": "elu", "prelu": "prelu", "selu": "selu", "gelu": "gelu"}


def _bias(call: Call, length: int) -> Staged | None:
    return None if call.attributes.flag("no_bias") else call.x(2, (length,))


def _fully_connected(call: Call) -> Staged:
    x, units = call.x(0), call.attributes.whole("num_hidden")
    if x.ndim > 2 and call.attributes.flag("flatten", True):
        x = call.stage.reshape(x, (x.shape[0], x.size // max(x.shape[0], 1)))
    weight = call.x(1, (units, x.shape[-1]))
    return call.block("Linear", x, weight, _bias(call, units))


def _numbers(call: Call, rank: int, *defaults: tuple[str, int]) -> list[tuple[int, ...]]:
    """Attributes with a number for each spatial axis; ``()`` means the default."""
    found = [call.attributes.wholes(key, ()) or (default,) * rank for key, default in defaults]
    if any(len(numbers) != rank for numbers in found):
        raise call.unsupported(f"its kernel has {rank} axes, another attribute has not")
    return found


def _kernel(call: Call, x: Staged) -> tuple[int, ...]:
    kernel = call.attributes.wholes("kernel", ())
    layout = call.attributes.text("layout")
    if layout and not layout.startswith("NC"):
        raise call.unsupported(f"its layout is {layout[:20]}, not one with channels first")
    if not 1 <= len(kernel) <= 3 or x.ndim != len(kernel) + 2:
        raise call.unsupported(f"its kernel {kernel} doesn't fit {x.shape}")
    return kernel


def _convolution(call: Call) -> Staged:
    x, kernel = call.x(0), _kernel(call, call.x(0))
    stride, pad, dilation = _numbers(call, len(kernel), ("stride", 1), ("pad", 0), ("dilate", 1))
    filters, groups = call.attributes.whole("num_filter"), call.attributes.whole("num_group", 1)
    weight = call.x(1, (filters, x.shape[1] // groups, *kernel))
    return windows.conv(x, weight, _bias(call, filters), stride, pad, dilation, groups)


def _deconvolution(call: Call) -> Staged:
    x, kernel = call.x(0), _kernel(call, call.x(0))
    stride, pad, dilation, more = _numbers(
        call, len(kernel), ("stride", 1), ("pad", 0), ("dilate", 1), ("adj", 0)
    )
    if call.attributes.text("target_shape") not in ("", "()"):
        raise call.unsupported("it gives the target's shape")
    filters, groups = call.attributes.whole("num_filter"), call.attributes.whole("num_group", 1)
    weight = call.x(1, (x.shape[1], filters // groups, *kernel))
    bias = None if call.attributes.flag("no_bias", True) else call.x(2, (filters,))
    return windows.conv_transpose(x, weight, bias, stride, pad, more, dilation, groups)


def _pooling(call: Call) -> Staged:
    x, kind = call.x(), call.attributes.text("pool_type", "max")
    if call.attributes.flag("global_pool"):
        return windows.pool_everywhere(call.choice("pool_type", _EVERYWHERE, "max"), x)
    kernel = _kernel(call, x)
    stride, pad = _numbers(call, len(kernel), ("stride", 1), ("pad", 0))
    convention, after = call.attributes.text("pooling_convention", "valid"), pad
    if convention == "full":
        after = tuple(map(_extra, x.shape[2:], kernel, stride, pad))
    padding, counted = list(zip(pad, after, strict=True)), True
    if kind != "max":
        if kind not in (*_POOLS, "lp") or convention not in ("valid", "full") or pad != after:
            raise call.unsupported(f"pool_type={kind[:20]}, pooling_convention={convention[:20]}")
        counted = call.attributes.flag("count_include_pad", True)
    if kind == "lp":
        order = call.attributes.number("p_value", 2.0)
        return windows.norm_pool(order, x, kernel, stride, padding)
    if kind == "sum" and not counted:
        raise call.unsupported("its sum leaves padding out")
    return windows.pool(_POOLS[kind], x, kernel, stride, padding, counted=counted)


def _extra(length: int, kernel: int, stride: int, pad: int) -> int:
    """The padding after an axis that lets a last, incomplete window count."""
    rest = (length + 2 * pad - kernel) % stride
    return pad + (stride - rest if rest else 0)


def _adaptive(call: Call) -> Staged:
    sizes = call.attributes.wholes("output_size", ()) or (1,)
    return windows.adaptive_pool("Mean", call.x(), windows.each(sizes, 2))


def _leaky(call: Call) -> Staged:
    kind, x = call.choice("act_type", _SLOPES, "leaky"), call.x(0)
    slope = call.attributes.number("slope", 0.25)
    if kind == "leaky":
        return call.block("LeakyRelu", x, slope=slope)
    if kind == "elu":
        return call.block("Elu", x, alpha=slope)
    if kind == "gelu":
        return call.block("Gelu", x)
    if kind == "selu":
        return call.block("Elu", x, alpha=1.6732632423543772) * 1.0507009873554805
    channels = x.shape[1] if x.ndim > 1 else 1
    factor = call.stage.reshape(call.x(1, (channels,)), (channels, *(1,) * (x.ndim - 2)))
    return call.block("Where", x > 0.0, x, x * factor)


def _softmax(call: Call) -> Staged:
    return call.block("Softmax", _cooled(call, call.x()), axis=call.attributes.whole("axis", -1))


def _cooled(call: Call, x: Staged) -> Staged:
    if call.attributes.flag("use_length"):
        raise call.unsupported("it has lengths of rows")
    temperature = call.attributes.number("temperature", 1.0)
    return x if temperature == 1.0 else x / temperature


def _log_softmax(call: Call) -> Staged:
    axis = call.attributes.whole("axis", -1)
    return call.block("LogSoftmax", _cooled(call, call.x()), axis=axis)


def _softmin(call: Call) -> Staged:
    return call.block("Softmax", _cooled(call, -call.x()), axis=call.attributes.whole("axis", -1))


def _softmax_activation(call: Call) -> Staged:
    """Over channels, or over all but the first axis."""
    x = call.x()
    if call.attributes.text("mode", "instance") == "channel":
        return call.block("Softmax", x, axis=1)
    flat = call.stage.reshape(x, (x.shape[0], x.size // max(x.shape[0], 1)))
    return call.stage.reshape(call.block("Softmax", flat, axis=-1), x.shape)


def _dropout(call: Call) -> Staged:
    """Drops in training, or always; else everything passes."""
    drops = call.training or call.attributes.text("mode", "training") == "always"
    rate = call.attributes.number("p", 0.5)
    return call.block("Dropout", call.x(), rate=rate, mode="train" if drops else "eval")


OPERATORS: dict[str, Operator] = {
    "FullyConnected": _fully_connected, "Convolution": _convolution,
    "Convolution_v1": _convolution, "Deconvolution": _deconvolution, "Pooling": _pooling,
    "Pooling_v1": _pooling, "_contrib_AdaptiveAvgPooling2D": _adaptive, "LeakyReLU": _leaky,
    "Dropout": _dropout,
    "softmax": _softmax, "log_softmax": _log_softmax, "softmin": _softmin,
    "SoftmaxActivation": _softmax_activation,
}  # fmt: skip
