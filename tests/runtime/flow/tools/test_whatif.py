"""Trials leave the diagram alone, tell the truth and can be applied; ledgers add up."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import apply, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, WhatIf, account, ledger, loss_matrix, observe
from gradwire.runtime.flow.tools.whatif import Difference
from tests.runtime.flow.specimens import specimen


def seed():
    a, v = b.variable("a", [[1.0, 2.0]]), b.variable("b", [[0.0, 1.0]])
    stopped = b.stop_gradient(b.mul(3, v, name="triple"), name="stop")
    return b.build(b.loss(b.add(stopped, a, name="plus")))


def test_opening_a_stop():
    diagram = seed()
    session = Session(diagram)
    found = WhatIf(session).open("stop").compare()
    both = found.variables()
    assert both["b"].before is None and both["b"].after.tolist() == [[3, 3]]
    assert both["b"].percent is None and both["b"].changed
    assert not both["a"].changed and both["a"].percent == 0
    opened = (State.STOPPED, State.CARRIES)
    assert found.changed() == dict.fromkeys(("triple.b", "stop.x", "plus.a"), opened)
    assert session.diagram is diagram and session.gradients == {}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (None, None, False),
        (None, np.zeros(2), True),
        (np.zeros(2), None, True),
        (np.zeros(2), np.zeros(2), False),
        (np.zeros(2), np.array([0.0, -0.0]), True),
        (np.zeros((1, 2)), np.zeros((2, 1)), True),
        (np.array([np.nan]), np.array([np.nan]), False),
    ],
)
def test_a_gradient_changed_if_a_bit_or_its_shape_did(before, after, changed):
    assert Difference(before, after).changed == changed


def test_cutting_freezing_and_training_at_once():
    trial = WhatIf(seed()).open("stop").cut("a.out->plus.b").freeze("b")
    found = trial.compare()
    assert found.variables()["a"].after is None
    assert found.variables()["b"].after is None
    assert found.after.state("plus.b") is State.STOPPED
    assert found.after.state("triple.b") is State.FROZEN
    assert trial.as_change().label == "Open stop, Cut a.out→plus.b, Freeze b"
    assert trial.train("b").compare().variables()["b"].after is not None


def test_a_step_gives_a_new_trial():
    first = WhatIf(seed())
    assert first.open("stop") is not first and first.steps == ()


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda w: w.open("plus"), "'plus' is a Add: only a StopGradient can be opened."),
        (lambda w: w.open("nothing"), "There is no block 'nothing'."),
        (lambda w: w.cut("b.out→plus.b"), "There is no wire 'b.out→plus.b'."),
        (lambda w: w.cut("plus"), "'plus' is not a wire."),
        (lambda w: w.freeze("plus"), "'plus' is not a variable."),
        (lambda w: w.open("enc/stop"), "There is no block 'enc/stop'."),
    ],
)
def test_what_cannot_be_tried(step, what):
    with pytest.raises(ChangeError) as error:
        step(WhatIf(seed())).compare()
    assert error.value.what == what


def test_the_percentage_is_of_the_size():
    x = b.variable("x", 2.0)
    y = b.add(b.mul(x, 3, name="u"), b.stop_gradient(b.mul(x, -9), name="sg"))
    found = WhatIf(b.build(b.loss(y))).open("sg").compare().variables()["x"]
    assert (found.before, found.after) == (3.0, -6.0)
    assert found.percent == pytest.approx(100) and found.cosine == pytest.approx(-1)


def test_a_trial_runs_with_the_values_of_the_session():
    x = b.variable("x", 1.0)
    session = Session(b.build(b.loss(b.mul(b.stop_gradient(x, name="sg"), x))))
    session.set("x", 7.0)
    assert WhatIf(session).open("sg").compare().variables()["x"].after == 14.0


def test_each_loss_is_compared_by_itself():
    x, y = b.variable("x", 1.0), b.variable("y", 2.0)
    one = b.loss(b.mul(b.stop_gradient(x, name="sg"), y), name="L1")
    two = b.loss(b.mul(x, 5), name="L2")
    found = WhatIf(b.build(one, two)).open("sg").compare()
    assert found.variables("L1")["x"].after == 2.0 and found.variables("L1")["x"].before is None
    assert not found.variables("L2")["x"].changed
    assert (found.variables()["x"].before, found.variables()["x"].after) == (5.0, 7.0)


@pytest.mark.night
def test_what_is_tried_is_what_is_applied():
    for number in range(80):
        diagram = specimen(number)
        session = Session(diagram)
        stops = [n for n in session.program.instances
                 if type(session.program.block(n)).__name__ == "StopGradient"
                 and session.program.ports[f"{n}.out"].dtype.startswith("float")]  # fmt: skip
        wires = list(session.program.wire_sources)
        trial = WhatIf(session).open(*stops[:1])
        if stops and "/" in stops[0]:
            continue
        trial = trial.cut(*[w for w in wires[:1] if "/" not in w])
        found = trial.compare()
        applied = apply(diagram, trial.as_change())
        assert applied.before is diagram and session.diagram is diagram
        run = Session(applied.after).backward(list(found.losses))
        for name, difference in found.variables().items():
            expected = run.gradients.get(name)
            assert (difference.after is None) == (expected is None)
            if expected is not None:
                np.testing.assert_array_equal(difference.after, expected)
        missing = set(wires) - found.states().keys()
        assert not missing


@pytest.mark.night
def test_rows_add_up_to_the_gradient_to_the_last_bit():
    checked = 0
    for number in range(500):
        session = Session(specimen(number, gradients=number % 2 == 0))
        run = session.backward(adjoints="all")
        accounts = ledger(session.program, run)
        for name, gradient in run.gradients.items():
            if gradient is None:
                assert f"{name}.out" not in accounts
                continue
            found = accounts[f"{name}.out"]
            total = found.entries[0].amount
            for entry in found.entries[1:]:
                total = total + entry.amount
            np.testing.assert_allclose(total, gradient, rtol=1e-12, atol=1e-300)
            if all(entry.kind != "gradient block" for entry in found.entries):
                np.testing.assert_array_equal(total, gradient)
            np.testing.assert_array_equal(found.total, gradient)
            checked += len(found.entries) > 1
    assert checked > 40


@pytest.mark.night
def test_the_account_of_one_port_is_that_of_the_ledger():
    for number in range(60):
        session = Session(specimen(number, gradients=number % 2 == 0))
        run = session.backward(adjoints="all")
        accounts = ledger(session.program, run)
        for port in session.program.ports:
            found, known = account(session.program, run, port), accounts.get(port)
            assert (found is None) == (known is None)
            if found is not None and known is not None:
                assert [entry.by for entry in found.entries] == [
                    entry.by for entry in known.entries
                ]
                np.testing.assert_array_equal(found.total, known.total)
    assert account(session.program, run, "no.out") is None


def test_the_share_through_a_gradient_block_has_a_row_with_its_name():
    x = b.variable("x", 0.5)
    y = b.tanh(x, name="tanh1")
    slope = b.gradient(b.square(y), x, name="slope")
    session = Session(b.build(b.loss(slope)))
    run = session.backward(adjoints="all")
    found = ledger(session.program, run)["tanh1.out"]
    (entry,) = [entry for entry in found.entries if entry.kind == "gradient block"]
    assert entry.by == "slope"
    assert sum(r.amount for r in found.entries) == pytest.approx(run.adjoints["tanh1.out"])
    assert sum(found.shares.values()) == pytest.approx(1)


def test_losses_against_variables():
    x, y = b.variable("x", [1.0, 0.0]), b.variable("y", [1.0, 1.0])
    one = b.loss(b.sum(b.mul(x, 2)), name="L1")
    two = b.loss(b.sum(b.add(b.mul(x, -6), y)), name="L2")
    matrix = loss_matrix(observe(Session(b.build(one, two))))
    assert matrix.norms["L1.out"] == {"x": 2.0, "y": None}
    assert matrix.norms["L2.out"] == {"x": 6.0, "y": 1.0}
    assert matrix.cosines["L1.out"]["x"] == pytest.approx(-1)
    assert matrix.cosines["L2.out"]["x"] == pytest.approx(1)
    assert matrix.between["x"]["L1.out", "L2.out"] == pytest.approx(-1)
    assert matrix.between["y"]["L1.out", "L2.out"] is None


def test_a_stop_inside_a_page_is_opened_in_all_uses():
    blocks = {
        "w": {"type": "Variable", "value": 2},
        "one": {"type": "Page", "page": "scale"},
        "two": {"type": "Page", "page": "scale"},
        "loss": {"type": "Loss"},
    }
    inner = {"x": {"type": "PageInput"}, "sg": {"type": "StopGradient"},
             "twice": {"type": "Mul", "b": 2}, "y": {"type": "PageOutput"}}  # fmt: skip
    text = json.dumps({"gradwire": 3, "title": "", "pages": {
        "main": {"blocks": blocks, "layout": {},
                 "wires": {"one.x": "w.out", "two.x": "one.y", "loss.x": "two.y"}},
        "scale": {"blocks": inner, "layout": {},
                  "wires": {"sg.x": "x.out", "twice.a": "sg.out", "y.x": "twice.out"}},
    }})  # fmt: skip
    found = WhatIf(loads(text)).open("one/sg").compare()
    assert found.variables()["w"].after == 4.0
