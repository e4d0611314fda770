"""SGD and Adam against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.errors import RunError
from runtime.engine import SGD, Adam, Optimiser


@pytest.mark.parametrize("optimiser", [SGD(weight_decay=0.1), Adam(weight_decay=0.1)])
def test_a_variable_without_a_gradient_is_not_moved_by_weight_decay_either(
    optimiser: Optimiser,
) -> None:
    values = {"a": np.ones(2), "b": np.ones(2)}
    moved = optimiser.update(values, {"a": np.zeros(2), "b": None})
    assert set(moved) == {"a"}
    assert (moved["a"] < 1).all()
    assert values["a"].tolist() == [1, 1]


def test_sgd() -> None:
    moved = SGD(lr=0.5).update({"a": np.float32([1, 2])}, {"a": np.float32([2, -2])})
    assert moved["a"].tolist() == [0, 3]
    assert moved["a"].dtype == np.float32


def test_adam_follows_kingma_and_ba() -> None:
    adam, value = Adam(lr=0.1), np.array([1.0])
    m = v = 0.0
    expected = 1.0
    for t, g in enumerate([0.5, -2.0, 3.0], start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        expected -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        value = adam.update({"a": value}, {"a": np.array([g])})["a"]
    assert value[0] == pytest.approx(expected, rel=1e-12)


def test_adams_first_step_is_the_learning_rate() -> None:
    moved = Adam(lr=0.01).update({"a": np.array([0.0])}, {"a": np.array([123.0])})
    assert moved["a"][0] == pytest.approx(-0.01)


@pytest.mark.parametrize("rate", [-1, float("nan"), float("inf"), "0.1", None, True])
def test_a_rate_is_a_number_from_0_on(rate: Any) -> None:
    for make in (lambda: SGD(rate), lambda: SGD(weight_decay=rate), lambda: Adam(lr=rate)):
        with pytest.raises(RunError, match=r"Expected a number from 0 on, got .*"):
            make()
