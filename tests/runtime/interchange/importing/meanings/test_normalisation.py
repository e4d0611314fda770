"""Each meaning against PyTorch."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.meanings import normalisation
from gradwire.runtime.interchange.importing.stage import Stage
from tests.runtime.interchange.importing.meanings.differing import Fixed, all_agree

DRAW = np.random.default_rng(0)
X, SCALE, BIAS, MEAN = (
    DRAW.standard_normal(shape).astype("f4") for shape in ((2, 4, 5, 3), 4, 4, 4)
)
VARIANCE = DRAW.random(4).astype("f4") + 0.5


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    f = torch.nn.functional
    return {
        "batch_norm": (
            lambda *xs: normalisation.batch_norm(*xs, by_batch=False, epsilon=1e-2)[0],
            lambda x, s, b, m, v: f.batch_norm(x, m, v, s, b, eps=1e-2),
            X, SCALE, BIAS, Fixed(MEAN), Fixed(VARIANCE),
        ),
        "batch_norm of the batch": (
            lambda x, s: normalisation.batch_norm(x, s, None, None, None, True, 1e-2, axis=3)[0],
            lambda x, s: f.batch_norm(
                x.movedim(-1, 1), None, None, s, training=True, eps=1e-2
            ).movedim(1, -1),
            X, SCALE[:3].copy(),
        ),
        "layer_norm": (
            lambda x, s, b: normalisation.layer_norm(x, s, b, (2, 3), 1e-3),
            lambda x, s, b: f.layer_norm(x, (5, 3), s, b, 1e-3), X, X[0, 0], X[1, 1],
        ),
        "standardised": (
            lambda x: normalisation.standardised(x, (1, 3), 1e-3),
            lambda x: [
                f.layer_norm(x.movedim(2, 1), (4, 3), eps=1e-3).movedim(1, 2),
                x.mean((1, 3), keepdim=True),
                1 / (x.var((1, 3), correction=0, keepdim=True) + 1e-3).sqrt(),
            ], X,
        ),
        "rms_norm": (
            lambda x, s: normalisation.rms_norm(x, s, (-1,), 1e-3),
            lambda x, s: f.rms_norm(x, (3,), s, 1e-3), X, X[0, 0, 0],
        ),
        "group_norm": (
            lambda x, s, b: normalisation.group_norm(x, 2, s, b, 1e-3),
            lambda x, s, b: f.group_norm(x, 2, s, b, 1e-3), X, SCALE, BIAS,
        ),
        "weight_norm": (
            partial(normalisation.weight_norm, axis=1),
            lambda v, g: [torch._weight_norm(v, g, 1), v.norm(dim=0, keepdim=True)],
            X[0, :, :, 0].copy(), X[:1, 0, :, 1].copy(),
        ),
        "by_length": (
            lambda x: normalisation.by_length(x, (1,)), lambda x: f.normalize(x), X,
        ),
        "by_length of sums": (
            lambda x: normalisation.by_length(x, (-1,), 1), lambda x: f.normalize(x, 1, -1), X,
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    all_agree(normalisation, cases(pytest.importorskip("torch")))


def test_a_vector_of_zeros_stays():
    stage = Stage()
    y = normalisation.by_length(stage.input("x", np.zeros((2, 3), "f4")), (1,))
    assert not np.any(stage.example(y))
