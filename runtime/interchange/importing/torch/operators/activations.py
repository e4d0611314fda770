"""Activation functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.table import like, operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_SAME = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "silu": "Silu",
}


def _enter(name: str, kind: str) -> None:
    @operator(name)
    def _(stage: Stage, x: Staged) -> Staged:
        return stage.block(kind, x)


for _name, _kind in _SAME.items():
    _enter(_name, _kind)


@operator("gelu")
def gelu(stage: Stage, x: Staged, approximate: str = "none") -> Staged:
    """``x * Phi(x)``, exactly or by tanh."""
    return stage.block("Gelu", x, approximate=approximate)


@operator("leaky_relu")
def leaky_relu(stage: Stage, x: Staged, negative_slope: float = 0.01) -> Staged:
    """``x`` above 0, a part of it below."""
    return stage.block("LeakyRelu", x, slope=float(negative_slope))


@operator("elu")
def elu(
    stage: Stage, x: Staged, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Staged:
    """An ELU of a scaled ``x``, scaled again."""
    y = stage.block("Elu", x if input_scale == 1 else x * input_scale, alpha=float(alpha))
    return y if scale == 1 else y * scale


@operator("celu")
def celu(stage: Stage, x: Staged, alpha: float = 1.0) -> Staged:
    """``alpha * elu(x / alpha)``."""
    return stage.block("Elu", x / alpha, alpha=1.0) * alpha


@operator("prelu")
def prelu(stage: Stage, x: Staged, weight: Staged) -> Staged:
    """``x`` above 0, a trained part of it below: one for all, or one for each channel."""
    if weight.size > 1:
        weight = stage.reshape(weight, (weight.size, *(1,) * (x.ndim - 2)))
    elif weight.ndim and not x.ndim:
        weight = stage.reshape(weight, ())
    return stage.block("Where", x > 0, x, x * weight)


@operator("relu6")
def relu6(stage: Stage, x: Staged) -> Staged:
    """``min(max(x, 0), 6)``; the gradient at 0 is 0."""
    return stage.block("Clip", stage.block("Relu", x), max=6.0)


@operator("hardtanh")
def hardtanh(stage: Stage, x: Staged, min_val: float = -1, max_val: float = 1) -> Staged:
    """``x`` between two bounds."""
    return stage.block("Clip", x, min=float(min_val), max=float(max_val))


@operator("hardsigmoid")
def hardsigmoid(stage: Stage, x: Staged) -> Staged:
    """``x / 6 + 1/2`` between 0 and 1."""
    return stage.block("Clip", x * (1 / 6) + 0.5, min=0.0, max=1.0)


@operator("mish")
def mish(stage: Stage, x: Staged) -> Staged:
    """``x * tanh(softplus(x))``."""
    return x * stage.block("Tanh", stage.block("Softplus", x))


@operator("selu")
def selu(stage: Stage, x: Staged) -> Staged:
    """An ELU with the slopes that keep mean 0 and variance 1."""
    return stage.block("Elu", x, alpha=1.6732632423543772) * 1.0507009873554805


@operator("hardswish")
def hardswish(stage: Stage, x: Staged) -> Staged:
    """``x`` times its hard sigmoid."""
    return x * hardsigmoid(stage, x)


@operator("softplus")
def softplus(stage: Stage, x: Staged, beta: float = 1, threshold: float = 20) -> Staged:
    """``log(1 + exp(beta * x)) / beta``; PyTorch's threshold is one of accuracy alone."""
    if beta == 1:
        return stage.block("Softplus", x)
    return stage.block("Softplus", x * beta) / beta


@operator("log_sigmoid")
def log_sigmoid(stage: Stage, x: Staged) -> Staged:
    """``-softplus(-x)``."""
    return -stage.block("Softplus", -x)


@operator("threshold")
def threshold(stage: Stage, x: Staged, threshold: float, value: float) -> Staged:
    """``x`` above a threshold, else a number."""
    return stage.block("Where", x > threshold, x, like(stage, value, x))


@operator("hardshrink")
def hardshrink(stage: Stage, x: Staged, lambd: float = 0.5) -> Staged:
    """``x``, and 0 in the middle."""
    return stage.block("Where", stage.block("Abs", x) > lambd, x, x.like(0))


@operator("softshrink")
def softshrink(stage: Stage, x: Staged, lambd: float = 0.5) -> Staged:
    """``x`` moved towards 0, and 0 in the middle."""
    return x - stage.block("Clip", x, min=-float(lambd), max=float(lambd))


@operator("softmax", "_softmax", "special_softmax")
def softmax(stage: Stage, x: Staged, dim: int, dtype: Any = None) -> Staged:
    """``exp(x) / sum(exp(x))`` along an axis."""
    x = stage.cast(x, dtype) if isinstance(dtype, str) else x
    return stage.block("Softmax", x, axis=dim)


@operator("log_softmax", "_log_softmax", "special_log_softmax")
def log_softmax(stage: Stage, x: Staged, dim: int, dtype: Any = None) -> Staged:
    """The logarithm of softmax."""
    x = stage.cast(x, dtype) if isinstance(dtype, str) else x
    return stage.block("LogSoftmax", x, axis=dim)


@operator("glu")
def glu(stage: Stage, x: Staged, dim: int = -1) -> Staged:
    """One half of ``x``, times the sigmoid of the other."""
    half = x.shape[dim] // 2
    return stage.cut(x, dim, 0, half) * stage.block("Sigmoid", stage.cut(x, dim, half, None))


@operator("rrelu")
def rrelu(
    stage: Stage, x: Staged, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Staged:
    """A leaky ReLU whose slope is drawn while training."""
    if training:
        raise UnsupportedError("rrelu", "its slopes are drawn anew in every run")
    return stage.block("LeakyRelu", x, slope=(lower + upper) / 2)
