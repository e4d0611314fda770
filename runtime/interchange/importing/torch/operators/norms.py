"""Layers that normalise, and what they remember of the batches before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.interchange.importing.torch.operators.shapes import expand
from runtime.interchange.importing.torch.operators.table import operator

if TYPE_CHECKING:
    from runtime.interchange.importing.stage import Stage
    from runtime.interchange.importing.staged import Staged


def _over_channels(stage: Stage, x: Staged, values: Staged) -> Staged:
    """One number for each channel, shaped to meet ``x``."""
    return stage.reshape(values, (values.size, *(1,) * (x.ndim - 2)))


def _scaled(
    stage: Stage, y: Staged, weight: Staged | None, bias: Staged | None, channels: bool
) -> Staged:
    if weight is not None:
        y = y * (_over_channels(stage, y, weight) if channels else weight)
    if bias is not None:
        y = y + (_over_channels(stage, y, bias) if channels else bias)
    return y


def _standardised(stage: Stage, x: Staged, over: tuple[int, ...], eps: float) -> Staged:
    mean = stage.block("Mean", x, axis=over, keepdims=True)
    variance = stage.block("Variance", x, axis=over, keepdims=True)
    return (x - mean) / stage.block("Sqrt", variance + eps)


@operator("layer_norm")
def layer_norm(
    stage: Stage,
    x: Staged,
    normalized_shape: Sequence[int],
    weight: Staged | None = None,
    bias: Staged | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Staged:
    """Mean 0 and variance 1 over the last axes, then scaled and shifted."""
    over = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return _scaled(stage, _standardised(stage, x, over, eps), weight, bias, channels=False)


@operator("rms_norm")
def rms_norm(
    stage: Stage,
    x: Staged,
    normalized_shape: Sequence[int],
    weight: Staged | None = None,
    eps: float | None = None,
) -> Staged:
    """Mean square 1 over the last axes, then scaled."""
    over = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    square = stage.block("Mean", stage.block("Square", x), axis=over, keepdims=True)
    least = {"float64": 2.0**-52, "float16": 2.0**-10}.get(x.dtype, 2.0**-23)
    y = x / stage.block("Sqrt", square + (least if eps is None else eps))
    return _scaled(stage, y, weight, None, channels=False)


@operator("batch_norm")
def batch_norm(
    stage: Stage,
    x: Staged,
    weight: Staged | None,
    bias: Staged | None,
    running_mean: Staged | None,
    running_var: Staged | None,
    training: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Staged:
    """Mean 0 and variance 1 in each channel: of this batch in training, else as remembered."""
    if training or running_mean is None or running_var is None:
        y = _standardised(stage, x, (0, *range(2, x.ndim)), eps)
        if running_mean is not None:
            stage.remark(
                "note", "Running statistics are those of the model: no run updates them.", y
            )
    else:
        mean, variance = (_over_channels(stage, x, v) for v in (running_mean, running_var))
        y = (x - mean) / stage.block("Sqrt", variance + eps)
    return _scaled(stage, y, weight, bias, channels=True)


@operator("instance_norm")
def instance_norm(
    stage: Stage,
    x: Staged,
    weight: Staged | None,
    bias: Staged | None,
    running_mean: Staged | None,
    running_var: Staged | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Staged:
    """Mean 0 and variance 1 in each channel of each example."""
    if not use_input_stats:
        return batch_norm(stage, x, weight, bias, running_mean, running_var, False, momentum, eps)
    y = _standardised(stage, x, tuple(range(2, x.ndim)), eps)
    return _scaled(stage, y, weight, bias, channels=True)


@operator("group_norm")
def group_norm(
    stage: Stage,
    x: Staged,
    num_groups: int,
    weight: Staged | None = None,
    bias: Staged | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Staged:
    """Mean 0 and variance 1 in each group of channels of each example."""
    groups = stage.reshape(x, (x.shape[0], num_groups, x.size // x.shape[0] // num_groups))
    y = stage.reshape(_standardised(stage, groups, (2,), eps), x.shape)
    return _scaled(stage, y, weight, bias, channels=True)


@operator("local_response_norm")
def local_response_norm(
    stage: Stage, x: Staged, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Staged:
    """``x`` over a power of the mean square of the channels around."""
    square = stage.block("Square", x)
    widths = [(0, 0)] * x.ndim
    widths[1] = (size // 2, (size - 1) // 2)
    padded = stage.block("Pad", square, widths=tuple(widths))
    total = stage.cut(padded, 1, 0, x.shape[1])
    for i in range(1, size):
        total = total + stage.cut(padded, 1, i, i + x.shape[1])
    return x / (total * (alpha / size) + k) ** beta


@operator("_weight_norm")
def weight_norm(stage: Stage, v: Staged, g: Staged, dim: int = 0) -> Staged:
    """``g * v / |v|``."""
    return weight_norm_with_norms(stage, v, g, dim)[0]


@operator("_weight_norm_interface")
def weight_norm_with_norms(stage: Stage, v: Staged, g: Staged, dim: int = 0) -> list[Staged]:
    """``g * v / |v|``, and the norms over all axes but one."""
    over = tuple(axis for axis in range(v.ndim) if axis != dim)
    norm = stage.block("Norm", v, axis=over, keepdims=True)
    return [v * (g / norm), norm]


@operator("normalize")
def normalize(
    stage: Stage, x: Staged, p: float = 2.0, dim: int = 1, eps: float = 1e-12, *_: Any
) -> Staged:
    """``x`` over its norm along an axis."""
    norm = stage.block("Norm", x, axis=(dim % x.ndim,), keepdims=True)
    return x / expand(stage, stage.block("Maximum", norm, norm.like(eps)), x.shape)
