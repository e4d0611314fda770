"""Normalisation: statistics over the right axes, running ones, and gradients through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.layers.normalisation import (
    LRN,
    BatchNorm,
    GroupNorm,
    LayerNorm,
    RMSNorm,
)
from tests.blocks.single import Single, floats, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

X = np.random.default_rng(3).normal(3, 2, size=(4, 6, 5))
SCALE, BIAS = floats(1, 2, 3, 4, 5, 6), floats(6, 5, 4, 3, 2, 1)


def _normal(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)


@pytest.mark.parametrize("axes", [-1, 1, (1, 2), (-1, 0)])
def test_layer_norm(axes: int | tuple[int, ...]) -> None:
    wanted = (axes,) if isinstance(axes, int) else axes
    np.testing.assert_allclose(value(LayerNorm(axes=axes), x=X), _normal(X, wanted), rtol=1e-12)


def test_scale_and_bias_lie_along_the_axes() -> None:
    found = value(LayerNorm(axes=1), x=X, weight=SCALE, bias=BIAS)
    expected = _normal(X, (1,)) * SCALE[:, None] + BIAS[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rms_norm() -> None:
    expected = X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(value(RMSNorm(), x=X), expected, rtol=1e-12)
    assert value(RMSNorm(epsilon=1.0), x=np.zeros((2, 3))).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_group_norm(groups: int) -> None:
    found = value(GroupNorm(groups=groups), x=X, weight=SCALE, bias=BIAS)
    expected = _normal(X.reshape(4, groups, -1), (2,)).reshape(X.shape)
    expected = expected * SCALE[:, None] + BIAS[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("block", [LayerNorm(), RMSNorm()], ids=str)
def test_half_precision_holds_the_squares(block: Block) -> None:
    x = np.array([[300, -300, 600, 0]], np.float16)
    found = value(block, x=x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, value(block, x=x.astype(float)), rtol=2e-3)


def _outputs(block: BatchNorm, **inputs: np.ndarray) -> list[np.ndarray]:
    ports = [f"block.{name}" for name in block.outputs]
    run = Single(block, **inputs).session.run(ports=ports)
    return [run.values[port] for port in ports]


MEAN, VARIANCE = SCALE / 2, BIAS / 2


@pytest.mark.parametrize(("unbiased", "correction"), [(True, 20 / 19), (False, 1)])
def test_batch_norm_updates_running_statistics(unbiased: bool, correction: float) -> None:
    block = BatchNorm(momentum=0.25, unbiased=unbiased)
    out, mean, variance = _outputs(block, x=X, mean=MEAN, variance=VARIANCE)
    np.testing.assert_allclose(out, _normal(X, (0, 2)), rtol=1e-12)
    np.testing.assert_allclose(mean, 0.75 * MEAN + 0.25 * X.mean((0, 2)))
    wanted = 0.75 * VARIANCE + 0.25 * X.var((0, 2)) * correction
    np.testing.assert_allclose(variance, wanted)


def test_batch_norm_without_old_statistics_gives_those_of_the_batch() -> None:
    _, mean, variance = _outputs(BatchNorm(axis=-1), x=X)
    np.testing.assert_allclose(mean, X.mean((0, 1)))
    np.testing.assert_allclose(variance, X.var((0, 1), ddof=1))


def test_batch_norm_by_running_statistics() -> None:
    inputs = {"x": X, "weight": SCALE, "bias": BIAS, "mean": MEAN, "variance": VARIANCE}
    out, mean, variance = _outputs(BatchNorm(mode="running"), **inputs)
    expected = (X - MEAN[:, None]) / np.sqrt(VARIANCE + 1e-5)[:, None]
    np.testing.assert_allclose(out, expected * SCALE[:, None] + BIAS[:, None], rtol=1e-12)
    np.testing.assert_array_equal(mean, MEAN)
    np.testing.assert_array_equal(variance, VARIANCE)


def test_statistics_of_the_batch_take_gradient_and_running_ones_none() -> None:
    found = gradients(BatchNorm(), x=X, mean=MEAN, variance=VARIANCE)
    assert found["mean"] is None and found["variance"] is None
    np.testing.assert_allclose(found["x"], np.zeros(X.shape), atol=1e-12)  # the sum stays
    slope = gradients(BatchNorm(mode="running"), x=X, mean=MEAN, variance=VARIANCE)["x"]
    expected = np.broadcast_to(1 / np.sqrt(VARIANCE + 1e-5)[:, None], X.shape)
    np.testing.assert_allclose(slope, expected)


def test_no_gradient_comes_back_from_new_statistics() -> None:
    single = Single(BatchNorm(), x=X)
    seeds = {"block.new_mean": np.ones(6)}
    run = single.session.backward(["block.new_mean"], out_gradients=seeds)
    assert run.gradients["in_x"] is None


def test_own_parameters_are_ones_and_zeros_of_the_channels() -> None:
    for block in (BatchNorm.new(), GroupNorm.new(), LayerNorm.new().with_parameters(axes=1)):
        found = value(block, x=X)
        axes = {"BatchNorm": (0, 2), "GroupNorm": (1, 2), "LayerNorm": (1,)}
        np.testing.assert_allclose(found, _normal(X, axes[block.type_name()]), rtol=1e-5, atol=1e-6)
    running = BatchNorm.new().with_parameters(mode="running")
    np.testing.assert_allclose(value(running, x=X), X / np.sqrt(1 + 1e-5), rtol=1e-6)
    assert not BatchNorm.new().owned["mean"].wants_gradient


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_local_response_norm(size: int) -> None:
    found = value(LRN(size=size, alpha=0.3, beta=0.5, bias=2.0), x=X)
    expected = np.empty(X.shape)
    for c in range(6):
        near = X[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1]
        expected[:, c] = X[:, c] / np.sqrt(2 + 0.3 / size * (near**2).sum(1))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (LayerNorm(axes=3), {}, "Axis 3"),
        (LayerNorm(), {"weight": SCALE}, "Weight doesn't fit"),
        (LayerNorm(axes=1), {"bias": SCALE[:1]}, "Bias doesn't fit"),
        (RMSNorm(), {"weight": SCALE}, "Weight doesn't fit"),
        (GroupNorm(groups=4), {}, "don't divide into groups"),
        (GroupNorm(), {"weight": SCALE[:2]}, "Weight doesn't fit"),
        (BatchNorm(), {"variance": SCALE[:2]}, "Variance doesn't fit"),
        (BatchNorm(mode="running"), {"mean": SCALE}, "no running statistics"),
        (LRN(), {"x": floats(1)}, "no channels"),
    ],
)
def test_what_does_not_fit_is_refused(block: Block, inputs: dict, message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **{"x": X, **inputs})
