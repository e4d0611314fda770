"""Activations: values by their formulas, behaviour at 0 and far out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.blocks import Block
from gradwire.blocks.library.activations import (
    Celu,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    LogSoftmax,
    Mish,
    PRelu,
    Relu,
    Selu,
    Sigmoid,
    Silu,
    Softmax,
    Softplus,
    Tanh,
)
from tests.blocks.single import floats, gradients, value

X = np.array([[-3.0, -0.5, 0.0], [0.5, 1.0, 4.0]])


def _normal_below(x: float) -> float:
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@pytest.mark.parametrize(
    ("block", "formula"),
    [
        (Tanh(), math.tanh),
        (Sigmoid(), lambda x: 1 / (1 + math.exp(-x))),
        (Relu(), lambda x: max(x, 0.0)),
        (LeakyRelu(slope=0.2), lambda x: x if x > 0 else 0.2 * x),
        (Elu(alpha=2.0), lambda x: x if x > 0 else 2.0 * math.expm1(x)),
        (Gelu(), lambda x: x * _normal_below(x)),
        (Silu(), lambda x: x / (1 + math.exp(-x))),
        (Softplus(), lambda x: math.log1p(math.exp(x))),
    ],
)
def test_values(block: Block, formula: object) -> None:
    np.testing.assert_allclose(
        value(block, x=X), np.vectorize(formula, otypes=[float])(X), rtol=1e-13
    )


def test_gelu_by_tanh_is_near_the_exact_one() -> None:
    np.testing.assert_allclose(value(Gelu(approximate="tanh"), x=X), value(Gelu(), x=X), atol=5e-4)


@pytest.mark.parametrize(
    ("block", "slope"),
    [(Relu(), 0), (LeakyRelu(slope=0.2), 0.2), (Elu(), 1), (Tanh(), 1), (Sigmoid(), 0.25),
     (Softplus(), 0.5), (Silu(), 0.5), (Gelu(), 0.5)],
)  # fmt: skip
def test_slope_at_zero(block: Block, slope: float) -> None:
    np.testing.assert_allclose(gradients(block, x=floats(0, -0.0))["x"], [slope, slope])


def test_nothing_overflows() -> None:
    far = floats(-1000, 0, 1000)
    for block in (Tanh(), Sigmoid(), Relu(), LeakyRelu(), Elu(), Gelu(), Silu(), Softplus(),
                  Softmax(), LogSoftmax()):  # fmt: skip
        assert np.isfinite(value(block, x=far)).all(), block
        assert np.isfinite(gradients(block, x=far)["x"]).all(), block
    np.testing.assert_array_equal(value(Softplus(), x=far), [0, math.log(2), 1000])
    np.testing.assert_array_equal(gradients(Softplus(), x=far)["x"], [0, 0.5, 1])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_sums_to_one_along_its_axis(axis: int) -> None:
    out = value(Softmax(axis=axis), x=X)
    np.testing.assert_allclose(out.sum(axis=axis), 1)
    np.testing.assert_allclose(out, np.exp(X) / np.exp(X).sum(axis=axis, keepdims=True))
    np.testing.assert_allclose(value(LogSoftmax(axis=axis), x=X), np.log(out))


@pytest.mark.parametrize(
    ("block", "formula"),
    [
        (
            Selu(),
            lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
        ),
        (Celu(alpha=2.0), lambda x: x if x > 0 else 2 * math.expm1(x / 2)),
        (HardSigmoid(), lambda x: min(max(x / 6 + 0.5, 0), 1)),
        (HardSigmoid(alpha=0.2, beta=0.25), lambda x: min(max(x / 5 + 0.25, 0), 1)),
        (HardSwish(), lambda x: x * min(max(x / 6 + 0.5, 0), 1)),
        (Mish(), lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Block) else "formula",
)
def test_values_by_their_formulas(block: Block, formula: object) -> None:
    np.testing.assert_allclose(
        value(block, x=X), np.vectorize(formula, otypes=[float])(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("block", "far_out"),
    [(Selu(), [-1.7580993408473766, np.inf]), (Celu(), [-1, np.inf]), (HardSigmoid(), [0, 1])],
    ids=str,
)
def test_far_out_nothing_overflows(block: Block, far_out: list[float]) -> None:
    x = floats(-1e300, np.inf)
    np.testing.assert_allclose(value(block, x=x), far_out)
    assert not np.isnan(gradients(block, x=x)["x"]).any()


def test_prelu_learns_its_slope() -> None:
    slope = floats([0.1], [0.2])
    np.testing.assert_allclose(value(PRelu(), x=X, slope=slope), np.where(X > 0, X, slope * X))
    found = gradients(PRelu(), x=X, slope=slope)
    np.testing.assert_allclose(found["slope"], [[-3.5], [0]])
    np.testing.assert_allclose(found["x"], np.where(X > 0, 1, slope))
    np.testing.assert_allclose(value(PRelu.new(), x=X), np.where(X > 0, X, X / 4))
