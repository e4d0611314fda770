"""What would help a gradient that is 0, too large or too small; followed, it does help."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, reassurance

AT_MINIMUM = "square1 has a derivative of 0 here"
FINE = "Nothing wrong: every trained variable gets a gradient."


def x(value, name="x"):
    return b.variable(name, value)


def said(node):
    session = Session(b.build(b.loss(b.sum(node))))
    found = diagnose(session)
    return " ".join(f.sentence for f in found) or reassurance(session.program, session.losses)


def deep(squash, w=1.5):
    first = b.mul(x([w, 0.5]), 1.0)
    return reduce(lambda h, i: b.mul(squash(h), 1.0, name=f"layer{i}"), range(14), first)


def error(head):
    return b.mean_squared_error(head(x([-1.0, -0.5])), [1.0, 2.0])


def weighed(data):
    return b.mean_squared_error(b.mul(x([1.0, 2.0]), b.constant("data", data)), [1.0, 3.0])


def vector(length):
    return length(x([0.0, 0.0]))


def sum_of_squares(v):
    return b.sum(b.square(v))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("draw", "cure", "cured"),
    [
        (
            lambda: error(lambda h: b.relu(h, name="head")),
            "It is the output: leave it out, or use Softplus or LeakyRelu there.",
            lambda: error(b.softplus),
        ),
        (
            lambda: b.square(b.relu(x([-1.0, -0.5])) - [1.0, 2.0]),
            "It is the output: leave it out, or use Softplus or LeakyRelu there.",
            lambda: b.square(x([-1.0, -0.5]) - [1.0, 2.0]),
        ),
        (
            lambda: b.mul(b.relu(x([-1.0, -0.5])), [1.0, 2.0]),
            "is off (at most −0.5). Use LeakyRelu, start with other weights",
            lambda: b.mul(b.leaky_relu(x([-1.0, -0.5])), [1.0, 2.0]),
        ),
        (
            lambda: b.mul(b.ceil(x([0.3, 0.4]), name="up"), [1.0, 2.0]),
            "Leave it out, or use a StraightThrough block. Straight through up: rms 1.581.",
            lambda: b.mul(b.straight_through(b.ceil(z := x([0.3, 0.4])), z), [1.0, 2.0]),
        ),
        (
            lambda: b.mul(b.sign(x([0.3, 0.4]), name="mask"), [1.0, 2.0]),
            "Soften it with Tanh, or use a StraightThrough block. "
            "Straight through mask: rms 1.581.",
            lambda: b.mul(b.tanh(x([0.3, 0.4])), [1.0, 2.0]),
        ),
        (
            lambda: b.mul(b.clip(x([2.0, -3.0]), min=0.0, max=1.0, name="limit"), [1.0, 2.0]),
            "limit is beyond its limits (from −3 to 2). Start within its limits, or "
            "use a StraightThrough block (hard: the Clip). Straight through limit: rms 1.581.",
            lambda: b.mul(
                b.straight_through(b.clip(z := x([2.0, -3.0]), min=0.0, max=1.0), z), [1.0, 2.0]
            ),
        ),
        (
            lambda: b.square(b.tanh(x(30.0)) - 0.5),
            "Keep its input near 0: start with smaller weights, or normalise it.",
            lambda: b.square(b.tanh(x(0.3)) - 0.5),
        ),
        (
            lambda: deep(b.sigmoid),
            "Use LeakyRelu instead of sigmoid1, sigmoid2, sigmoid3, sigmoid4 and 10 more, or "
            "normalise between the blocks.",
            lambda: deep(b.leaky_relu),
        ),
        (
            lambda: b.mul(b.tanh(b.mul(x(0.04), 200.0), name="gate"), 1e-3),
            "Keep the input of gate small: start with smaller weights, or normalise it.",
            lambda: b.mul(b.tanh(b.mul(x(0.001), 200.0), name="gate"), 1e-3),
        ),
        (
            lambda: reduce(lambda h, _: b.mul(h, 1e-3), range(3), x(2.0)),
            "Start with larger weights, or normalise between the blocks.",
            lambda: reduce(lambda h, _: b.mul(h, 0.5), range(3), x(2.0)),
        ),
        (
            lambda: reduce(lambda h, _: b.mul(h, 20.0), range(4), x(0.5)),
            "Clip the gradient by its norm with a GradientClip, or start with smaller weights.",
            lambda: reduce(lambda h, _: b.mul(h, 2.0), range(4), x(0.5)),
        ),
        (
            lambda: b.div(x([1.0, 2.0]), b.add(b.constant("c", [0.0, 1.0]), 1e-6), name="ratio"),
            "Keep the denominator of ratio away from 0: add a larger number to it.",
            lambda: b.div(x([1.0, 2.0]), b.add(b.constant("c", [0.0, 1.0]), 1e-2), name="ratio"),
        ),
        (
            lambda: b.arctan2(x(1e-10, "y"), x(1e-10), name="angle"),
            "Keep the inputs of angle from being small together.",
            lambda: b.arctan2(x(0.1, "y"), x(0.1), name="angle"),
        ),
        (
            lambda: b.mul(x([1.0, 2.0]), b.constant("data", [3e4, 5e4])),
            "Scale data down: its numbers reach 50000.",
            lambda: b.mul(x([1.0, 2.0]), b.constant("data", [0.6, 1.0])),
        ),
        (
            lambda: weighed([3e4, 5e4]),
            "Scale data down: its numbers reach 50000. Clip the gradient by its norm",
            lambda: weighed([0.6, 1.0]),
        ),
        (
            lambda: b.binary_cross_entropy(x([3.0, -1.0]), [1.0, 0.0], given="probabilities"),
            "takes probabilities between 0 and 1 (from −1 to 3). Give it logits, with given "
            "set to logits.",
            lambda: b.binary_cross_entropy(x([3.0, -1.0]), [1.0, 0.0]),
        ),
        (
            lambda: b.cosine_similarity(x([0.0, 0.0]), [1.0, 2.0]),
            "cosine_similarity1 reads zeros, where its slope counts as 0.",
            lambda: b.cosine_similarity(x([0.0, 0.1]), [1.0, 2.0]),
        ),
        (
            lambda: vector(lambda v: b.square(b.norm(v, name="length"))),
            "length is at 0, where JAX has NaN: use Σx² instead of its square.",
            lambda: b.mul(vector(sum_of_squares), 1.0),
        ),
        (
            lambda: vector(lambda v: b.norm(v, name="length")),
            "slope counts as 0, as in PyTorch (NaN elsewhere). Use √(Σx² + a small number)",
            lambda: vector(lambda v: b.sqrt(b.add(sum_of_squares(v), 1e-6))),
        ),
    ],
)  # fmt: skip
def test_a_cure_is_named_and_helps(draw, cure, cured):
    assert cure in said(draw())
    after = said(cured())
    assert after == FINE or (AT_MINIMUM in after and cure not in after and "NaN" not in after)


def test_what_is_off_is_said_of_the_elements_that_gradient_comes_to():
    """The second element is on, but nothing comes to it."""
    assert "is off (−1)" in said(b.mul(b.relu(x([-1.0, 3.0])), [1.0, 0.0]))


def test_the_numbers_past_a_limit_are_those_of_the_repaired_diagram():
    value = np.array([2.0, -3.0, 0.5])
    weights = b.constant("w", [3.0, 4.0, 0.0])
    text = said(b.mul(b.clip(x(value), min=0.0, max=1.0, name="limit"), weights))
    assert "Straight through limit: rms 2.887." in text  # √(25/3): what the weights let through
