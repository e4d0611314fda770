"""Optimisers for ``Session.step``: missing gradients, options, and the first formulas."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.training import optimisers
from gradwire.runtime.training.optimisers import SGD, Adam, AdamW, arithmetic

if TYPE_CHECKING:
    from gradwire.runtime.engine import Optimiser

KINDS = [
    getattr(optimisers, name)
    for name in optimisers.__all__
    if name[0].isupper() and name != "MethodOptimiser"
]


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
        with pytest.raises(RunError, match=r"is wrong\. Expected (a|at least 0).*, got .*"):
            make()


def test_who_wants_to_climb_is_told_how() -> None:
    with pytest.raises(RunError, match="write maximize=True"):
        SGD(lr=-1.0)
    moved = SGD(lr=0.5, maximize=True).update({"a": np.ones(1)}, {"a": np.ones(1)})
    assert moved["a"].tolist() == [1.5]


def test_other_options_than_there_are_get_the_nearest() -> None:
    with pytest.raises(RunError, match=r"Adam has no option 'beta'.*Did you mean betas"):
        Adam(beta=0.9)
    with pytest.raises(RunError, match="takes lr once"):
        SGD(0.1, 0.9)
    with pytest.raises(RunError, match="needs momentum, and no dampening"):
        SGD(nesterov=True)


def test_the_signature_has_the_options_and_their_defaults() -> None:
    parameters = signature(AdamW).parameters
    assert next(iter(parameters)) == "lr"
    assert parameters["weight_decay"].default == 0.01
    assert repr(AdamW(0.5, betas=(0.5, 0.9))) == "AdamW(lr=0.5, betas=(0.5, 0.9))"


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_that_misses_a_gradient_goes_on_where_it_was(kind: type[Any]) -> None:
    """Its state and its number of updates are those of a run without the gaps."""
    rng = np.random.default_rng(1)
    gradients = rng.normal(size=(9, 3))
    alone, together = kind(0.01, weight_decay=0.1), kind(0.01, weight_decay=0.1)
    one = {"b": np.ones(3)}
    both = {"a": np.ones((2, 2)), "b": np.ones(3), "c": np.ones(())}
    for step, gradient in enumerate(gradients):
        one |= alone.update(one, {"b": gradient}) if step % 3 else {}
        given = {"a": np.ones((2, 2)), "b": gradient if step % 3 else None, "c": np.ones(())}
        before = both["b"]
        both |= together.update(both, given)
        assert step % 3 or both["b"] is before
    assert both["b"].tolist() == one["b"].tolist()
    assert together.state("b")["step"] == 6
    assert together.state("a")["step"] == 9
    for slot, array in alone.state("b").items():
        assert np.array_equal(together.state("b")[slot], array)


@pytest.mark.parametrize("kind", KINDS)
def test_large_arrays_are_updated_in_parts_as_if_in_one(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    value, gradient = np.linspace(-1, 1, 1000), np.linspace(2, -3, 1000)
    whole = kind(0.01, weight_decay=0.1, maximize=True)
    expected = [whole.update({"a": value}, {"a": gradient})["a"] for _ in range(3)]
    monkeypatch.setattr(arithmetic, "CHUNK", 64)
    parts = kind(0.01, weight_decay=0.1, maximize=True)
    found = [parts.update({"a": value}, {"a": gradient})["a"] for _ in range(3)]
    assert np.array_equal(found, expected)


def test_dtypes_stay_and_a_new_shape_starts_anew() -> None:
    adam = Adam(0.1)
    values = {"a": np.ones(2, np.float32), "b": np.ones(2)}
    moved = adam.update(values, {"a": np.ones(2, np.float32), "b": np.ones(2)})
    assert (moved["a"].dtype, moved["b"].dtype) == (np.float32, np.float64)
    adam.update({"a": np.ones(3, np.float32)}, {"a": np.ones(3, np.float32)})
    assert (adam.state("a")["step"], adam.state("b")["step"]) == (1, 1)
    assert adam.state("c") == {}


def test_neither_values_nor_gradients_are_written_to() -> None:
    for kind in KINDS:
        value, gradient = np.ones(2), np.full(2, 3.0)
        moved = kind(0.1, weight_decay=0.1, maximize=True).update({"a": value}, {"a": gradient})
        assert value.tolist() == [1, 1]
        assert gradient.tolist() == [3, 3]
        assert not np.shares_memory(moved["a"], value)


def test_what_is_not_finite_is_no_warning() -> None:
    moved = Adam().update({"a": np.ones(2, np.float32)}, {"a": np.float32([3e38, np.nan])})
    assert np.isnan(moved["a"][1])
