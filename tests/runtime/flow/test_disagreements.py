"""What is said of a diagram that is known to differ from the program that it comes from."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.diagram import RenameBlock, SetParameters, apply
from gradwire.runtime.diagram.comparison import Comparison, Disagreement
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.fingerprints import fingerprints
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.flow import WhatIf, diagnose, observe, parse_contracts, reassurance
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.contracts import check_contracts
from gradwire.runtime.flow.tools.findings import DIFFERS, UNOWNED
from gradwire.runtime.flow.words.states import NO_GRADIENT, State

SAYS = "PyTorch's gradient of w is 0, this diagram's has rms 2: it is not the same program"


def net(**more):
    """``late = tanh(w · x) · v``; ``cut`` is stopped, and ``u`` has a loss of its own."""
    x, w, v = b.constant("x", [1.0, 2.0]), b.variable("w", [1.0, 3.0]), b.variable("v", 2.0)
    mid = b.mul(w, x, name="mid")
    late = b.mul(b.tanh(mid, name="tanh"), v, name="late")
    cut = b.stop_gradient(b.variable("cut", 2.0), name="stop")
    aside = b.loss(b.square(b.variable("u", 1.5), name="of_u"), name="other")
    return b.build(b.loss(b.sum(late + cut, name="sum"), name="loss"), aside, **more)


def compared(diagram, *found, **more):
    """The diagram with a comparison that holds for it."""
    losses = more.pop("losses", ("loss.out", "other.out"))
    prints = fingerprints(flatten(diagram), map(PortPath, losses))
    comparison = Comparison(
        losses=losses,
        gradients=4,
        absent=1,
        disagreements=found,
        structure=prints.structure,
        values=prints.values,
        **more,
    )
    return replace(diagram, comparison=comparison)


def of_w(since="tanh.out", cause="mask_hook (train.py:31)", **more):
    told = {"of": "loss.out", "at": "w.out", "theirs": 0.0, "ours": 2.0, "since": since}
    return Disagreement(**told | {"cause": cause} | more)


def test_what_depends_on_it_is_not_known_and_says_so_first():
    flow = analyse(compared(net(), of_w()))
    states = flow.states("loss")
    doubtful = {wire for wire, state in states.items() if state is State.UNKNOWN}
    assert doubtful == {"mid.a", "tanh.x", "late.a"}
    for name in ("mid.a", "tanh.x", "late.a", "w"):
        verdict = flow.explain(name)
        assert verdict.sentence == f"{SAYS} from mask_hook (train.py:31) on."
        assert (verdict.state, verdict.cure, verdict.repair) == (State.UNKNOWN, "", ())
    assert flow.verdict("late.b").sentence.startswith("Carries the gradient of loss to v.")
    assert flow.verdict("sum.x").sentence.startswith("Carries the gradient of loss to v.")
    assert flow.verdict("mid.b").state is State.NOTHING_TO_TRAIN
    assert flow.state("of_u.x") is State.CARRIES


def test_after_a_run_too():
    session = Session(compared(net(), of_w()))
    observed = observe(session)
    for loss in ("loss", None):
        assert observed.state("mid.a", loss) is State.UNKNOWN
        assert observed.verdict("mid.a", loss).sentence.startswith(SAYS)
        assert observed.variable("w", loss).sentence.startswith(SAYS)
    assert observed.variable("v", "loss").state is State.CARRIES
    assert observed.variable("u", "other").state is State.CARRIES


def test_without_a_place_all_of_the_loss_is_in_doubt():
    flow = analyse(compared(net(), of_w(since="", cause="")))
    assert flow.variable("v").sentence == f"{SAYS}."
    assert flow.variable("cut").state is State.UNKNOWN
    assert flow.variable("u").state is State.CARRIES


def test_a_value_that_differs_puts_all_of_its_loss_in_doubt():
    value = Disagreement(
        what="value", of="loss.out", at="mid.out", theirs=1.5, ours=-2.0, since="mid.out",
        cause="mid (train.py:7)", single=True,
    )  # fmt: skip
    session = Session(compared(net(), value))
    said = (
        "PyTorch's value of mid is 1.5, this diagram's is −2: it is not the same program from mid "
        "(train.py:7) on."
    )
    assert analyse(session).variable("v").sentence == said
    assert [(f.complaint, f.sentence) for f in diagnose(session)] == [(DIFFERS, said)]


@pytest.mark.parametrize(
    ("theirs", "ours", "more", "said"),
    [
        (None, 2.0, {}, "PyTorch gives w no gradient, this diagram gives it one: "),
        (2.0, None, {}, "PyTorch gives w a gradient, this diagram gives it none: "),
        (2.0, 2.0, {"apart": 0.031}, "gradient of w differs from this diagram's by 3.1 % of it: "),
        (math.nan, 2.0, {"single": True}, "PyTorch's gradient of w is NaN, this diagram's is 2: "),
        (-math.inf, 2.0, {"single": True}, "gradient of w is −∞, this diagram's is 2: "),
        (2.0, 0.0, {}, "PyTorch's gradient of w has rms 2, this diagram's is 0: "),
    ],
)
def test_the_sentence_says_what_both_have(theirs, ours, more, said):
    flow = analyse(compared(net(), of_w(theirs=theirs, ours=ours, **more)))
    assert said in flow.variable("w").sentence


def test_the_doctor_claims_nothing_else_of_it():
    training = {"optimisers": [{"name": "sgd", "variables": ["v"]}]}
    found = diagnose(Session(compared(net(training=training), of_w())))
    assert [(f.complaint, f.key) for f in found] == [
        (DIFFERS, "w"),
        (UNOWNED, "u"),
    ]
    training = {"optimisers": [{"name": "sgd", "variables": ["v", "cut"]}]}
    found = diagnose(Session(compared(net(training=training), of_w())))
    assert [(f.complaint, f.key) for f in found] == [
        (DIFFERS, "w"),
        (NO_GRADIENT, "cut"),
        (UNOWNED, "u"),
    ]
    assert found[0].complaint.is_error and found[0].affected == ("w",)
    session = Session(compared(b.build(b.loss(b.variable("w", 2.0), name="loss")), of_w("", "")))
    assert reassurance(session.program, session.losses).startswith(SAYS)


def test_contracts_that_depend_on_it_are_not_kept():
    session = Session(compared(net(), of_w()))
    lines = "flows(loss -> w)\nblocked(loss -> w)\nflows(loss -> v)\nblocked(loss -> u)"
    outcomes = check_contracts(parse_contracts(lines), None, analyse(session))
    assert [outcome.kept for outcome in outcomes] == [False, False, True, True]
    assert outcomes[1].breaches[0].sentence.startswith(SAYS)


def test_a_trial_does_not_settle_it():
    session = Session(compared(net(), of_w()))
    after = WhatIf(session).open("stop").compare().after
    assert after.variable("w").sentence.startswith(SAYS)
    assert after.variable("cut").state is State.CARRIES


def edited(diagram, *changes):
    for change in changes:
        diagram = apply(diagram, change).after
    return diagram


def test_an_edit_voids_it_and_undo_brings_it_back():
    before = compared(net(), of_w())
    other = edited(before, SetParameters("v", {"trainable": False}))
    assert analyse(other).variable("w").state is State.CARRIES
    session = Session(before)
    session.update(other)
    assert analyse(session).state("mid.a", "loss") is State.CARRIES
    session.update(before)
    assert analyse(session).state("mid.a", "loss") is State.UNKNOWN


def test_what_changes_no_meaning_keeps_it():
    before = compared(net(), of_w())
    moved = edited(
        before,
        RenameBlock("w", "weight"),
        RenameBlock("tanh", "squash"),
        RenameBlock("loss", "L"),
    )
    other = edited(moved, SetParameters("weight", {"value": [5.0, 6.0]}))
    session = Session(moved)
    said = analyse(session).variable("weight").sentence
    session.update(other)
    flow = analyse(session)
    then = flow.variable("weight").sentence
    assert then.startswith("With the numbers of the comparison, PyTorch's gradient of weight is 0")
    assert then.endswith(said)
    session.update(moved)
    assert analyse(session).variable("weight").sentence == said
    assert said == SAYS.replace("of w ", "of weight ") + " from mask_hook (train.py:31) on."
    assert flow.state("squash.x", "L") is State.UNKNOWN


def healthy():
    return b.build(b.loss(b.square(b.variable("w", 3.0), name="square"), name="loss"))


def said_of(diagram):
    session = Session(diagram)
    assert not diagnose(session)
    return reassurance(session.program, session.losses).partition(". ")[2]


def test_a_reassurance_says_how_it_was_compared():
    agrees = compared(healthy(), losses=("loss.out",))
    assert said_of(healthy()) == ""
    assert said_of(agrees) == "PyTorch agrees."
    numbers = compared(healthy(), losses=("loss.out",), numbers=False)
    assert said_of(numbers) == "PyTorch agrees on which gradients are None."
    why = compared(healthy(), losses=(), system="JAX", unchecked="it has no gradients")
    assert said_of(why) == "Not compared with JAX: it has no gradients."
    other = edited(agrees, SetParameters("w", {"value": 4.0}))
    assert said_of(other) == "Not compared with PyTorch since the edit."
    assert said_of(edited(agrees, RenameBlock("w", "weight"))) == "PyTorch agrees."
