"""Losses: terms, put together by a reduction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.runtime.interchange.importing.meanings.elementwise import times_logarithm
from gradwire.runtime.interchange.importing.meanings.reductions import norm
from gradwire.runtime.interchange.importing.meanings.shapes import together
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

Reduction: TypeAlias = Literal["none", "mean", "sum"]
REDUCTIONS: dict[str, Reduction] = {"none": "none", "mean": "mean", "sum": "sum"}
"""By the names that most systems have for them."""
_NEGLIGIBLE = 1e-6
"""A least length of vectors that only those of zeros are below."""
NOTHING_COUNTS = (
    "No label counts here: all are ignored, or of classes with weight 0. The mean over none of "
    "them is NaN, 0 ÷ 0, with a gradient of 0: leave such a batch out, or add up with "
    "reduction='sum' and divide by at least 1."
)


def reduced(terms: Staged, reduction: Reduction) -> Staged:
    """Terms put together."""
    if reduction == "none" or not terms.ndim:
        return terms
    return put("Mean" if reduction == "mean" else "Sum", terms)


def distance(
    kind: str, a: Staged, b: Staged, reduction: Reduction = "mean", **more: float
) -> Staged:
    """MeanSquaredError, MeanAbsoluteError or Huber of values that broadcast."""
    a, b = together([a, b])
    return put(kind, a, b, reduction=reduction, **more)


def smooth_l1(a: Staged, b: Staged, reduction: Reduction = "mean", beta: float = 1.0) -> Staged:
    """``huber / beta``: slopes of 1 beyond ``beta``."""
    if not beta:
        return distance("MeanAbsoluteError", a, b, reduction)
    y = distance("Huber", a, b, reduction, delta=float(beta))
    return y if beta == 1 else y / beta


def binary(
    x: Staged,
    target: Staged,
    reduction: Reduction = "mean",
    weight: Staged | None = None,
    positive: Staged | None = None,
    **more: str,
) -> Staged:
    """Cross-entropy of yes or no, by its block; ``positive`` weighs the yes, of logits."""
    if weight is None and positive is None:
        return put("BinaryCrossEntropy", x, target, reduction=reduction, **more)
    if positive is None:
        terms = put("BinaryCrossEntropy", x, target, reduction="none", **more)
    else:
        terms = (1.0 - target) * x + ((positive - 1.0) * target + 1.0) * put("Softplus", -x)
    return reduced(terms if weight is None else terms * weight, reduction)


def cross_entropy(
    x: Staged,
    target: Staged,
    axis: int = -1,
    reduction: Reduction = "mean",
    weight: Staged | None = None,
    ignored: int | None = None,
    smoothing: float = 0.0,
    logits: bool = True,
    least: float | None = None,
) -> Staged:
    """Of logits against classes or probabilities, or of logarithms of probabilities for classes.

    Classes may be weighted; the mean is then over the weights. Positions of the class ``ignored``
    count for nothing; with ``least``, a mean is over at least so many.
    """
    axis, plain, soft = axis % x.ndim, weight is None and logits, target.is_float and logits
    if soft and smoothing:
        target, smoothing = target * (1.0 - smoothing) + smoothing / x.shape[axis], 0.0
    if plain and (soft or (ignored is None and not smoothing)):
        return put("CrossEntropy", x, target, axis=axis, reduction=reduction)
    scores = put("LogSoftmax", x, axis=axis) if logits else x
    weighted = scores
    if weight is not None and (soft or smoothing):
        ones = (1,) * (x.ndim - 1 - axis)
        weighted = scores * x.stage.reshape(weight, (weight.size, *ones))
    if soft:  # the mean is over the positions, not the weights
        return reduced(-put("Sum", target * weighted, axis=(axis,)), reduction)
    kept, counts, labels = None, None, target
    if ignored is not None:
        kept = put("NotEqual", target, target.like(ignored))
        labels = put("Where", kept, target, target.like(0))
        counts = x.stage.cast(kept, x.dtype)
    if weight is not None:
        own = x.stage.take(weight, labels, 0)
        counts = own if counts is None else counts * own
    terms = -put("PickAlong", scores, labels, axis=axis)
    terms = terms if counts is None else terms * counts
    if smoothing:
        smooth = -put("Sum", weighted, axis=(axis,)) / float(x.shape[axis])
        terms = terms * (1.0 - smoothing) + smooth * smoothing
    if kept is not None:  # whatever the scores are, NaN as well
        terms = put("Where", kept, terms, terms.like(0))
    if reduction != "mean" or counts is None:
        return reduced(terms, reduction)
    return _averaged(terms, counts, least)


def _averaged(terms: Staged, counts: Staged, least: float | None) -> Staged:
    """The mean of what counts: NaN where nothing does, with a gradient of 0 as in PyTorch."""
    total, count = put("Sum", terms), put("Sum", counts)
    if least is not None:
        return total / put("Maximum", count, count.like(least))
    known = counts.stage.example(counts)
    if known is not None and known.size and not known.any():
        counts.stage.remark("note", NOTHING_COUNTS)
    nothing = put("Equal", count, count.like(0))
    mean = total / put("Where", nothing, count.like(1), count)
    return put("Where", nothing, count / count, mean)


def multi_margin(
    x: Staged,
    target: Staged,
    reduction: Reduction = "mean",
    power: float = 1,
    margin: float = 1,
    weight: Staged | None = None,
) -> Staged:
    """By how much other classes come nearer than a margin, to a power, per class."""
    true = put("PickAlong", x, target, axis=x.ndim - 1)
    closer = put("Relu", x - x.stage.reshape(true, (*true.shape, 1)) + float(margin))
    closer = closer if power == 1 else put("Square", closer)
    own = x.stage.cast(put("OneHot", target, depth=x.shape[-1]), "bool")
    closer = put("Where", own, x.like(0), closer)
    terms = put("Sum", closer, axis=(x.ndim - 1,)) / x.shape[-1]
    return reduced(terms if weight is None else terms * x.stage.take(weight, target, 0), reduction)


def by_sign(
    near: Staged, far: Staged, target: Staged, reduction: Reduction = "mean", both: bool = False
) -> Staged:
    """One term where the target is 1, another one where it is -1, else none or ``both``."""
    is_near, is_far = (put("Equal", target, target.like(sign)) for sign in (1, -1))
    other = near + far if both else near.like(0)
    return reduced(put("Where", is_near, near, put("Where", is_far, far, other)), reduction)


def cosine(a: Staged, b: Staged, axis: int = 1, least: float = 0.0) -> Staged:
    """``sum(a * b) / (|a| * |b|)`` along an axis; lengths are at least some number."""
    a, b = together([a, b])
    if least > _NEGLIGIBLE:
        lengths = (norm(x, 2, (axis,), keepdims=True) for x in (a, b))
        one, other = (x / _at_least(n, least) for x, n in zip((a, b), lengths, strict=True))
        return put("Sum", one * other, axis=(axis,))
    order = [i for i in range(a.ndim) if i != axis % a.ndim] + [axis % a.ndim]
    return put("CosineSimilarity", a.stage.transpose(a, order), b.stage.transpose(b, order))


def _at_least(x: Staged, least: float) -> Staged:
    """``x``, or some number that it isn't below, with the gradient of ``x`` all the same."""
    above = put("Clip", x, min=least, max=None)
    return x + put("StopGradient", above - x, name="numerical stability")


def divergence(
    x: Staged, target: Staged, reduction: Reduction = "mean", log_target: bool = False
) -> Staged:
    """``target * (log(target) - x)``, where ``x`` is a logarithm already."""
    if log_target:
        return reduced(put("Exp", target) * (target - x), reduction)
    return reduced(times_logarithm(target, target) - target * x, reduction)


def poisson(
    x: Staged,
    target: Staged,
    reduction: Reduction = "mean",
    logarithm: bool = True,
    eps: float = 0,
    full: bool = False,
) -> Staged:
    """Minus the logarithm of a Poisson probability of the rate ``x``; with its constant by
    Stirling's formula, for targets above 1, only where it is ``full``.
    """
    x = x if x.is_float else x.stage.cast(x, "float32")
    y = put("Exp", x) - target * x if logarithm else x - target * put("Log", x + eps)
    if full:
        large = target > 1
        n = put("Where", large, x.stage.cast(target, x.dtype), x.like(2))
        constant = n * put("Log", n) - n + 0.5 * put("Log", n * (2 * math.pi))
        y = y + put("Where", large, constant, n.like(0))
    return reduced(y, reduction)
