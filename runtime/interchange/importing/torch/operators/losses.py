"""Losses, with PyTorch's numbers for reductions: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.torch.operators.arithmetic import xlogy
from gradwire.runtime.interchange.importing.torch.operators.reductions import norm
from gradwire.runtime.interchange.importing.torch.operators.table import operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_REDUCTIONS = ("none", "mean", "sum")
_IGNORED = -100
"""PyTorch's default of the class that counts for nothing."""


def _reduce(stage: Stage, terms: Staged, reduction: int) -> Staged:
    if reduction == 0 or not terms.ndim:
        return terms
    return stage.block("Mean" if reduction == 1 else "Sum", terms)


def _same_shape(stage: Stage, a: Staged, b: Staged) -> tuple[Staged, Staged]:
    shape = np.broadcast_shapes(a.shape, b.shape)
    return stage.broadcast(a, shape), stage.broadcast(b, shape)


@operator("mse_loss")
def mse_loss(stage: Stage, a: Staged, b: Staged, reduction: int = 1) -> Staged:
    """The mean of squared differences."""
    a, b = _same_shape(stage, a, b)
    return stage.block("MeanSquaredError", a, b, reduction=_REDUCTIONS[reduction])


@operator("l1_loss")
def l1_loss(stage: Stage, a: Staged, b: Staged, reduction: int = 1) -> Staged:
    """The mean of absolute differences."""
    a, b = _same_shape(stage, a, b)
    return stage.block("MeanAbsoluteError", a, b, reduction=_REDUCTIONS[reduction])


@operator("huber_loss")
def huber_loss(
    stage: Stage, a: Staged, b: Staged, reduction: int = 1, delta: float = 1.0
) -> Staged:
    """Squares near 0, straight lines beyond ``delta``."""
    a, b = _same_shape(stage, a, b)
    return stage.block("Huber", a, b, delta=float(delta), reduction=_REDUCTIONS[reduction])


@operator("smooth_l1_loss")
def smooth_l1_loss(
    stage: Stage, a: Staged, b: Staged, reduction: int = 1, beta: float = 1.0
) -> Staged:
    """``huber / beta``: slopes of 1 beyond ``beta``."""
    if not beta:
        return l1_loss(stage, a, b, reduction)
    y = huber_loss(stage, a, b, reduction, beta)
    return y if beta == 1 else y / beta


@operator("soft_margin_loss")
def soft_margin_loss(stage: Stage, x: Staged, target: Staged, reduction: int = 1) -> Staged:
    """``log(1 + exp(-target * x))``."""
    return _reduce(stage, stage.block("Softplus", -(target * x)), reduction)


@operator("multi_margin_loss")
def multi_margin_loss(
    stage: Stage,
    x: Staged,
    target: Staged,
    p: float = 1,
    margin: float = 1,
    weight: Staged | None = None,
    reduction: int = 1,
) -> Staged:
    """By how much other classes come nearer than a margin, to the power of p, per class."""
    true = stage.block("PickAlong", x, target, axis=x.ndim - 1)
    closer = stage.block("Relu", x - stage.reshape(true, (*true.shape, 1)) + float(margin))
    closer = closer if p == 1 else stage.block("Square", closer)
    own = stage.cast(stage.block("OneHot", target, depth=x.shape[-1]), "bool")
    closer = stage.block("Where", own, x.like(0), closer)
    terms = stage.block("Sum", closer, axis=(x.ndim - 1,)) / x.shape[-1]
    return _reduce(
        stage, terms if weight is None else terms * stage.take(weight, target, 0), reduction
    )


@operator("margin_ranking_loss")
def margin_ranking_loss(
    stage: Stage, a: Staged, b: Staged, target: Staged, margin: float = 0.0, reduction: int = 1
) -> Staged:
    """``relu(margin - target * (a - b))``."""
    return _reduce(stage, stage.block("Relu", margin - target * (a - b)), reduction)


@operator("hinge_embedding_loss")
def hinge_embedding_loss(
    stage: Stage, x: Staged, target: Staged, margin: float = 1.0, reduction: int = 1
) -> Staged:
    """``x`` where the target is 1, ``relu(margin - x)`` where it is -1."""
    apart = stage.block("Relu", margin - x)
    is_one = stage.block("Equal", target, target.like(1))
    return _reduce(stage, stage.block("Where", is_one, x, apart), reduction)


@operator("cosine_similarity")
def cosine_similarity(
    stage: Stage, a: Staged, b: Staged, dim: int = 1, eps: float = 1e-8
) -> Staged:
    """``sum(a * b) / (|a| * |b|)`` along an axis."""
    a, b = _same_shape(stage, a, b)
    dim %= a.ndim
    order = [axis for axis in range(a.ndim) if axis != dim] + [dim]
    return stage.block("CosineSimilarity", stage.transpose(a, order), stage.transpose(b, order))


@operator("cosine_embedding_loss")
def cosine_embedding_loss(
    stage: Stage, a: Staged, b: Staged, target: Staged, margin: float = 0.0, reduction: int = 1
) -> Staged:
    """1 less the cosine where the target is 1, the cosine above a margin where it is -1."""
    cosine = cosine_similarity(stage, a, b, -1)
    is_one = stage.block("Equal", target, target.like(1))
    apart = stage.block("Relu", cosine - margin)
    return _reduce(stage, stage.block("Where", is_one, 1.0 - cosine, apart), reduction)


@operator("kl_div")
def kl_div(
    stage: Stage, x: Staged, target: Staged, reduction: int = 1, log_target: bool = False
) -> Staged:
    """``target * (log(target) - x)``, where ``x`` is a logarithm already."""
    if log_target:
        terms = stage.block("Exp", target) * (target - x)
    else:
        terms = xlogy(stage, target, target) - target * x
    return _reduce(stage, terms, reduction)


@operator("poisson_nll_loss")
def poisson_nll_loss(
    stage: Stage, x: Staged, target: Staged, log_input: bool, full: bool, eps: float, reduction: int
) -> Staged:
    """The logarithm of a Poisson probability, without its constant."""
    terms = (
        stage.block("Exp", x) - target * x
        if log_input
        else x - target * stage.block("Log", x + eps)
    )
    return _reduce(stage, terms, reduction)


@operator("binary_cross_entropy")
def binary_cross_entropy(
    stage: Stage, p: Staged, target: Staged, weight: Staged | None = None, reduction: int = 1
) -> Staged:
    """Cross-entropy of probabilities of yes or no."""
    how = _REDUCTIONS[reduction] if weight is None else "none"
    terms = stage.block(
        "BinaryCrossEntropy", p, target, given="probabilities", edges="steep", reduction=how
    )
    return terms if weight is None else _reduce(stage, terms * weight, reduction)


@operator("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    stage: Stage,
    x: Staged,
    target: Staged,
    weight: Staged | None = None,
    pos_weight: Staged | None = None,
    reduction: int = 1,
) -> Staged:
    """Cross-entropy of yes or no from logits."""
    if weight is None and pos_weight is None:
        how = _REDUCTIONS[reduction]
        return stage.block("BinaryCrossEntropy", x, target, given="logits", reduction=how)
    if pos_weight is None:
        terms = stage.block("BinaryCrossEntropy", x, target, given="logits", reduction="none")
    else:
        more = (pos_weight - 1.0) * target + 1.0
        terms = (1.0 - target) * x + more * stage.block("Softplus", -x)
    return _reduce(stage, terms if weight is None else terms * weight, reduction)


@operator("cross_entropy_loss")
def cross_entropy_loss(
    stage: Stage,
    x: Staged,
    target: Staged,
    weight: Staged | None = None,
    reduction: int = 1,
    ignore_index: int = _IGNORED,
    label_smoothing: float = 0.0,
) -> Staged:
    """Cross-entropy of logits against classes or probabilities."""
    axis = 1 if x.ndim > 1 else 0
    if target.is_float:
        return _of_probabilities(stage, x, target, weight, reduction, label_smoothing)
    if weight is None and not label_smoothing and not _ignores(stage, target, ignore_index):
        return stage.block("CrossEntropy", x, target, axis=axis, reduction=_REDUCTIONS[reduction])
    scores = stage.block("LogSoftmax", x, axis=axis)
    hard = _chosen(stage, scores, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return hard
    return hard * (1.0 - label_smoothing) + label_smoothing * _smooth(
        stage, scores, target, weight, reduction, ignore_index
    )


def _of_probabilities(
    stage: Stage, x: Staged, target: Staged, weight: Staged | None, reduction: int, smoothing: float
) -> Staged:
    axis = 1 if x.ndim > 1 else 0
    classes = x.shape[axis]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    if weight is None:
        return stage.block("CrossEntropy", x, target, axis=axis, reduction=_REDUCTIONS[reduction])
    by_class = stage.reshape(weight, (classes, *(1,) * (x.ndim - 1 - axis)))
    terms = target * stage.block("LogSoftmax", x, axis=axis) * by_class
    each = -stage.block("Sum", terms, axis=(axis,))
    if reduction == 1:  # over the number of positions, not the weights
        return stage.block("Sum", each) / float(max(1, each.size))
    return _reduce(stage, each, reduction)


def _ignores(stage: Stage, target: Staged, ignore_index: int) -> bool:
    """Whether some labels may count for nothing: the default class does if the example has it."""
    if ignore_index >= 0:
        return True
    example = stage.example(target)
    return example is not None and bool(np.any(example == ignore_index))


def _chosen(
    stage: Stage,
    scores: Staged,
    target: Staged,
    weight: Staged | None,
    reduction: int,
    ignore_index: int,
) -> Staged:
    """Minus the score of the class at each position, weighted by class."""
    axis = 1 if scores.ndim > 1 else 0
    counts, labels = _counting(stage, scores, target, weight, ignore_index)
    terms = -stage.block("PickAlong", scores, labels, axis=axis) * counts
    if reduction != 1:
        return _reduce(stage, terms, reduction)
    return _averaged(stage, terms, counts)


NOTHING_COUNTS = (
    "No label counts here: all are ignored, or of classes with weight 0. The mean over none of "
    "them is NaN, 0 ÷ 0, with a gradient of 0: leave such a batch out, or add up with "
    "reduction='sum' and divide by at least 1."
)


def _averaged(stage: Stage, terms: Staged, counts: Staged) -> Staged:
    """The mean of what counts: NaN where nothing does, with a gradient of 0 as in PyTorch."""
    known = stage.example(counts)
    if known is not None and known.size and not known.any():
        stage.remark("note", NOTHING_COUNTS)
    count = stage.block("Sum", counts)
    nothing = stage.block("Equal", count, count.like(0))
    mean = stage.block("Sum", terms) / stage.block("Where", nothing, count.like(1), count)
    return stage.block("Where", nothing, count / count, mean)


def _counting(
    stage: Stage, scores: Staged, target: Staged, weight: Staged | None, ignore_index: int
) -> tuple[Staged, Staged]:
    """How much each position counts, and labels without those that count for nothing."""
    kept = stage.block("NotEqual", target, target.like(ignore_index))
    labels = stage.block("Where", kept, target, target.like(0))
    counts = stage.cast(kept, scores.dtype)
    return (counts if weight is None else counts * stage.take(weight, labels, 0)), labels


def _smooth(
    stage: Stage,
    scores: Staged,
    target: Staged,
    weight: Staged | None,
    reduction: int,
    ignore_index: int,
) -> Staged:
    """The part of label smoothing: the mean over all classes, in place of the one class."""
    axis = 1 if scores.ndim > 1 else 0
    classes = scores.shape[axis]
    weighted = scores
    if weight is not None:
        weighted = scores * stage.reshape(weight, (classes, *(1,) * (scores.ndim - 1 - axis)))
    kept, _labels = _counting(stage, scores, target, None, ignore_index)
    terms = -stage.block("Sum", weighted, axis=(axis,)) * kept / float(classes)
    if reduction != 1:
        return _reduce(stage, terms, reduction)
    counts, _labels = _counting(stage, scores, target, weight, ignore_index)
    return _averaged(stage, terms, counts)


@operator("nll_loss_nd", "nll_loss", "nll_loss2d")
def nll_loss(
    stage: Stage,
    scores: Staged,
    target: Staged,
    weight: Staged | None = None,
    reduction: int = 1,
    ignore_index: int = _IGNORED,
    *_: Any,
) -> Staged:
    """Minus the logarithm of the probability of the class."""
    if weight is not None or _ignores(stage, target, ignore_index):
        return _chosen(stage, scores, target, weight, reduction, ignore_index)
    axis = 1 if scores.ndim > 1 else 0
    return _reduce(stage, -stage.block("PickAlong", scores, target, axis=axis), reduction)


@operator("pairwise_distance")
def pairwise_distance(
    stage: Stage, a: Staged, b: Staged, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Staged:
    """The norm of ``a - b + eps`` along the last axis."""
    return norm(stage, a - b + eps, p, (-1,), keepdim)


@operator("triplet_margin_loss")
def triplet_margin_loss(
    stage: Stage,
    anchor: Staged,
    positive: Staged,
    negative: Staged,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Staged:
    """``relu(|anchor - positive| - |anchor - negative| + margin)``."""
    near = pairwise_distance(stage, anchor, positive, p, eps)
    far = pairwise_distance(stage, anchor, negative, p, eps)
    return _reduce(stage, stage.block("Relu", near - far + margin), reduction)
