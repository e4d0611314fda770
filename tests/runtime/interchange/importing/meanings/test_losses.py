"""Each meaning against PyTorch: values and gradients."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gradwire.blocks.errors import DTypeError
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.keras.training import put_up_loss
from gradwire.runtime.interchange.importing.meanings import losses
from gradwire.runtime.interchange.importing.stage import Stage
from tests.runtime.interchange.importing.meanings.differing import Fixed, agrees, functions

A, B, P = ((np.random.default_rng(n).standard_normal((3, 4)) * 1).astype("f4") for n in range(3))
P = 1 / (1 + np.exp(-P))
SIGNS, LABELS = Fixed(np.float32([1, -1, 1])), np.array([2, 0, 3])
WEIGHT = Fixed(np.float32([0.5, 1.5, 1, 2]))
BY_AXIS = A.reshape(1, 4, 3), np.array([[2, 1, 3]])


def cases(f):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    both = {"reduced", "together"}
    reductions = ("none", "mean", "sum")
    return {
        **{f"distance {r}": (partial(losses.distance, "MeanSquaredError", reduction=r),
                             partial(f.mse_loss, reduction=r), A, B) for r in reductions},
        "smooth_l1": (
            partial(losses.smooth_l1, beta=0.5), partial(f.smooth_l1_loss, beta=0.5), A, B,
        ),
        "smooth_l1 of no width": (partial(losses.smooth_l1, beta=0), f.l1_loss, A, B),
        "binary": (
            partial(losses.binary, given="logits"), f.binary_cross_entropy_with_logits, A, Fixed(P),
        ),
        "binary weighted": (
            lambda x, y, w: losses.binary(x, y, "sum", w, w, given="logits"),
            lambda x, y, w: f.binary_cross_entropy_with_logits(x, y, w, None, None, "sum", w),
            A, Fixed(P), WEIGHT,
        ),
        **{f"cross_entropy {r} {w} {i} {s} {x[0].shape}": (
            lambda x, y, v, r=r, w=w, i=i, s=s: losses.cross_entropy(
                x, y, 1, r, v if w else None, i, s),
            lambda x, y, v, r=r, w=w, i=i, s=s: f.cross_entropy(
                x, y, v if w else None, reduction=r, ignore_index=-1 if i is None else i,
                label_smoothing=s),
            *x, WEIGHT)
           for r in reductions for w in (False, True) for i in (None, 3) for s in (0.0, 0.2)
           for x in ((A, LABELS), BY_AXIS)},
        "cross_entropy of probabilities": (
            lambda x, y, v: losses.cross_entropy(x, y, 1, weight=v, smoothing=0.1),
            lambda x, y, v: f.cross_entropy(x, y, v, label_smoothing=0.1),
            A, Fixed(P), WEIGHT,
        ),
        "cross_entropy of logarithms": (
            partial(losses.cross_entropy, logits=False, ignored=3),
            partial(f.nll_loss, ignore_index=3), A, LABELS,
        ),
        "multi_margin": (
            lambda x, y, w: losses.multi_margin(x, y, "sum", 2, 0.5, w),
            lambda x, y, w: f.multi_margin_loss(x, y, 2, 0.5, w, reduction="sum"),
            A, LABELS, WEIGHT,
        ),
        "by_sign": (
            lambda a, b, y: losses.by_sign(1.0 - losses.cosine(a, b), losses.cosine(a, b) * 0, y),
            lambda a, b, y: f.cosine_embedding_loss(a, b, y, 1.0), A, B, SIGNS,
        ),
        "cosine": (partial(losses.cosine, axis=0), partial(f.cosine_similarity, dim=0), A, B),
        "divergence": (losses.divergence, f.kl_div, A, Fixed(np.where(A > 0, P, 0).astype("f4"))),
        "divergence of logarithms": (
            partial(losses.divergence, reduction="sum", log_target=True),
            partial(f.kl_div, reduction="sum", log_target=True), A, B,
        ),
        "poisson": (losses.poisson, f.poisson_nll_loss, A, P),
        "poisson of rates": (
            partial(losses.poisson, logarithm=False, eps=0.1),
            partial(f.poisson_nll_loss, log_input=False, eps=0.1), P, P,
        ),
    }, both  # fmt: skip


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_all_meanings_agree_with_pytorch():
    f = pytest.importorskip("torch").nn.functional
    found, helpers = cases(f)
    assert {name.split()[0] for name in found} == functions(losses) - helpers
    for name, (meaning, reference, *arrays) in found.items():
        agrees(name, meaning, reference, arrays)


def test_logarithms_of_probabilities_are_held_against_classes_alone():
    stage = Stage()
    with pytest.raises(DTypeError):
        losses.cross_entropy(stage.input("x", A), stage.input("y", P), logits=False)


def test_a_mean_over_at_least_one_ignores_scores_that_are_no_numbers():
    stage = Stage()
    x, y = stage.variable("x", np.float32([[np.nan, 1], [1, 2]])), stage.constant([0, 0])
    some = losses.cross_entropy(x, stage.constant([-1, 0]), ignored=-1, least=1.0)
    none = losses.cross_entropy(x, y, ignored=0, least=1.0)
    stage.output(some, "some")
    stage.output(none, "none")
    made = stage.finish()
    values = Session(made.diagram).run().values
    assert values[made.outputs["some"]] == pytest.approx(np.log(1 + np.e), rel=1e-6)
    assert values[made.outputs["none"]] == 0


def test_a_loss_that_another_system_has_is_one_row_of_keras():
    stage = Stage()
    assert put_up_loss(stage, stage.input("y", P), {"loss": "poisson"}, B)
    made = stage.finish()
    value = Session(made.diagram).run().values[made.outputs["loss"]]
    assert value == pytest.approx(np.mean(P - B * np.log(P + 1e-7)), rel=1e-5)
