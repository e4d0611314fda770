"""Activation functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import enter, like

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _rrelu(x: Staged, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Staged:
    """A leaky ReLU whose slope is drawn while training."""
    if training:
        raise UnsupportedError("rrelu", "its slopes are drawn anew in every run")
    return put("LeakyRelu", x, slope=(lower + upper) / 2)


def _over(kind: str, x: Staged, dim: int, dtype: str | None = None) -> Staged:
    return put(kind, x.stage.cast(x, dtype) if isinstance(dtype, str) else x, axis=dim)


enter({
    "relu": partial(put, "Relu"),
    "sigmoid": partial(put, "Sigmoid"),
    "silu": partial(put, "Silu"),
    "gelu": partial(put, "Gelu"),
    "leaky_relu": lambda x, negative_slope=0.01: put("LeakyRelu", x, slope=float(negative_slope)),
    "elu": act.elu,
    "celu": lambda x, alpha=1.0: act.elu(x, alpha, 1, 1 / alpha),
    "prelu": act.prelu,
    "relu6": act.relu6,
    "hardtanh": act.hard_tanh,
    "hardsigmoid": act.hard_sigmoid,
    "hardswish": lambda x: x * act.hard_sigmoid(x),
    "mish": act.mish,
    "selu": act.selu,
    "softplus": act.softplus,
    "log_sigmoid": act.log_sigmoid,
    "threshold": lambda x, threshold, value: put(
        "Where", x > threshold, x, x.stage.cast(like(value, x), x.dtype)
    ),
    "hardshrink": lambda x, lambd=0.5: put("Where", put("Abs", x) > lambd, x, x.like(0)),
    "softshrink": lambda x, lambd=0.5: x - put("Clip", x, min=-float(lambd), max=float(lambd)),
    "softmax _softmax special_softmax": partial(_over, "Softmax"),
    "log_softmax _log_softmax special_log_softmax": partial(_over, "LogSoftmax"),
    "glu": act.glu,
    "rrelu": _rrelu,
})  # fmt: skip
