"""Activation functions that are more than one block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


_EXACT = 17
"""From here on ``log(1 + exp(x))`` is ``x`` in float32."""


def elu(x: Staged, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Staged:
    """``x`` above 0, ``alpha * (exp(input_scale * x) - 1)`` below, all scaled."""
    if input_scale == 1:
        y = put("Elu", x, alpha=float(alpha))
    elif input_scale > 0:
        y = put("Elu", x * input_scale, alpha=round(alpha * input_scale, 9)) / input_scale
    else:
        below = put("Expm1", put("Clip", x, max=0.0, min=None) * input_scale) * alpha
        y = put("Where", x > 0, x, below)
    return y if scale == 1 else y * scale


def selu(x: Staged) -> Staged:
    """An ELU with the slopes that keep mean 0 and variance 1."""
    return elu(x, 1.6732632423543772, 1.0507009873554805)


def prelu(x: Staged, slope: Staged) -> Staged:
    """``x`` above 0, a trained part of it below: one for all, or one for each channel."""
    if slope.size > 1:
        slope = x.stage.reshape(slope, (slope.size, *(1,) * (x.ndim - 2)))
    elif slope.ndim and not x.ndim:
        slope = x.stage.reshape(slope, ())
    return put("PRelu", x, slope)


def relu6(x: Staged) -> Staged:
    """``min(max(x, 0), 6)``; the gradient at 0 and 6 is 0."""
    return hard_tanh(x, 0, 6)


def hard_tanh(x: Staged, low: float = -1, high: float = 1) -> Staged:
    """``x`` between two numbers; the gradient at them is 0."""
    return put("Clip", x, min=float(low), max=float(high), open=True)


def hard_sigmoid(x: Staged, slope: float = 1 / 6, offset: float = 0.5) -> Staged:
    """``slope * x + offset`` between 0 and 1, where the gradient is 0."""
    return hard_tanh(x * slope + offset, 0, 1)


def mish(x: Staged) -> Staged:
    """``x * tanh(softplus(x))``."""
    return x * put("Tanh", put("Softplus", x))


def softplus(x: Staged, beta: float = 1, threshold: float = 20) -> Staged:
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is above a threshold."""
    scaled = x if beta == 1 else x * beta
    y = put("Softplus", scaled) if beta == 1 else put("Softplus", scaled) / beta
    return y if threshold >= _EXACT else put("Where", scaled > threshold, x, y)


def swish(x: Staged, beta: float = 1) -> Staged:
    """``x * sigmoid(beta * x)``."""
    return put("Silu", x) if beta == 1 else x * put("Sigmoid", x * beta)


def softsign(x: Staged) -> Staged:
    """``x / (1 + |x|)``."""
    return x / (put("Abs", x) + 1.0)


def log_sigmoid(x: Staged) -> Staged:
    """``-softplus(-x)``."""
    return -put("Softplus", -x)


def threshold(x: Staged, edge: float) -> Staged:
    """``x`` above an edge, else 0."""
    return put("Where", x > edge, x, x.like(0))


def glu(x: Staged, dim: int = -1) -> Staged:
    """One half of ``x``, times the sigmoid of the other."""
    half = x.shape[dim] // 2
    return x.stage.cut(x, dim, 0, half) * put("Sigmoid", x.stage.cut(x, dim, half, None))


def softmax_of_all(x: Staged, axis: int = 1, kind: str = "Softmax") -> Staged:
    """Over all axes from one on, put together."""
    if axis == x.ndim - 1:
        return put(kind, x, axis=axis)
    flat = x.stage.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return x.stage.reshape(put(kind, flat, axis=1), x.shape)
