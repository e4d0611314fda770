"""Normalisation: by running or own statistics, then scaled and shifted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import normalisation
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import MXNetCall, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _batch_norm(call: MXNetCall) -> Staged:
    """By the running statistics, or in training by those of the batch."""
    x, axis = call.x(0), call.attributes.whole("axis", 1)
    shape = (x.shape[axis],)
    fixed = call.attributes.flag("fix_gamma", True)  # it counts as 1, and gets no gradient
    by_batch = call.training and not call.attributes.flag("use_global_stats")
    gamma = None if fixed else call.x(1, shape)
    beta, mean, variance = (call.x(number, shape) for number in (2, 3, 4))
    out = normalisation.batch_norm(
        x, gamma, beta, mean, variance, by_batch, call.attributes.number("eps", 1e-3),
        1.0 - call.attributes.number("momentum", 0.9), axis,
    )[0]  # fmt: skip
    if by_batch:
        text = f"{call.node.name!r} doesn't update its running statistics."
        call.stage.remark("lost", text, out)
    return out


def _layer_norm(call: MXNetCall) -> Staged:
    x, axis = call.x(0), call.attributes.whole("axis", -1)
    gamma, beta = (call.x(number, (x.shape[axis],)) for number in (1, 2))
    eps = call.attributes.number("eps", 1e-5)
    return normalisation.layer_norm(x, gamma, beta, (axis,), eps)


def _instance_norm(call: MXNetCall) -> Staged:
    x, channels = call.x(0), call.x(0).shape[1]
    gamma, beta = (call.x(number, (channels,)) for number in (1, 2))
    return normalisation.group_norm(x, channels, gamma, beta, call.attributes.number("eps", 1e-3))


def _l2_norm(call: MXNetCall) -> Staged:
    """Divided by the length of each instance, channel or pixel."""
    x, mode = call.x(), call.attributes.text("mode", "instance")
    last = x.ndim - 1
    axes = {"instance": (1, last), "channel": (1, 1), "spatial": (2, last)}.get(mode)
    if axes is None:
        raise call.unsupported(f"mode={mode[:20]}")
    over = tuple(range(axes[0], axes[1] + 1))
    squares = put("Sum", put("Square", x), axis=over, keepdims=True)
    return x / put("Sqrt", squares + call.attributes.number("eps", 1e-10))


OPERATORS: dict[str, Operator] = {
    "BatchNorm": _batch_norm, "BatchNorm_v1": _batch_norm, "LayerNorm": _layer_norm,
    "InstanceNorm": _instance_norm, "L2Normalization": _l2_norm,
}  # fmt: skip
