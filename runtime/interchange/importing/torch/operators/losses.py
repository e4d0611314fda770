"""Losses, with PyTorch's numbers for reductions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import losses
from gradwire.runtime.interchange.importing.meanings.reductions import norm
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import enter

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.meanings.losses import Reduction
    from gradwire.runtime.interchange.importing.staged import Staged

_HOW: tuple[Reduction, ...] = ("none", "mean", "sum")
_IGNORED = -100
"""PyTorch's default of the class that counts for nothing."""


def _classes(
    x: Staged,
    target: Staged,
    weight: Staged | None = None,
    reduction: int = 1,
    ignore_index: int = _IGNORED,
    label_smoothing: float = 0.0,
    logits: bool = True,
) -> Staged:
    """The default class counts for nothing if the example has it, or a mean is weighted anyway."""
    ignored: int | None = ignore_index
    if ignore_index < 0 and weight is None and not (label_smoothing or target.is_float):
        example = x.stage.example(target)
        if example is None or not np.any(example == ignore_index):
            ignored = None
    axis, how = 1 if x.ndim > 1 else 0, _HOW[reduction]
    return losses.cross_entropy(x, target, axis, how, weight, ignored, label_smoothing, logits)


def _distance(kind: str, a: Staged, b: Staged, reduction: int = 1, **more: float) -> Staged:
    return losses.distance(kind, a, b, _HOW[reduction], **more)


def _cosine_embedding(
    a: Staged, b: Staged, target: Staged, margin: float = 0.0, reduction: int = 1
) -> Staged:
    """1 less the cosine where the target is 1, the cosine above a margin where it is -1."""
    cosine = losses.cosine(a, b, -1)
    return losses.by_sign(1.0 - cosine, _at_least_0(cosine - margin), target, _HOW[reduction])


def _at_least_0(x: Staged) -> Staged:
    """``x`` or 0; at 0 gradient passes, where it doesn't through a Relu."""
    return put("Clip", x, min=0.0, max=None)


enter({
    "mse_loss": partial(_distance, "MeanSquaredError"),
    "l1_loss": partial(_distance, "MeanAbsoluteError"),
    "huber_loss": lambda a, b, reduction=1, delta=1.0: _distance(
        "Huber", a, b, reduction, delta=float(delta)
    ),
    "smooth_l1_loss": lambda a, b, reduction=1, beta=1.0: losses.smooth_l1(
        a, b, _HOW[reduction], beta
    ),
    "soft_margin_loss": lambda x, target, reduction=1: losses.reduced(
        put("Softplus", -(target * x)), _HOW[reduction]
    ),
    "multi_margin_loss": lambda x, target, p=1, margin=1, weight=None, reduction=1: (
        losses.multi_margin(x, target, _HOW[reduction], p, margin, weight)
    ),
    "margin_ranking_loss": lambda a, b, target, margin=0.0, reduction=1: losses.reduced(
        _at_least_0(margin - target * (a - b)), _HOW[reduction]
    ),
    "hinge_embedding_loss": lambda x, target, margin=1.0, reduction=1: losses.by_sign(
        x, _at_least_0(margin - x), target, _HOW[reduction], both=True
    ),
    "cosine_similarity": lambda a, b, dim=1, eps=1e-8: losses.cosine(a, b, dim, eps),
    "cosine_embedding_loss": _cosine_embedding,
    "kl_div": lambda x, target, reduction=1, log_target=False: losses.divergence(
        x, target, _HOW[reduction], log_target
    ),
    "poisson_nll_loss": lambda x, target, log_input, full, eps, reduction: losses.poisson(
        x, target, _HOW[reduction], log_input, eps, full
    ),
    "binary_cross_entropy": lambda p, target, weight=None, reduction=1: losses.binary(
        p, target, _HOW[reduction], weight, given="probabilities", edges="steep"
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, target, weight=None, pos_weight=None, reduction=1: losses.binary(
            x, target, _HOW[reduction], weight, pos_weight, given="logits"
        )
    ),
    "cross_entropy_loss": _classes,
    "pairwise_distance": lambda a, b, p=2.0, eps=1e-6, keepdim=False: norm(
        a - b + eps, p, (-1,), keepdim
    ),
    "triplet_margin_loss": (
        lambda a, b, c, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1: losses.reduced(
            _at_least_0(norm(a - b + eps, p, (-1,)) - norm(a - c + eps, p, (-1,)) + margin),
            _HOW[reduction],
        )
    ),
    "nll_loss_nd nll_loss nll_loss2d": partial(_classes, logits=False),
})  # fmt: skip
