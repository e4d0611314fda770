"""Each meaning against PyTorch."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.meanings import reductions
from gradwire.runtime.interchange.importing.staged import put
from tests.runtime.interchange.importing.meanings.differing import all_agree

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")
ONE = np.array(-0.5, "f4")


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    return {
        "reduce": (partial(reductions.reduce, "Sum"), torch.sum, X),
        "reduce over some": (
            partial(reductions.reduce, "Mean", axes=(0, 2), keepdims=True),
            lambda x: x.mean((0, 2), keepdim=True), X,
        ),
        "reduce nothing": (partial(reductions.reduce, "Max", axes=()), lambda x: x * 1, X),
        **{f"norm {order}": (
            partial(reductions.norm, order=order, axes=(1,)),
            lambda x, order=order: torch.linalg.vector_norm(x, order, 1), X,
        ) for order in (1, 2, 2.5, math.inf, -math.inf)},
        "norm of a number": (partial(reductions.norm, axes=()), torch.abs, ONE),
        "mean_and_variance": (
            partial(reductions.mean_and_variance, axes=(1, 2)),
            lambda x: torch.var_mean(x, (1, 2), correction=0, keepdim=True)[::-1], X,
        ),
        **{f"variance {less} {root}": (
            partial(reductions.variance, axes=(0, 2), less=less, root=root),
            partial(torch.std if root else torch.var, dim=(0, 2), correction=less), X,
        ) for less in (0, 1, 2.5) for root in (True, False)},
        "variance of a number": (
            partial(reductions.variance, axes=(), root=True), partial(torch.std, correction=0), ONE,
        ),
        "running": (
            partial(reductions.running, "CumulativeProduct", axis=1), lambda x: x.cumprod(1), X,
        ),
        "running backwards": (
            partial(reductions.running, "CumulativeSum", axis=1, reverse=True, exclusive=True),
            lambda x: x.flip(1).cumsum(1).flip(1) - x, X,
        ),
        "running_by": (
            partial(reductions.running_by, partial(put, "Maximum"), axis=1, reverse=True),
            lambda x: x.flip(1).cummax(1).values.flip(1), X,
        ),
        "running_log_sum_exp": (
            partial(reductions.running_log_sum_exp, axis=-1), lambda x: x.logcumsumexp(-1), X,
        ),
        "running_log_sum_exp backwards": (
            partial(reductions.running_log_sum_exp, axis=1, reverse=True),
            lambda x: x.flip(1).logcumsumexp(1).flip(1), X,
        ),
        "differences": (
            partial(reductions.differences, axis=1, times=2), lambda x: x.diff(2, 1), X,
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    all_agree(reductions, cases(pytest.importorskip("torch")))
