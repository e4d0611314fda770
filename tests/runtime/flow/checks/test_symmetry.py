"""Units that start equal and stay equal are named; what only looks alike is not."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.flow.tools.causes import causes

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(6, 4))
TARGET = DRAW.normal(size=(6, 2))
RANDOM = DRAW.normal(size=(8, 4)), DRAW.normal(size=(2, 8))


def trained(name, value):
    return b.variable(name, value, dtype="float64")


def network(first, second, bias=0.0, between=b.tanh, layer=b.linear):
    """``second @ tanh(first @ x + bias)`` against a target."""
    x, target = (b.constant(n, a, dtype="float64") for n, a in (("x", X), ("target", TARGET)))
    biases = trained("bias", np.broadcast_to(bias, 8).copy())
    if layer is b.linear:
        hidden = b.linear(x, trained("first", first), biases, name="layer")
    else:
        product = b.matmul(x, b.transpose(trained("first", first)), name="layer")
        hidden = b.add(product, biases)
    out = b.linear(between(hidden), trained("second", second), name="last")
    return b.build(b.loss(b.mean_squared_error(out, target)))


def alike(diagram):
    found = diagnose(Session(diagram))
    return {f.key: f.sentence for f in found if f.complaint.name == "symmetric"}


CONSTANT = np.full((8, 4), 0.3), np.full((2, 8), 0.2)
HALF = RANDOM[0].copy(), RANDOM[1].copy()
HALF[0][:4], HALF[1][:, :4] = HALF[0][0], HALF[1][:, :1]
PAIRS = np.repeat(RANDOM[0][:4], 2, axis=0), np.repeat(RANDOM[1][:, :4], 2, axis=1)


@pytest.mark.parametrize("layer", [b.linear, b.matmul])
@pytest.mark.parametrize(
    ("weights", "said"),
    [(CONSTANT, "All 8 units of layer have"), (HALF, "4 of 8 units of layer have")],
)
def test_equal_units_are_named_with_the_cure(weights, said, layer):
    diagram = network(*weights, layer=layer)
    (sentence,) = alike(diagram).values()
    assert sentence.startswith(f"{said} equal weights and get equal gradients: they stay equal")
    assert sentence.endswith("Start first with random numbers.")
    (cause,) = causes(diagnose(Session(diagram)))
    assert (cause.culprit, cause.severity, cause.affected) == ("layer", "warning", ("first",))


@pytest.mark.parametrize(
    ("weights", "groups"), [(PAIRS, 4), ((CONSTANT[0], np.repeat(RANDOM[1][:, :2], 4, axis=1)), 2)]
)
def test_several_groups_are_counted(weights, groups):
    (sentence,) = alike(network(*weights)).values()
    assert sentence.startswith(f"8 of 8 units of layer are in {groups} groups")


@pytest.mark.parametrize("weights", [CONSTANT, HALF])
def test_what_is_said_to_stay_equal_does(weights):
    session = Session(network(*weights))
    for _ in range(50):
        session.backward()
        for name, gradient in session.gradients.items():
            session.set(name, session.values[name] - 0.1 * gradient)
    first = session.values["first"]
    np.testing.assert_allclose(first[:4], np.broadcast_to(first[0], (4, 4)), rtol=1e-9)
    assert not np.allclose(first[0], weights[0][0])


def dropped(x, share):
    return b.mul(x, b.cast(b.greater(b.random_uniform(x), share), dtype="float64"))


DIFFERENT = {
    "random": lambda: network(*RANDOM),
    "only the first layer": lambda: network(CONSTANT[0], RANDOM[1]),
    "only the last layer": lambda: network(RANDOM[0], CONSTANT[1]),
    "a last layer of zeros": lambda: network(RANDOM[0], 0.0 * RANDOM[1]),
    "other biases": lambda: network(*CONSTANT, bias=np.linspace(-1, 1, 8)),
    "dropout": lambda: network(*CONSTANT, between=lambda x: dropped(x, 0.5)),
    "dropout that kept all": lambda: network(*CONSTANT, between=lambda x: dropped(x, 1e-4)),
    "normed": lambda: network(*RANDOM, between=b.layer_norm),
}


@pytest.mark.parametrize("diagram", DIFFERENT.values(), ids=DIFFERENT)
def test_what_becomes_different_is_no_alarm(diagram):
    assert alike(diagram()) == {}


def test_the_units_of_the_last_layer_may_be_alike():
    x = b.constant("x", X, dtype="float64")
    out = b.linear(x, trained("w", np.zeros((3, 4))), name="last")
    assert alike(b.build(b.loss(b.mean(b.square(b.sub(out, 1.0)))))) == {}


def test_zeros_in_front_that_pass_after_a_step_are_no_alarm():
    session = Session(network(RANDOM[0], 0.0 * RANDOM[1]))
    assert diagnose(session) == []
    observed = observe(session)
    assert all("passes once second moves" in observed.variable(n).cure for n in ("first", "bias"))
