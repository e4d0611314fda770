"""Losses: values by their formulas, gradients of Loss by MXNet's rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.losses import (
    BinaryCrossEntropy,
    CrossEntropy,
    Huber,
    Loss,
    MeanAbsoluteError,
    MeanSquaredError,
)
from tests.blocks.single import floats, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

P = np.array([[0.5, -2.0, 3.0], [1.0, 0.0, -0.25]])
T = np.array([[0.0, -2.0, 1.0], [4.0, 0.5, -0.5]])
R = P - T


@pytest.mark.parametrize(
    ("cls", "terms"),
    [
        (MeanSquaredError, R**2),
        (MeanAbsoluteError, np.abs(R)),
        (Huber, np.where(np.abs(R) <= 1, R**2 / 2, np.abs(R) - 0.5)),
    ],
)
def test_distances(cls: type[Block], terms: np.ndarray) -> None:
    np.testing.assert_allclose(value(cls(), prediction=P, target=T), terms.mean())
    np.testing.assert_allclose(value(cls(reduction="sum"), prediction=P, target=T), terms.sum())
    np.testing.assert_allclose(value(cls(reduction="none"), prediction=P, target=T), terms)


def test_integers_do_not_wrap_around() -> None:
    small, large = np.array([3], np.uint8), np.array([5], np.uint8)
    for block, loss in ((MeanSquaredError(), 4), (MeanAbsoluteError(), 2), (Huber(), 1.5)):
        assert value(block, prediction=small, target=large) == loss


def test_huber_grows_linearly_from_delta_on() -> None:
    block = Huber(delta=2.0, reduction="sum")
    r = floats(-3, -2, -1, 0, 1, 2, 3)
    found = gradients(block, prediction=r, target=np.zeros(7))
    np.testing.assert_array_equal(found["prediction"], np.clip(r, -2, 2))
    np.testing.assert_array_equal(found["target"], -np.clip(r, -2, 2))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_huber_at_infinity_keeps_its_slope(dtype: str) -> None:
    block = Huber(delta=2.0, reduction="none")
    r = np.array([np.inf, -np.inf, 1], dtype)
    zero = np.zeros(3, dtype)
    np.testing.assert_array_equal(value(block, prediction=r, target=zero), [np.inf, np.inf, 0.5])
    found = gradients(block, prediction=r, target=zero)
    np.testing.assert_array_equal(found["prediction"], [2, -2, 1])
    np.testing.assert_array_equal(found["target"], [-2, 2, -1])


def test_huber_with_a_delta_beyond_its_dtype_is_half_the_square() -> None:
    block, r = Huber(delta=1e300, reduction="none"), np.array([3, -1e10], np.float32)
    zero = np.zeros(2, np.float32)
    np.testing.assert_allclose(value(block, prediction=r, target=zero), r * r / 2, rtol=1e-6)
    np.testing.assert_array_equal(gradients(block, prediction=r, target=zero)["prediction"], r)


def test_absolute_error_is_flat_where_it_is_zero() -> None:
    found = gradients(MeanAbsoluteError(), prediction=floats(1, 2), target=floats(1, 0))
    np.testing.assert_array_equal(found["prediction"], [0, 0.5])


@pytest.mark.parametrize("cls", [MeanSquaredError, MeanAbsoluteError, Huber, BinaryCrossEntropy])
def test_shapes_that_would_broadcast_are_refused(cls: type[Block]) -> None:
    message = r"Expected target of shape \(2, 3\), got \(2, 1\)"
    with pytest.raises(GradwireError, match=message):
        value(cls(), prediction=P, target=T[:, :1])


def _log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def test_cross_entropy_of_classes() -> None:
    terms = -_log_softmax(P)[[0, 1], [2, 0]]
    labels = np.array([2, 0])
    np.testing.assert_allclose(value(CrossEntropy(), logits=P, labels=labels), terms.mean())
    whole = value(CrossEntropy(reduction="none"), logits=P, labels=labels)
    np.testing.assert_allclose(whole, terms)
    found = gradients(CrossEntropy(reduction="sum"), logits=P, labels=labels)
    np.testing.assert_allclose(found["logits"], np.exp(_log_softmax(P)) - np.eye(3)[labels])
    assert found["labels"] is None


def test_cross_entropy_of_probabilities() -> None:
    labels = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    scores = _log_softmax(P)
    expected = -(labels * scores).sum(-1).mean()
    np.testing.assert_allclose(value(CrossEntropy(), logits=P, labels=labels), expected)
    found = gradients(CrossEntropy(), logits=P, labels=labels)
    np.testing.assert_allclose(found["labels"], -scores / 2)


def test_cross_entropy_along_another_axis() -> None:
    labels = np.array([1, 0, 1])
    expected = -_log_softmax(P, 0)[labels, range(3)].mean()
    np.testing.assert_allclose(value(CrossEntropy(axis=0), logits=P, labels=labels), expected)


def test_cross_entropy_with_an_impossible_other_class() -> None:
    logits = np.array([[0.0, -np.inf]])
    assert value(CrossEntropy(), logits=logits, labels=np.array([0])) == 0


def test_binary_cross_entropy() -> None:
    targets = np.array([[0.0, 1.0, 0.25], [1.0, 0.5, 0.0]])
    p = 1 / (1 + np.exp(-P))
    expected = -(targets * np.log(p) + (1 - targets) * np.log(1 - p)).mean()
    np.testing.assert_allclose(value(BinaryCrossEntropy(), prediction=P, target=targets), expected)
    block = BinaryCrossEntropy(given="probabilities")
    np.testing.assert_allclose(value(block, prediction=p, target=targets), expected)
    found = gradients(BinaryCrossEntropy(reduction="sum"), prediction=P, target=targets)
    np.testing.assert_allclose(found["prediction"], p - targets)


def test_binary_cross_entropy_is_exact_far_out() -> None:
    block = BinaryCrossEntropy(reduction="none")
    far, yes = floats(-1000, 1000, 1000), np.array([True, True, False])
    np.testing.assert_array_equal(value(block, prediction=far, target=yes), [1000, 0, 1000])
    certain = BinaryCrossEntropy(given="probabilities", reduction="none")
    out = value(certain, prediction=floats(0, 1), target=floats(1, 1))
    np.testing.assert_allclose(out, [-math.log(np.finfo(float).eps), 0], atol=1e-15)
    found = gradients(certain, prediction=floats(0, 1), target=floats(1, 1))
    assert np.isfinite(found["prediction"]).all()


@pytest.mark.parametrize(
    ("parameters", "factor"),
    [
        ({}, 1.0),
        ({"scale": 0.5}, 0.5),
        ({"normalization": "batch"}, 1 / 4),
        ({"normalization": "valid"}, 1 / 5),
        ({"normalization": "valid", "threshold": 2.0}, 1 / 3),
        ({"normalization": "valid", "threshold": 100.0}, 1.0),
        ({"scale": 3.0, "normalization": "batch"}, 3 / 4),
        ({"scale": 3.0, "normalization": "valid", "threshold": 1.0}, 3 / 4),
        ({"threshold": 2.0}, 1.0),
    ],
)
def test_loss_sends_scale_over_n(parameters: dict[str, object], factor: float) -> None:
    x = np.array([[-1.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, -2.0]])
    block = Loss.from_record(parameters)
    np.testing.assert_array_equal(value(block, x=x), x)
    np.testing.assert_allclose(gradients(block, x=x)["x"], np.full((4, 2), factor))


def test_loss_refuses_integers() -> None:
    with pytest.raises(GradwireError, match="float"):
        value(Loss(), x=np.array([1, 2]))


def test_loss_by_batch_needs_a_batch() -> None:
    with pytest.raises(GradwireError, match="first axis"):
        value(Loss(normalization="batch"), x=np.float64(1.0))


def test_loss_is_the_head() -> None:
    assert Loss.head and Loss.surrogate
    assert not MeanSquaredError.head


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (CrossEntropy(), {"logits": P, "labels": np.array([1])}, r"labels of shape \(2,\)"),
        (CrossEntropy(), {"logits": P, "labels": np.array([1, 3])}, "index 3 is out of range"),
        (CrossEntropy(), {"logits": P, "labels": P[:1]}, "Logits and labels have different"),
        (CrossEntropy(), {"logits": P, "labels": P > 0}, "Boolean labels"),
        (CrossEntropy(axis=2), {"logits": P, "labels": np.array([1, 0])}, "Axis 2"),
        (BinaryCrossEntropy(), {"prediction": P > 0, "target": P}, "'prediction' must be float"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: Block, inputs: dict[str, object], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)


def test_delta_is_positive() -> None:
    with pytest.raises(ParameterError, match="delta"):
        Huber.from_record({"delta": 0})


def test_steep_edges_have_the_rule_of_pytorch() -> None:
    p = floats(0.0, 1.0, 1e-13, 1e-9, 0.3, 0.0, 1.0, 0.0)
    t = floats(1.0, 0.0, 1.0, 0.5, 0.25, 0.0, 1.0, 0.5)
    block = BinaryCrossEntropy(given="probabilities", edges="steep", reduction="none")
    with np.errstate(divide="ignore"):
        yes, no = np.maximum(np.log(p), -100), np.maximum(np.log1p(-p), -100)
    np.testing.assert_allclose(value(block, prediction=p, target=t), -t * yes - (1 - t) * no)
    found = gradients(block, prediction=p, target=t)
    np.testing.assert_allclose(found["prediction"], (p - t) / np.maximum(p * (1 - p), 1e-12))
    np.testing.assert_allclose(found["target"], no - yes)


def test_edges_are_alike_between_them() -> None:
    p, t = floats(0.1, 0.5, 0.999), floats(0.0, 0.5, 1.0)
    flat = BinaryCrossEntropy(given="probabilities")
    steep = BinaryCrossEntropy(given="probabilities", edges="steep")
    assert value(flat, prediction=p, target=t) == value(steep, prediction=p, target=t)
