"""Layers of networks: affine maps, convolution, pooling, activations with parameters, dropout."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_POOLS = {"max": "Max", "avg": "Avg", "sum": "Sum"}
_EVERYWHERE = {"max": "Max", "avg": "Mean", "sum": "Sum"}


def _fully_connected(call: MXNetCall) -> Staged:
    x, units = call.x(0), call.attributes.whole("num_hidden")
    if x.ndim > 2 and call.attributes.flag("flatten", True):
        x = call.stage.reshape(x, (x.shape[0], x.size // max(x.shape[0], 1)))
    weight = call.x(1, (units, x.shape[-1]))
    bias = None if call.attributes.flag("no_bias") else call.x(2, (units,))
    return put("Linear", x, weight, bias)


def _numbers(call: MXNetCall, rank: int, **defaults: int) -> list[tuple[int, ...]]:
    """Attributes with a number for each spatial axis; ``()`` means the default."""
    given = defaults.items()
    found = [call.attributes.wholes(key, ()) or (default,) * rank for key, default in given]
    if any(len(numbers) != rank for numbers in found):
        raise call.unsupported(f"its kernel has {rank} axes, another attribute has not")
    return found


def _kernel(call: MXNetCall, x: Staged) -> tuple[int, ...]:
    kernel = call.attributes.wholes("kernel", ())
    layout = call.attributes.text("layout")
    if layout and not layout.startswith("NC"):
        raise call.unsupported(f"its layout is {layout[:20]}, not one with channels first")
    if not 1 <= len(kernel) <= 3 or x.ndim != len(kernel) + 2:
        raise call.unsupported(f"its kernel {kernel} doesn't fit {x.shape}")
    return kernel


def _convolution(call: MXNetCall, transposed: bool = False) -> Staged:
    x, kernel = call.x(0), _kernel(call, call.x(0))
    stride, pad, dilation, more = _numbers(call, len(kernel), stride=1, pad=0, dilate=1, adj=0)
    if transposed and call.attributes.text("target_shape") not in ("", "()"):
        raise call.unsupported("it gives the target's shape")
    filters, groups = call.attributes.whole("num_filter"), call.attributes.whole("num_group", 1)
    outer = (x.shape[1], filters // groups) if transposed else (filters, x.shape[1] // groups)
    weight = call.x(1, (*outer, *kernel))
    bias = None if call.attributes.flag("no_bias", transposed) else call.x(2, (filters,))
    if transposed:
        return windows.conv_transpose(x, weight, bias, stride, pad, more, groups, dilation)
    return windows.conv(x, weight, bias, stride, pad, dilation, groups)


def _pooling(call: MXNetCall) -> Staged:
    x, kind = call.x(), call.attributes.text("pool_type", "max")
    if call.attributes.flag("global_pool"):
        return windows.pool_everywhere(call.choice("pool_type", _EVERYWHERE, "max"), x)
    kernel = _kernel(call, x)
    stride, pad = _numbers(call, len(kernel), stride=1, pad=0)
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
    return windows.pool(_POOLS[kind], x, kernel, stride, padding, count_include_pad=counted)


def _extra(length: int, kernel: int, stride: int, pad: int) -> int:
    """The padding after an axis that lets a last, incomplete window count."""
    rest = (length + 2 * pad - kernel) % stride
    return pad + (stride - rest if rest else 0)


def _leaky(call: MXNetCall) -> Staged:
    x, slope = call.x(0), call.attributes.number("slope", 0.25)
    functions: dict[str, Callable[[], Staged]] = {
        "leaky": lambda: put("LeakyRelu", x, slope=slope),
        "elu": lambda: put("Elu", x, alpha=slope),
        "prelu": lambda: act.prelu(x, call.x(1, (x.shape[1] if x.ndim > 1 else 1,))),
        "selu": lambda: act.selu(x),
        "gelu": lambda: put("Gelu", x),
    }
    return call.choice("act_type", functions, "leaky")()


def _softmax(kind: str, sign: int, call: MXNetCall) -> Staged:
    if call.attributes.flag("use_length"):
        raise call.unsupported("it has lengths of rows")
    x, temperature = call.x(), call.attributes.number("temperature", 1.0)
    x = x if sign > 0 else -x
    cooled = x if temperature == 1.0 else x / temperature
    return put(kind, cooled, axis=call.attributes.whole("axis", -1))


def _softmax_activation(call: MXNetCall) -> Staged:
    """Over channels, or over all but the first axis."""
    if call.attributes.text("mode", "instance") == "channel":
        return put("Softmax", call.x(), axis=1)
    return act.softmax_of_all(call.x())


def _dropout(call: MXNetCall) -> Staged:
    """Drops in training, or always; else everything passes."""
    drops = call.training or call.attributes.text("mode", "training") == "always"
    rate = call.attributes.number("p", 0.5)
    return put("Dropout", call.x(), rate=rate, mode="train" if drops else "eval")


OPERATORS: dict[str, Operator] = {
    "FullyConnected": _fully_connected,
    **dict.fromkeys(("Convolution", "Convolution_v1"), _convolution),
    "Deconvolution": partial(_convolution, transposed=True),
    **dict.fromkeys(("Pooling", "Pooling_v1"), _pooling),
    "_contrib_AdaptiveAvgPooling2D": lambda c: windows.adaptive_pool(
        "Mean", c.x(), windows.each(c.attributes.wholes("output_size", ()) or (1,), 2)
    ),
    "LeakyReLU": _leaky, "Dropout": _dropout, "softmax": partial(_softmax, "Softmax", 1),
    "log_softmax": partial(_softmax, "LogSoftmax", 1), "softmin": partial(_softmax, "Softmax", -1),
    "SoftmaxActivation": _softmax_activation,
}  # fmt: skip
