"""Activation functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import activations as act
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import enter, like, meaning

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _rrelu(
    _: Stage, x: Staged, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Staged:
    """A leaky ReLU whose slope is drawn while training."""
    if training:
        raise UnsupportedError("rrelu", "its slopes are drawn anew in every run")
    return put("LeakyRelu", x, slope=(lower + upper) / 2)


def _over(kind: str, stage: Stage, x: Staged, dim: int, dtype: Any = None) -> Staged:
    return put(kind, stage.cast(x, dtype) if isinstance(dtype, str) else x, axis=dim)


enter({
    "relu": meaning(partial(put, "Relu")),
    "sigmoid": meaning(partial(put, "Sigmoid")),
    "silu": meaning(partial(put, "Silu")),
    "gelu": lambda _, x, approximate="none": put("Gelu", x, approximate=approximate),
    "leaky_relu": lambda _, x, negative_slope=0.01: put(
        "LeakyRelu", x, slope=float(negative_slope)
    ),
    "elu": meaning(act.elu),
    "celu": lambda _, x, alpha=1.0: act.elu(x, alpha, 1, 1 / alpha),
    "prelu": meaning(act.prelu),
    "relu6": meaning(act.relu6),
    "hardtanh": meaning(act.hard_tanh),
    "hardsigmoid": meaning(act.hard_sigmoid),
    "hardswish": lambda _, x: x * act.hard_sigmoid(x),
    "mish": meaning(act.mish),
    "selu": meaning(act.selu),
    "softplus": lambda _, x, beta=1, threshold=20: act.softplus(x, beta, threshold),
    "log_sigmoid": meaning(act.log_sigmoid),
    "threshold": lambda stage, x, threshold, value: put(
        "Where", x > threshold, x, stage.cast(like(stage, value, x), x.dtype)
    ),
    "hardshrink": lambda _, x, lambd=0.5: put("Where", put("Abs", x) > lambd, x, x.like(0)),
    "softshrink": lambda _, x, lambd=0.5: x - put("Clip", x, min=-float(lambd), max=float(lambd)),
    **dict.fromkeys(("softmax", "_softmax", "special_softmax"), partial(_over, "Softmax")),
    **dict.fromkeys(
        ("log_softmax", "_log_softmax", "special_log_softmax"), partial(_over, "LogSoftmax")
    ),
    "glu": meaning(act.glu),
    "rrelu": _rrelu,
})  # fmt: skip
