"""What the doctor finds in whole diagrams, besides gradients that are wrong on a wire."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, parse_contracts
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.flow.tools.findings import (
    IDLE_STOP,
    INTEGER,
    NO_VARIABLE,
    SIGMOID_TWICE,
    SKIPPED,
)
from gradwire.runtime.flow.words.states import NO_GRADIENT


def found(*losses):
    return [(f.complaint, f.key, f.sentence) for f in diagnose(Session(b.build(*losses)))]


def entropy_of(prediction, **parameters):
    return b.loss(b.binary_cross_entropy(prediction, [1.0], name="entropy", **parameters))


def test_a_sigmoid_before_a_cross_entropy_of_logits_is_one_too_many():
    squashed = b.sigmoid(b.variable("x", [2.0]), name="squashed")
    text = "entropy takes a sigmoid itself: give it the logits, not the output of squashed."
    assert found(entropy_of(squashed)) == [(SIGMOID_TWICE, "entropy", text)]
    assert found(entropy_of(squashed, given="probabilities")) == []


def test_an_integer_that_should_be_trained_is_found_where_a_loss_reads_it():
    x, step = (b.variable(name, [1], dtype="int64") for name in ("x", "step"))
    text = (
        "x has dtype int64, and only floats have gradients. Give it a float dtype, such as float32."
    )
    total = b.loss(b.cast(b.sum(x), dtype="float32"))
    assert found(total, b.display(step)) == [(INTEGER, "x", text)]
    assert found(b.loss(b.sum(b.cast(b.variable("x", [1.0]), dtype="float32")))) == []


@pytest.mark.parametrize(
    ("score", "why"),
    [
        (
            lambda x: b.mean(b.cast(b.greater(x, 0.0, name="right"), dtype="float32")),
            ". right cuts every route to score: it compares, and the answer is piecewise constant. "
            "Move the loss before it, soften it with a Sigmoid, or use a StraightThrough block.",
        ),
        (
            lambda x: b.constant("none", 0.0),
            ": it depends on none. Compute it from what they produce, times 0 if it is to be 0, "
            "or leave it out.",
        ),
    ],
)
def test_a_loss_that_trains_nothing_has_a_reason(score, why):
    x = b.variable("x", [0.3, -0.2])
    losses = b.loss(score(x), name="score"), b.loss(b.sum(b.square(x)), name="other")
    text = f"No trained variable gets a gradient of score{why}"
    assert found(*losses) == [(NO_VARIABLE, "score", text)]


def test_a_variable_that_nothing_reads_can_be_left_out():
    unread = b.display(b.mul(b.variable("unread", 3.0), 2.0))
    text = (
        "No gradient: loss never reads this. Use it on the way to a loss, freeze it if it is not "
        "to be trained, or leave it out."
    )
    read = b.loss(b.square(b.variable("x", 2.0)))
    assert found(read, unread) == [(NO_GRADIENT, "unread", text)]


def test_a_stop_that_keeps_nan_away_is_not_idle():
    """What arrives is 0, and the slope of the root behind the stop is infinite."""
    root = b.sqrt(b.variable("x", [0.0, 1.0]))
    stopped = b.stop_gradient(root, name="stop")
    same = b.loss(b.mean_squared_error(stopped, stopped), name="same")
    read = b.loss(b.sum(b.square(b.variable("y", [1.0]))))
    assert all(key != "stop" for complaint, key, _ in found(same, read) if complaint is IDLE_STOP)
    fine = b.stop_gradient(b.exp(b.variable("x", [0.0, 1.0])), name="stop")
    text = "This stop cuts nothing: the gradient that arrives here is 0."
    assert (IDLE_STOP, "stop", text) in found(b.loss(b.mean_squared_error(fine, fine)), read)


def test_a_stop_that_a_gradient_block_differentiates_through_is_not_idle():
    x = b.mul(b.variable("x", [1.0, 2.0]), 1.0)
    wave = b.sum(b.sin(b.stop_gradient(x, name="stop")))
    slope = b.gradient(wave + b.sum(b.square(x)), x)
    listed = found(b.loss(b.sum(b.square(slope))))
    assert [key for complaint, key, _ in listed if complaint is IDLE_STOP] == []


def test_without_a_loss_there_is_nothing_to_diagnose():
    for diagram in (b.build(b.variable("w", [1.0, 2.0])), b.build(b.constant("c", [2.0, 3.0]))):
        with pytest.raises(RunError, match="There is no loss yet"):
            diagnose(Session(diagram))
    with pytest.raises(RunError, match="nothing to diagnose"):
        diagnose(Session(b.build(b.loss(b.stop_gradient(b.variable("w", 2.0))))), [])


def recipe_of(*rules):
    x, y, z, lost = (b.variable(name, 2.0) for name in ("x", "y", "z", "lost"))
    one = b.loss(b.add(b.mul(x, z, name="m"), b.stop_gradient(lost, name="end")), name="L1")
    cut = b.stop_gradient(b.mul(x, z, name="xz"), name="sg")
    diagram = b.build(one, b.loss(b.mul(cut, y), name="L2"))
    return Session(replace(diagram, training=Training(optimisers=rules)))


def skips(session, **more):
    return [(f.key, f.sentence) for f in diagnose(session, **more) if f.complaint is SKIPPED]


def test_what_an_optimiser_owns_and_will_skip_is_listed():
    session = recipe_of(
        OptimiserRule(name="opt1", losses=("L1",)),
        OptimiserRule(name="opt2", variables=("[xy]", "lost"), losses=("L2",)),
    )
    y = "SKIPPED: opt1 owns y, which gets no gradient of L1. L1 never reads this. It reaches L2."
    x = "SKIPPED: opt2 owns x, which gets no gradient of L2. sg stops every route to L2."
    assert skips(session) == [("y", y), ("x", x)]
    assert [f.key for f in diagnose(session) if f.complaint is NO_GRADIENT] == ["lost"]
    (cause,) = (cause for cause in causes(diagnose(session)) if cause.culprit == "sg")
    assert cause.sentence == "sg keeps L2 from variables of opt2: x gets no update."
    assert [key for key, _ in skips(session, losses=["L1"])] == []  # y has no gradient at all then
    blocked = parse_contracts("blocked(L2 -> x)")
    assert [key for key, _ in skips(session, contracts=blocked)] == ["y"]


def test_an_optimiser_that_moves_all_that_it_owns_skips_nothing():
    rules = OptimiserRule(name="sum"), OptimiserRule(name="m", variables=("z",), losses=("m.out",))
    assert skips(recipe_of(*rules)) == []
    of_port = OptimiserRule(name="m", variables=("y",), losses=("m.out",))
    text = "SKIPPED: m owns y, which gets no gradient of m."
    ((key, said),) = skips(recipe_of(of_port))
    assert key == "y"
    assert said.startswith(text)
    assert skips(recipe_of(OptimiserRule(name="typo", losses=("L3",)))) == []


def test_the_first_line_names_the_place_in_the_program():
    stopped = b.stop_gradient(b.variable("w", [1.0]), name="detach", written="model.py:42")
    first, *_ = causes(diagnose(Session(b.build(b.loss(stopped + b.variable("v", [2.0]))))))
    assert first.written == "model.py:42"
    assert first.sentence.startswith("detach (model.py:42) stops every route to loss: w gets no")
    assert "Written at" not in first.sentence


def test_what_is_no_cutter_has_its_place_behind_the_sentence():
    logarithm = b.log(b.variable("w", [-1.0]), name="log", written="model.py:7")
    first, *_ = causes(diagnose(Session(b.build(b.loss(logarithm)))))
    assert first.culprit == "log" and first.sentence.endswith("Written at model.py:7.")
