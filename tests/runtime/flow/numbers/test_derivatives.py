"""What is said about gradients that come back through Gradient blocks, and about their values."""

from __future__ import annotations

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.analyse import analyse


def session(function, value, weight=2.0):
    x = b.variable("x", value)
    slope = b.gradient(function(x), x, name="slope")
    return Session(b.build(b.loss(b.sum(b.mul(slope, weight)))))


def said(function, value):
    return [finding.sentence for finding in diagnose(session(function, value))]


@pytest.mark.parametrize("function", [b.sin, b.tanh, lambda x: b.sum(b.pow(x, 3.0) * 0.0)])
def test_a_second_derivative_of_0_is_not_taken_for_a_flat_block_or_for_cancelling(function):
    assert said(function, [0.0, 0.0]) == ["Already 0: the derivative of slope is 0 here."]


def test_what_makes_a_gradient_0_may_come_after_the_derivative():
    x = b.variable("x", [0.0, 0.0])
    length = b.sqrt(b.sum(b.square(x)) + 1e-3)
    found = diagnose(Session(b.build(b.loss(b.sum(b.square(b.gradient(length, x), name="after"))))))
    assert [f.sentence for f in found] == [
        "Already 0 after after, which has a derivative of 0 here."
    ]


def test_a_slope_that_is_not_finite_is_named_behind_the_value_of_a_derivative():
    found = said(lambda x: b.sqrt(b.sum(b.square(x)), name="root"), [0.0, 0.0])
    assert found[0] == (
        "slope is NaN: the slope of root is not finite there. Add a small number under the root. "
        "That is why loss is not finite."
    )
    assert not any("made in root" in sentence for sentence in found)


def test_a_steep_block_behind_a_stop_is_not_to_blame():
    def function(x):
        return b.sqrt(b.stop_gradient(b.sum(b.square(x))), name="root") + b.log(b.sum(x))

    assert "log1 is −∞: log of 0 (x)." in said(function, [0.0, 0.0])[0]


def test_a_derivative_that_does_not_change_with_a_variable_is_no_lack_of_a_reader():
    flow = analyse(session(lambda x: b.sum(x * 3.0), [1.0, 2.0]).program)
    for key in ("x", "mul1.a", "sum1.x"):
        expected = "The derivative that slope computes does not change with this."
        assert flow.explain(key).sentence == expected
