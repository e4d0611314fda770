"""Layers that normalise, and what they remember of the batches before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import normalisation
from gradwire.runtime.interchange.importing.torch.operators.table import enter

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


STATISTICS = {"running_mean": "mean", "running_var": "variance"}
"""What the block calls the buffers of a BatchNorm module."""
_NOT_UPDATED = "Running statistics are those of the model: no run updates them."


def _batch_norm(
    x: Staged,
    weight: Staged | None,
    bias: Staged | None,
    running_mean: Staged | None,
    running_var: Staged | None,
    training: bool,
    momentum: float | None,
    eps: float,
    *_: object,
) -> Staged:
    """Mean 0 and variance 1 in each channel: of this batch in training, else as remembered."""
    from_batch = training or running_mean is None
    y = normalisation.batch_norm(
        x, weight, bias, running_mean, running_var, from_batch, eps,
        0.1 if momentum is None else float(momentum), unbiased=True,
    )[0]  # fmt: skip
    has_said = any(text == _NOT_UPDATED for _, text, *_ in x.stage.remarks)
    if from_batch and running_mean is not None and not has_said:
        x.stage.remark("note", _NOT_UPDATED, y)
    return y


enter({
    "layer_norm": lambda x, shape, weight=None, bias=None, eps=1e-5, *__: (
        normalisation.layer_norm(x, weight, bias, range(-len(shape), 0), eps)
    ),
    "rms_norm": lambda x, shape, weight=None, eps=None: normalisation.rms_norm(
        x, weight, range(-len(shape), 0), float(np.finfo(x.dtype).eps) if eps is None else eps
    ),
    "batch_norm": _batch_norm,
    "instance_norm": lambda x, weight, bias, mean, variance, by_input, momentum, eps, *_: (
        normalisation.group_norm(x, x.shape[1], weight, bias, eps)
        if by_input
        else _batch_norm(x, weight, bias, mean, variance, False, momentum, eps)
    ),
    "group_norm": lambda x, groups, weight=None, bias=None, eps=1e-5, *__: (
        normalisation.group_norm(x, groups, weight, bias, eps)
    ),
    "_weight_norm": lambda v, g, dim=0: normalisation.weight_norm(v, g, dim)[0],
    "_weight_norm_interface": normalisation.weight_norm,
})  # fmt: skip
