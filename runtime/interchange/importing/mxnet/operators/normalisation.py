"""Normalisation: by running or own statistics, then scaled and shifted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.mxnet.call import Call, Operator
    from gradwire.runtime.interchange.importing.staged import Staged


def _along(call: Call, x: Staged, axis: int, like: Staged) -> Staged:
    """A vector laid along an axis of ``like``."""
    shape = [1] * like.ndim
    shape[axis] = like.shape[axis]
    return call.stage.reshape(x, shape)


def _by_own(call: Call, x: Staged, axes: tuple[int, ...], eps: float) -> Staged:
    mean = call.stage.block("Mean", x, axis=axes, keepdims=True)
    variance = call.stage.block("Variance", x, axis=axes, keepdims=True)
    return (x - mean) / call.stage.block("Sqrt", variance + eps)


def _batch_norm(call: Call) -> Staged:
    """By the running statistics, or in training by those of the batch."""
    x, axis = call.x(0), call.attributes.whole("axis", 1)
    shape = (x.shape[axis],)
    fixed = call.attributes.flag("fix_gamma", True)  # it counts as 1, and gets no gradient
    gamma = None if fixed else call.x(1, shape)
    by_batch = call.training and not call.attributes.flag("use_global_stats")
    out = call.block(
        "BatchNorm", x, gamma, *(call.x(number, shape) for number in (2, 3, 4)),
        mode="batch" if by_batch else "running", axis=axis, unbiased=False,
        epsilon=call.attributes.number("eps", 1e-3),
        momentum=1.0 - call.attributes.number("momentum", 0.9),
    )  # fmt: skip
    if by_batch:
        text = f"{call.node.name!r} doesn't update its running statistics."
        call.stage.remark("lost", text, out)
    return out


def _layer_norm(call: Call) -> Staged:
    x, axis = call.x(0), call.attributes.whole("axis", -1)
    gamma, beta = (call.x(number, (x.shape[axis],)) for number in (1, 2))
    return call.block(
        "LayerNorm", x, gamma, beta, axes=axis, epsilon=call.attributes.number("eps", 1e-5)
    )


def _instance_norm(call: Call) -> Staged:
    x = call.x(0)
    gamma, beta = (call.x(number, (x.shape[1],)) for number in (1, 2))
    normal = _by_own(call, x, tuple(range(2, x.ndim)), call.attributes.number("eps", 1e-3))
    return call.block("Add", normal * _along(call, gamma, 1, x), _along(call, beta, 1, x))


def _l2_norm(call: Call) -> Staged:
    """Divided by the length of each instance, channel or pixel."""
    x, mode = call.x(), call.attributes.text("mode", "instance")
    last = x.ndim - 1
    axes = {"instance": (1, last), "channel": (1, 1), "spatial": (2, last)}.get(mode)
    if axes is None:
        raise call.unsupported(f"mode={mode[:20]}")
    over = tuple(range(axes[0], axes[1] + 1))
    squares = call.stage.block("Sum", call.stage.block("Square", x), axis=over, keepdims=True)
    eps = call.attributes.number("eps", 1e-10)
    return call.block("Div", x, call.stage.block("Sqrt", squares + eps))


OPERATORS: dict[str, Operator] = {
    "BatchNorm": _batch_norm, "BatchNorm_v1": _batch_norm, "LayerNorm": _layer_norm,
    "InstanceNorm": _instance_norm, "L2Normalization": _l2_norm,
}  # fmt: skip
