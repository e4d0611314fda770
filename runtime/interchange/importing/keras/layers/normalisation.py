"""Normalisation over a batch, over channels or over groups of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import normalisation

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.keras.call import LayerCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged

_EPSILON = 1e-3
_LEAST = 1e-7
"""The least standard deviation that Normalization divides by."""
_STATISTICS = ((0, "mean"), (1, "variance"))


def _parameters(call: LayerCall) -> tuple[Staged | None, Staged | None, int]:
    """Scale and bias, as far as there are some, and how many variables they are."""
    scales, shifts = call.config.flag("scale", True), call.config.flag("center", True)
    scale = call.variable(0, "gamma") if scales else None
    bias = call.variable(int(scales), "beta") if shifts else None
    return scale, bias, scales + shifts


def _axes(call: LayerCall, rank: int) -> list[int]:
    given = call.config.json("axis")
    axes = [-1 if given is None else given] if not isinstance(given, list) else given
    if not all(type(axis) is int and -rank <= axis < rank for axis in axes):
        raise call.unsupported(f"its axes are {str(axes)[:80]}")
    return [axis % rank for axis in axes]


def _batch(call: LayerCall) -> Staged:
    """By the running statistics; in training, unless it is frozen, by those of the batch."""
    x = call.x()
    scale, bias, count = _parameters(call)
    mean = call.variable(count, "moving_mean", trainable=False)
    variance = call.variable(count + 1, "moving_variance", trainable=False)
    axes = _axes(call, x.ndim)
    if len(axes) != 1:
        raise call.unsupported(f"its axes are {axes}")
    known = call.layouts.known(x) if axes[0] == x.ndim - 1 else None
    by_batch = call.training and call.config.flag("trainable", True)
    out = normalisation.batch_norm(
        x if known is None else known, scale, bias, mean, variance, by_batch,
        call.config.number("epsilon", _EPSILON), 1.0 - call.config.number("momentum", 0.99),
        axes[0] if known is None else 1,
    )[0]  # fmt: skip
    if by_batch:
        call.stage.remark(
            "lost", f"{call.layer.name!r} doesn't update its running statistics.", out
        )
    return out if known is None else call.layouts.last(out)


def _layer(call: LayerCall) -> Staged:
    x, (scale, bias, _) = call.x(), _parameters(call)
    if call.config.flag("rms_scaling", False):
        raise call.unsupported("it scales by the root mean square alone")
    epsilon = call.config.number("epsilon", _EPSILON)
    return normalisation.layer_norm(x, scale, bias, _axes(call, x.ndim), epsilon)


def _root_mean_square(call: LayerCall) -> Staged:
    x, epsilon = call.x(), call.config.number("epsilon", 1e-6)
    return normalisation.rms_norm(x, call.variable(0, "scale"), _axes(call, x.ndim), epsilon)


def _group(call: LayerCall) -> Staged:
    x = call.x()
    if _axes(call, x.ndim) != [x.ndim - 1]:
        raise call.unsupported("its channels are not last")
    scale, bias, _ = _parameters(call)
    groups = call.config.whole("groups", 32)
    groups = x.shape[-1] if groups == -1 else groups
    epsilon = call.config.number("epsilon", _EPSILON)
    out = normalisation.group_norm(call.layouts.first(x), groups, scale, bias, epsilon)
    return call.layouts.last(out)


def _standard(call: LayerCall) -> Staged:
    """``(x - mean) / deviation`` by statistics that are kept, or its inverse."""
    x = call.x() if call.x().is_float else call.stage.cast(call.x(), "float32")
    kept = _axes(call, x.ndim)
    shape = tuple(n if axis in kept else 1 for axis, n in enumerate(x.shape))
    mean, variance = (_statistic(call, name, number, shape) for number, name in _STATISTICS)
    deviation = np.maximum(np.sqrt(variance), _LEAST).astype(x.dtype)
    if call.config.flag("invert", False):
        return x * call.stage.constant(deviation) + call.stage.constant(mean)
    return (x - call.stage.constant(mean)) / call.stage.constant(deviation)


def _statistic(call: LayerCall, name: str, number: int, shape: tuple[int, ...]) -> Array:
    """Numbers among the settings, or those that the layer has learned from data."""
    given = call.config.json(name)
    if given is None:
        stored = call.variables.array(call.layer, number)
    else:
        stored = np.asarray(call.constant(name, 0.0, "float32").array)
    if stored.size != math.prod(shape) and stored.size != 1:
        raise call.unsupported(f"its {name} has {stored.size} numbers")
    return stored.reshape(shape if stored.size > 1 else ()).astype(np.float32)


LAYERS: dict[str, Operator] = {
    "BatchNormalization": _batch, "LayerNormalization": _layer, "GroupNormalization": _group,
    "RMSNormalization": _root_mean_square, "Normalization": _standard,
}  # fmt: skip
