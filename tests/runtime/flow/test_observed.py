"""Numeric states, their sentences and badges, each on a diagram that shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
import gradwire.runtime.build as b
from gradwire.runtime.diagram import MoveBlocks, Point, SetParameters, apply, load
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    Badge,
    BadgeKind,
    ObservedFlow,
    State,
    Thresholds,
    WhatIf,
    diagnose,
    flow_of_run,
    observe,
)
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.badges import badges
from tests.runtime.flow.specimens import specimen

DIAGRAMS = Path(__file__).parents[3] / "assets" / "diagrams"


def off():
    x = b.variable("x", -3.0)
    return b.loss(b.mul(b.relu(b.mul(x, 2, name="twice"), name="relu1"), 5, name="five"))


def agree():
    x = b.variable("x", [1.0, 2.0])
    return b.loss(b.mean_squared_error(x, b.constant("t", [1.0, 2.0]), name="mse"))


def masked():
    x = b.variable("x", [1.0, -2, 3, 4, -1, 2, 1, -5])
    return b.loss(b.sum(b.relu(b.mul(x, 2, name="twice"), name="relu1")))


def padded():
    table = b.variable("table", [[1.0], [2.0]])
    rows = b.embedding(b.constant("words", [0, 1, 1]), table, padding=0, name="rows")
    return b.loss(b.sum(rows))


def chain(block, depth, start, **literals):
    x = b.variable("x", start)
    for i in range(depth):
        x = b.block(block, x, name=f"f{i + 1}", **literals)
    return b.loss(x)


def branch():
    x = b.variable("x", [0.0, 4.0])
    root = b.sqrt(x, name="root")
    return b.loss(b.sum(b.where(b.greater(x, 0.0), root, 0.0, name="choose")))


def logarithm():
    x = b.variable("x", [-1.0, 4.0])
    return b.loss(b.sum(b.log(b.mul(x, 2, name="twice"), name="log1")))


def difference():
    x = b.variable("x", 1.0)
    return b.loss(b.sub(b.mul(x, 3, name="u"), b.mul(x, 3, name="v")))


def rounded():
    x = b.variable("x", 1.5)
    return b.loss(b.square(b.round(x, name="round1")))


@pytest.mark.parametrize(
    ("draw", "key", "state", "sentence"),
    [
        (off, "five.a", State.CARRIES, "Carries ∂loss/∂relu1: 5. Route: loss ← five."),
        (off, "relu1.x", State.ZERO, "Connected, but relu1 is off (−6)."),
        (off, "twice.a", State.ZERO, "Already 0 after relu1, which is off (−6)."),
        (off, "x", State.ZERO, "Already 0 after relu1, which is off (−6)."),
        (
            agree,
            "mse.prediction",
            State.ZERO,
            "The loss is flat here: mse is at its minimum: prediction and target agree.",
        ),
        (
            rounded,
            "round1.x",
            State.ZERO,
            "Connected, but round1 is piecewise constant (None in TensorFlow).",
        ),
        (
            lambda: b.loss(b.block("Abs", b.variable("x", 0.0), name="abs1")),
            "abs1.x",
            State.ZERO,
            "The loss is flat here: abs1 is at 0, where its slope counts as 0 (1 in JAX).",
        ),
        (
            lambda: b.loss(b.block("Norm", b.variable("x", [0.0, 0.0]), name="norm1")),
            "norm1.x",
            State.ZERO,
            "The loss is flat here: norm1 is at 0, where its slope counts as 0, as in PyTorch (NaN "
            "elsewhere).",
        ),
        (masked, "relu1.x", State.PARTIAL, "3 of 8 elements are 0, masked by relu1."),
        (masked, "twice.a", State.PARTIAL, "3 of 8 elements are 0, masked by relu1."),
        (
            padded,
            "rows.weight",
            State.PARTIAL,
            "1 of 2 elements are 0, masked by rows. Row 0 is its padding, which gets none: give it "
            "no padding if that is a real row.",
        ),
        (
            lambda: chain("Sigmoid", 8, 8.0),
            "f1.x",
            State.VANISHING,
            "Shrunk ×8.229e−9 over 8 blocks; worst: f1 ×0.0003352. Here: 8.229e−9.",
        ),
        (
            lambda: chain("Mul", 10, 1.0, b=5.0),
            "f1.a",
            State.EXPLODING,
            "Grows ×9.766e6 over 10 blocks; worst: f1 ×5. Here: 9.766e6.",
        ),
        (
            branch,
            "root.x",
            State.NONFINITE,
            "First NaN made in root (0·∞). choose does not take this branch, yet 0·∞ is NaN (0 "
            "in TensorFlow, but not under XLA): put a Where before root too, so that it never "
            "sees such values.",
        ),
        (
            logarithm,
            "x",
            State.CARRIES,
            "∂loss/∂x: rms 0.7289. Carries the gradient of loss to x. Route: loss ← sum1 ← log1 "
            "← twice ← x.",
        ),
        (difference, "x", State.ZERO, "0: the contributions of u.a and v.a cancel."),
        (difference, "u.a", State.CARRIES, "Carries ∂loss/∂x: 3. Route: loss ← sub1 ← u."),
    ],
)  # fmt: skip
def test_what_a_wire_or_variable_says(draw, key, state, sentence):
    reading = observe(Session(b.build(draw())))
    wires = reading.states()
    verdict = reading.verdict(key) if key in wires else reading.variable(key)
    assert (verdict.state, verdict.sentence) == (state, sentence)
    if key in wires:
        assert reading.state(key) is state


def test_victims_name_the_origin():
    x = b.variable("x", [0.0, 4.0])
    twice = b.mul(x, 2, name="twice")
    root = b.mul(b.sqrt(twice, name="root"), 0.0)
    reading = observe(Session(b.build(b.loss(b.sum(root)))))
    assert reading.verdict("root.x").sentence == (
        "First NaN made in root (0·∞). Add a small number under the root. The wires behind it "
        "are victims."
    )
    assert reading.verdict("twice.a").sentence == (
        "First NaN made in root (0·∞). Add a small number under the root. This wire is a victim."
    )


def test_a_nan_from_the_forward_pass_is_found_there():
    x = b.variable("x", [-1.0, 4.0])
    root = b.sqrt(x, name="root")
    reading = observe(Session(b.build(b.loss(b.sum(b.square(root, name="squared"))))))
    assert reading.verdict("squared.x").sentence == (
        "First NaN made in root, whose value is NaN: √ of −1 (element 0 of x). Clip its input "
        "from below, at a small number above 0. The wires behind it are victims."
    )
    assert reading.state("squared.x") is State.NONFINITE


def test_cancelling_terms_are_a_badge_of_the_port():
    reading = observe(Session(b.build(difference())))
    (found,) = reading.cancels().values()
    assert found.port == "x.out" and found.largest == 3.0
    assert found.sentence == "CANCELS: the sum at x.out is 0 of its largest term."


def test_stops_that_cut_nothing_say_why():
    p, c = b.variable("p", 1.0), b.constant("c", 2.0)
    inner = b.stop_gradient(p, name="inner")
    total = b.add_n(
        p,
        b.stop_gradient(b.mul(inner, 2.0), name="outer"),
        b.stop_gradient(c, name="data"),
        b.stop_gradient(b.mul(p, 3.0), name="real"),
        b.mul(b.stop_gradient(b.mul(p, 3.0), name="silent"), 0.0),
    )
    unread = b.stop_gradient(b.mul(p, 5.0), name="unread")
    reading = observe(Session(b.build(b.loss(total), unread)))
    assert reading.idle_stops() == {
        "inner": "This stop cuts nothing: outer already cuts its routes.",
        "outer": "This stop cuts nothing: inner already cuts the routes behind it.",
        "data": "This stop cuts nothing: no trained variable could get a gradient through it.",
        "silent": "This stop cuts nothing, unless a slope behind it is infinite: the gradient "
        "that arrives here is 0.",
        "unread": "This stop cuts nothing: no loss depends on its output.",
    }


def test_a_stop_on_a_tree_says_why_each_of_its_leaves_is_idle():
    x = b.variable("x", [1.0, 2.0])
    tree = b.stop_gradient(b.pack(b.variable("y", 1.0), x, keys=["unread", "read"]), name="stop")
    silent = b.mul(b.pick(tree, path="read"), 0.0)
    assert observe(Session(b.build(b.loss(b.sum(silent))))).idle_stops() == {
        "stop": "This stop cuts nothing, unless a slope behind it is infinite: no loss depends on "
        "its output or the gradient that arrives here is 0."
    }


def test_a_stop_before_a_gradient_block_is_not_idle_because_zero_arrives():
    """Opening it makes another value of the Gradient block, and with it another gradient."""
    x = b.variable("x", 3.0)
    stopped = b.stop_gradient(b.square(x), name="stop")
    session = Session(b.build(b.loss(b.mul(stopped, b.gradient(stopped, x)))))
    assert observe(session).idle_stops() == {}


def surrogates(*losses, only=None):
    return observe(Session(b.build(*losses)), only).surrogates


def test_surrogates_are_blocks_that_send_another_gradient_than_the_derivative():
    x = b.variable("x", 1.0)
    assert surrogates(b.loss(b.gradient_reversal(x, name="back"))) == ("back",)
    assert surrogates(b.loss(b.straight_through(b.round(x), x, name="st"))) == ("st",)
    assert surrogates(b.loss(b.gradient_scale(x, scale=0.5, name="half"))) == ("half",)
    assert surrogates(b.loss(b.gradient_scale(x, name="same"))) == ()
    assert surrogates(b.loss(b.gradient_reversal(x, scale=-1.0))) == ()


def test_a_loss_is_one_only_where_it_sends_no_derivative():
    x = b.variable("x", [1.0, 2.0])
    assert surrogates(b.loss(x, threshold=1.0)) == ()
    assert surrogates(b.loss(x, scale=0.5)) == ("loss",)
    assert surrogates(b.loss(x, normalization="batch")) == ("loss",)
    head = b.loss(x, name="inner")
    assert surrogates(head, b.display(head)) == ()
    read = b.loss(b.mul(head, 3), name="outer")
    assert surrogates(read) == ("inner",)
    assert surrogates(read, only=["inner"]) == ()
    assert surrogates(b.loss(b.stop_gradient(head), name="outer")) == ()


def test_the_badge_of_a_surrogate_takes_no_run():
    diagram = b.build(b.loss(b.variable("x", 1.0), scale=2.0))
    (badge,) = badges(ObservedFlow(analyse(Session(diagram).program), {}))
    assert (badge.mark, badge.key) == (BadgeKind.SURROGATE, "loss")


def test_values_are_stale_when_meaning_changes_not_when_places_do():
    diagram = b.build(masked())
    reading = observe(Session(diagram))
    assert not reading.stale(diagram)
    assert not reading.stale(apply(diagram, MoveBlocks({"x": Point(9, 9)})).after)
    assert reading.stale(apply(diagram, SetParameters("x", {"trainable": False})).after)


def test_a_result_of_another_diagram_has_the_badge_stale():
    diagram = b.build(masked())
    reading = observe(Session(diagram))
    assert [x.mark for x in badges(reading, diagram=diagram)] == []
    after = apply(diagram, SetParameters("x", {"trainable": False})).after
    assert badges(reading, diagram=after)[-1] == Badge(
        BadgeKind.STALE, "", "STALE: the values are older than the diagram."
    )


def test_thresholds_are_settings():
    reading = observe(Session(b.build(masked())), thresholds=Thresholds(partial=0.5))
    assert reading.state("relu1.x") is State.CARRIES
    reading = observe(Session(b.build(off())), thresholds=Thresholds(exploding=4.0))
    assert reading.state("five.a") is State.EXPLODING


def test_a_gradient_like_the_loss_s_own_is_not_exploding_beside_vanishing_ones():
    far = b.variable("far", 1.0)
    for i in range(8):
        far = b.mul(far, 1e-5 if i == 7 else 1.0, name=f"f{i}")
    reading = observe(Session(b.build(b.loss(b.add(far, b.variable("near", 1.0), name="sum1")))))
    assert reading.state("sum1.b") is State.CARRIES
    assert State.EXPLODING not in reading.states().values()


def test_a_gradient_like_the_loss_s_own_is_not_vanishing_beside_exploding_ones():
    x = b.variable("x", [-1.0, 2.0])
    total = b.sum(b.log(b.relu(x, name="unit") + 1e-8, name="logs"))
    reading = observe(Session(b.build(b.loss(total))))
    assert reading.state("logs.x") is State.EXPLODING
    assert reading.state("unit.x") is reading.variable("x").state is State.PARTIAL


def test_a_gradient_far_above_the_loss_s_own_is_exploding():
    x = b.mul(b.variable("x", 1.0), 2e4, name="much")
    reading = observe(Session(b.build(b.loss(b.mul(x, 1e-3, name="little"), scale=0.1))))
    assert reading.state("much.a") is State.CARRIES
    reading = observe(Session(b.build(b.loss(b.mul(x, 0.9, name="little"), scale=0.1))))
    assert reading.state("much.a") is State.EXPLODING


def test_each_loss_has_its_own_numbers_and_all_have_their_sum():
    x = b.variable("x", 1.0)
    diagram = b.build(b.loss(b.mul(x, 3, name="u"), name="L1"), b.loss(b.relu(-x), name="L2"))
    session = Session(diagram)
    reading = observe(session)
    assert reading.variable("x", "L1").sentence.startswith("∂L1/∂x: 3.")
    assert reading.state("relu1.x", "L2") is State.ZERO
    assert reading.state("relu1.x", "L1") is State.OFF_ROUTE
    assert reading.state("u.a") is State.CARRIES
    assert reading.variable("x").sentence.startswith("∂(L1 + L2)/∂x: 3.")
    assert session.gradients == {}


def test_one_run_of_several_losses_gives_numbers_for_their_sum_alone():
    x = b.variable("x", 1.0)
    session = Session(b.build(b.loss(x, name="L1"), b.loss(b.mul(x, 0), name="L2")))
    reading = flow_of_run(session.program, session.backward())
    assert reading.state("mul1.a") is State.ZERO
    assert reading.state("mul1.a", "L2") is State.CARRIES


@pytest.mark.night
def test_numbers_only_refine_carries_and_follow_their_definitions():
    for seed in range(150):
        session = Session(specimen(seed))
        reading = observe(session)
        plain = analyse(session.program)
        for loss in (None, *reading.losses):
            run = reading.run(loss)
            before = plain.states(loss)
            for wire, state in reading.states(loss).items():
                c = run.contributions[wire]
                if before[wire] is not State.CARRIES:
                    assert state is before[wire] and c is None
                    continue
                if not np.isfinite(c).all():
                    expected = {State.NONFINITE}
                elif not np.any(c):
                    expected = {State.ZERO}
                else:
                    expected = {State.EXPLODING, State.VANISHING}
                    zeros = np.mean(c == 0)
                    expected.add(State.PARTIAL if zeros >= 0.1 else State.CARRIES)
                assert state in expected, (seed, wire)
                assert reading.verdict(wire, loss).sentence
        for name in session.program.sources("variable"):
            assert reading.variable(name).sentence


def test_a_stop_that_keeps_nan_from_a_variable_is_not_said_to_cut_nothing() -> None:
    """0 arrives, but behind the stop is the infinite slope of a root at 0: opened, it is NaN."""
    x = b.variable("x", [0.0, 4.0])
    kept = b.stop_gradient(b.sqrt(x), name="kept")
    session = Session(b.build(b.loss(b.sum(b.mul(kept, 0.0) + x))))
    said = observe(session).idle_stops()["kept"]
    assert said.startswith("This stop cuts nothing, unless a slope behind it is infinite")
    assert "kept" not in {finding.key for finding in diagnose(session)}
    opened = WhatIf(session).open("kept").compare().after.gradient("x")
    assert np.isnan(opened[0])


def through_a_tree():
    x = b.variable("x", [1.0, -2.0, 3.0, -4.0])
    parts = b.pack(x, b.variable("unread", 1.0), keys=["some", "none"], name="parts")
    return b.loss(b.sum(b.relu(b.pick(parts, path="some"), name="relu1")))


@pytest.mark.parametrize("diagram", [masked, difference, through_a_tree])
def test_norms_and_shares_of_zeros_are_those_of_the_run(diagram):
    observed = observe(Session(b.build(diagram())))
    run = observed.run()
    assert dict(observed.norms()) == pytest.approx(run.norms)
    for state in set(observed.states().values()):
        wires = [wire for wire, found in observed.states().items() if found is state]
        arrays = {wire: run.contributions.get(wire) for wire in wires}
        assert observed.zero_shares(frozenset({state})) == pytest.approx(
            {w: np.mean(array == 0.0) for w, array in arrays.items() if array is not None}
        )


@pytest.mark.parametrize(
    ("factor", "state", "said"),
    [
        (1e-30, State.VANISHING, {"head": "head shrinks gradients ×9.361e−31"}),
        (1e30, State.EXPLODING, {"error": "error enlarges gradients ×1.118e29"}),
        (0.0, State.ZERO, {"head": "head multiplies by 0"}),
    ],
)
def test_the_culprit_of_a_wire_with_a_tree_is_that_of_its_leaves(factor, state, said):
    session = Session(load(DIAGRAMS / "freeze_encoder.gradwire.json"))
    for name, value in {**session.values}.items():
        session.set(name, value * factor)
    observed = observe(session)
    assert [observed.state(wire) for wire in ("freeze.x", "parts.x")] == [state, state]
    assert [observed.culprits(wire) for wire in ("freeze.x", "parts.x")] == [said, said]


def test_what_makes_a_leaf_of_a_tree_0_or_small_is_found_along_that_leaf() -> None:
    leaves = [gw.variable("w", [400.0, 800.0]), gw.variable("v", [0.5, 0.1])]
    tree = gw.tanh(gw.pack(*leaves, keys="w, v", name="pack"), name="tanh")
    w, v = gw.unpack(gw.stop_gradient(tree, only="u", name="stop"), paths="w, v", name="parts")
    small = gw.sum(gw.mul(v, 1e-9, name="small"))
    observed = observe(Session(gw.build(gw.loss(gw.sum(w) + small, name="L"))))
    assert observed.culprits("w") == {"tanh": "tanh has a derivative of 0 here"}
    assert [*observed.culprits("v")] == ["small"]
    assert observed.zeroed_by("w") == ["tanh"]
    assert "over 7 blocks; worst: small ×1e−9" in observed.variable("v").sentence
