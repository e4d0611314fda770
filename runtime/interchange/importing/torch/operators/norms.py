"""Layers that normalise, and what they remember of the batches before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.torch.operators.shapes import expand
from gradwire.runtime.interchange.importing.torch.operators.table import operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


STATISTICS = {"running_mean": "mean", "running_var": "variance"}
"""What the block calls the buffers of a BatchNorm module."""
_NOT_UPDATED = "Running statistics are those of the model: no run updates them."


def _last(count: int) -> int | tuple[int, ...]:
    return -1 if count == 1 else tuple(range(-count, 0))


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
    axes = _last(len(normalized_shape))
    return stage.block("LayerNorm", x, weight, bias, axes=axes, epsilon=float(eps))


@operator("rms_norm")
def rms_norm(
    stage: Stage,
    x: Staged,
    normalized_shape: Sequence[int],
    weight: Staged | None = None,
    eps: float | None = None,
) -> Staged:
    """Mean square 1 over the last axes, then scaled."""
    least = float(np.finfo(x.dtype).eps) if eps is None else float(eps)
    axes = _last(len(normalized_shape))
    return stage.block("RMSNorm", x, weight, axes=axes, epsilon=least)


@operator("batch_norm")
def batch_norm(
    stage: Stage,
    x: Staged,
    weight: Staged | None,
    bias: Staged | None,
    running_mean: Staged | None,
    running_var: Staged | None,
    training: bool,
    momentum: float | None,
    eps: float,
    *_: Any,
) -> Staged:
    """Mean 0 and variance 1 in each channel: of this batch in training, else as remembered."""
    from_batch = training or running_mean is None
    y = stage.blocks(
        "BatchNorm",
        x,
        weight,
        bias,
        running_mean,
        running_var,
        mode="batch" if from_batch else "running",
        momentum=0.1 if momentum is None else float(momentum),
        epsilon=float(eps),
    )[0]
    if from_batch and running_mean is not None and not _has_said(stage):
        stage.remark("note", _NOT_UPDATED, y)
    return y


def _has_said(stage: Stage) -> bool:
    return any(text == _NOT_UPDATED for _, text, *_ in stage.remarks)


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
    return group_norm(stage, x, x.shape[1], weight, bias, eps)


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
    return stage.block("GroupNorm", x, weight, bias, groups=int(num_groups), epsilon=float(eps))


@operator("local_response_norm")
def local_response_norm(
    stage: Stage, x: Staged, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Staged:
    """``x`` over a power of the mean square of the channels around."""
    return stage.block(
        "LRN", x, size=int(size), alpha=float(alpha), beta=float(beta), bias=float(k)
    )


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
