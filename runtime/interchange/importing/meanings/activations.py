"""Activation functions that are more than one block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def elu(x: Staged, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Staged:
    """An ELU of a scaled ``x``, scaled again."""
    y = put("Elu", x if input_scale == 1 else x * input_scale, alpha=float(alpha))
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
    return put("Minimum", put("Relu", x), x.like(6.0))


def hard_sigmoid(x: Staged, slope: float = 1 / 6, offset: float = 0.5) -> Staged:
    """``slope * x + offset`` between 0 and 1."""
    return put("Clip", x * slope + offset, min=0.0, max=1.0)


def mish(x: Staged) -> Staged:
    """``x * tanh(softplus(x))``."""
    return x * put("Tanh", put("Softplus", x))


def softplus(x: Staged, beta: float = 1) -> Staged:
    """``log(1 + exp(beta * x)) / beta``."""
    return put("Softplus", x) if beta == 1 else put("Softplus", x * beta) / beta


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
