"""What is 0 or small by design draws no complaint, and what vanishes does."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def weight(name, size=1.0, shape=(4, 4)):
    draw = np.random.default_rng(sum(map(ord, name)))
    return b.variable(name, (size * draw.normal(size=shape)).astype(np.float32))


def complaints(loss):
    return {(f.complaint.name, f.key) for f in diagnose(Session(b.build(b.loss(loss))))}


def mean_square(x):
    return b.mean(b.square(x))


def residual(scale, inner):
    """``x + scale · inner(x)`` behind a layer."""
    x = b.linear(b.input("x", X), weight("stem"))
    return mean_square(b.linear(b.add(x, b.mul(scale, inner(x))), weight("head")) - 1.0)


@pytest.mark.parametrize("start", [0.0, 1e-6])
def test_a_branch_whose_scale_starts_small_is_by_design(start):
    scale = b.variable("scale", np.full(4, start, np.float32))
    assert complaints(residual(scale, lambda x: b.linear(x, weight("inner")))) == set()


def test_a_constant_that_small_is_not():
    scale = b.constant("scale", np.zeros(4, np.float32))
    loss = residual(scale, lambda x: b.linear(x, weight("inner")))
    assert complaints(loss) == {("zero", "inner")}


def test_what_vanishes_on_the_way_to_the_first_layers_is_complained_of():
    x = b.input("x", X)
    for layer in range(9):
        x = b.sigmoid(b.linear(x, weight(f"w{layer}", 0.3)))
    found = complaints(mean_square(x - 1.0))
    assert ("vanishing", "w0") in found and ("vanishing", "w8") not in found


def test_small_weights_throughout_are_complained_of():
    x = b.input("x", X)
    for layer in range(4):
        x = b.linear(x, weight(f"w{layer}", 1e-4))
    assert {("vanishing", f"w{layer}") for layer in range(3)} <= complaints(mean_square(x - 1.0))


def test_a_bias_that_a_difference_takes_away_is_by_design():
    w, bias = weight("w"), b.variable("bias", np.ones(4, np.float32))
    first, second = (b.linear(b.input(n, X * k), w, bias) for n, k in (("x", 1), ("y", 0.3)))
    assert complaints(mean_square(first - second)) == set()


def test_a_loss_that_is_a_difference_of_the_same_is_complained_of():
    w, bias = weight("w"), b.variable("bias", np.ones(4, np.float32))
    first, second = (b.linear(b.input(n, X), w, bias) for n in ("x", "y"))
    found = complaints(b.mean(first) - b.mean(second))
    assert "w" in {key for _, key in found}
