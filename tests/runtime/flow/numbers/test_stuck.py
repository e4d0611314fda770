"""What multiplies by a variable of zeros: what is said passes once something moves does pass."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, observe

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
SIZES = (3, 4, 4, 1)


def layer(x, k, weight, bias, as_block):
    """Of ``SIZES[k]`` numbers ``SIZES[k + 1]``; weight and bias are zeros where they are None."""
    shape = SIZES[k], SIZES[k + 1]
    draw = np.random.default_rng(k).normal(size=shape) if weight is None else np.full(shape, weight)
    w = b.variable(f"w{k}", draw.T if as_block else draw)
    c = b.variable(f"b{k}", np.full(shape[1], bias))
    if as_block:
        return b.linear(x, w, c, units=shape[1], name=f"fc{k}")
    return b.add(b.matmul(x, w, name=f"fc{k}"), c)


def net(weights, biases, act=b.relu, as_block=True):
    h = b.constant("x", X)
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        h = layer(h if k == 0 else act(h), k, weight, bias, as_block)
    return Session(b.build(b.loss(b.mean_squared_error(h, np.ones((6, 1))), name="loss")))


def gradient(session, name):
    return session.backward().gradients[name]


def train(session, steps, only=None):
    for _ in range(steps):
        for name, found in session.backward().gradients.items():
            if found is not None and only in (None, name):
                session.set(name, session.values[name] - 0.01 * found)


ZEROS = [
    (weights, biases)
    for weights in product((None, 0.0), repeat=3)
    for biases in [(0.0, 0.0, 0.0), (0.2, 0.3, 0.0), (0.2, 0.0, 0.0)]
    if 0.0 in weights
]


@pytest.mark.parametrize("act", ["relu", "tanh", "softplus"])
@pytest.mark.parametrize("as_block", [True, False])
def test_what_is_promised_of_layers_that_start_at_zero_comes_true(act, as_block):
    said: set[str] = set()
    for weights, biases in ZEROS:
        observed = observe(net(weights, biases, getattr(b, act), as_block))
        for name in observed.program.trainable:
            verdict = observed.variable(name)
            if verdict.state is not State.ZERO:
                continue
            session = net(weights, biases, getattr(b, act), as_block)
            about = (weights, biases, name, verdict.sentence, verdict.cure)
            if found := re.search(r"passes once (\S+) moves", verdict.cure):
                train(session, 1, only=found[1])
                said.add("once")
            elif found := re.search(r"passes after (\d) steps of training", verdict.cure):
                train(session, int(found[1]))
                said.add("after")
            elif found := re.search(r"Start (.+) away from 0:", verdict.cure):
                for started in re.findall(r"\b[wb]\d\b", found[1]):
                    shape = session.values[started].shape
                    session.set(started, np.random.default_rng(5).normal(size=shape))
                said.add("start")
            else:
                continue
            assert np.any(gradient(session, name)), about
    assert "once" in said and (act == "softplus" or "start" in said)


def test_a_bias_of_0_is_not_said_to_keep_a_gradient_from_passing():
    """The layer multiplies by its weight, and adds the bias."""
    observed = observe(net((None, None, 0.0), (0.0, 0.0, 0.0)))
    for name in ("w0", "b0", "w1", "b1"):
        cure = observed.variable(name).cure
        assert cure == "w2 is 0 and gets a gradient itself: this passes once w2 moves."
    dead = observe(net((0.0, None, 0.0), (0.0, 0.0, 0.0)))
    assert "b2" not in dead.variable("w0").cure


def test_what_needs_a_second_variable_to_move_is_said_to_take_two_steps():
    observed = observe(net((None, 0.0, 0.0), (0.2, 0.3, 0.0)))
    assert observed.variable("w0").cure == (
        "w2 is 0 and gets a gradient itself: this passes after 2 steps of training."
    )
    assert observed.variable("w1").cure == (
        "w2 is 0 and gets a gradient itself: this passes once w2 moves."
    )


def test_what_does_not_help_is_not_advised():
    """Wherever the gate starts, the Relu is off."""
    gate, off = b.variable("gate", 0.0), b.relu(b.mul(b.variable("x", -2.0), 1.0), name="off")
    session = Session(b.build(b.loss(b.square(b.mul(off, gate, name="product") - 1.0))))
    verdict = observe(session).variable("x")
    assert verdict.state is State.ZERO and "product" in verdict.sentence and verdict.cure == ""
    for start in (-1.0, 0.5, 3.0):
        session.set("gate", start)
        assert not np.any(gradient(session, "x"))


def test_one_of_several_variables_of_zeros_is_enough():
    x, first, second = (b.variable(name, 0.0) for name in ("x", "first", "second"))
    paired = b.mul(b.mul(x, first, name="inner"), 1.0 + second, name="outer")
    cure = observe(Session(b.build(b.loss(b.square(paired - 1.0))))).variable("x").cure
    assert cure == "Start first away from 0: as it is, neither can move."
    both = b.mul(b.mul(x, first, name="inner"), second, name="outer")
    cure = observe(Session(b.build(b.loss(b.square(both - 1.0))))).variable("x").cure
    assert cure == "Start second and first away from 0: as they are, none can move."
