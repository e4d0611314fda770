"""Findings are grouped by what is to blame, and what does most harm comes first."""

from __future__ import annotations

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import causes, diagnose


def found(*losses):
    return causes(diagnose(Session(b.build(*losses))))


def product(start, names):
    for name in names:
        start = start * b.variable(name, [1.0, 1.0])
    return start


def dead(count):
    """A unit that is off, behind ``count`` variables."""
    inside = product(b.constant("x", [1.0, 2.0]), [f"w{i}" for i in range(count)])
    return b.relu(b.neg(b.square(inside)), name="act")


def alive():
    return b.sum(b.square(b.variable("fine", [1.0])))


def test_one_row_says_what_a_culprit_affects():
    (cause,) = found(b.loss(b.sum(dead(12)) + alive(), name="loss"))
    assert cause.culprit == "act"
    assert cause.sentence.startswith("act is off (at most −1): 12 variables get 0. Use LeakyRelu")
    assert [victim.key for victim in cause.victims] == [f"w{i}" for i in range(12)]
    assert all(victim.sentence.startswith("Already 0 after act") for victim in cause.victims[1:])
    assert cause.severity == "warning"


def test_few_variables_are_named_and_a_stop_is_a_culprit():
    stopped = product(b.constant("x", [1.0, 2.0]), ["s", "t"])
    (cause,) = found(b.loss(b.sum(b.stop_gradient(stopped, name="sg")) + alive(), name="loss"))
    assert cause.sentence == "sg stops every route to loss: s and t get no gradient."
    (one,) = found(b.loss(b.sum(b.stop_gradient(product(2.0, ["s"]), name="sg")) + alive()))
    assert "s gets no gradient. Without sg: " in one.sentence


def test_what_does_most_harm_comes_first_and_errors_before_it():
    stopped = b.stop_gradient(product(b.constant("one", [1.0, 2.0]), ["s"]), name="sg")
    harmful = b.sum(dead(3)) + b.sum(stopped) + alive()
    assert [cause.culprit for cause in found(b.loss(harmful))] == ["act", "sg"]
    spoilt = harmful + b.sum(b.sqrt(b.variable("y", [0.0]), name="root")) * 0.0
    first, *rest = found(b.loss(spoilt))
    assert (first.culprit, first.is_error) == ("root", True)
    assert [cause.culprit for cause in rest] == ["act", "sg"]


def test_variables_that_get_nan_are_victims_of_the_block_that_makes_it():
    y, z = b.variable("y", [0.0]), b.variable("z", [1.0])
    (cause,) = found(b.loss(b.sum(b.sqrt(y * z, name="root") * 0.0), name="loss"))
    assert (cause.culprit, cause.place) == ("root", "root.x")
    assert cause.sentence.endswith("y and z get NaN or ∞.")
    assert {victim.key: victim.sentence for victim in cause.victims} == {
        "y": "Gets NaN or ∞.", "z": "Gets NaN or ∞.",
    }  # fmt: skip


def test_a_value_and_the_gradients_that_it_spoils_are_one_cause():
    lost = b.log(b.variable("y", [0.0]) - 1.0, name="logs") * b.variable("z", [1.0])
    (cause,) = found(b.loss(b.sum(lost), name="loss"))
    assert cause.culprit == "logs"
    assert cause.sentence.startswith("logs is NaN: log of −1 (x).")
    assert "z" in [victim.key for victim in cause.victims]


def test_a_block_that_shrinks_or_enlarges_is_to_blame():
    (cause,) = found(b.loss(b.sum(b.mul(b.variable("a", [1.0]), 1e9, name="huge")), name="loss"))
    text = "huge enlarges gradients ×1e9: a gets a gradient that is too large."
    assert cause.sentence.startswith(text)


def test_without_a_culprit_a_finding_stands_for_itself():
    unread = b.display(b.mul(b.variable("unread", 3.0), 2.0))
    (cause,) = found(b.loss(b.square(b.variable("x", 2.0))), unread)
    assert (cause.culprit, cause.victims) == ("unread", ())
    assert cause.sentence.startswith("No gradient: ")
