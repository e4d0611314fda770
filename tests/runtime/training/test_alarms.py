"""Alarms: three hits in a row, the block at which the trouble begins, and the step."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe
from gradwire.runtime.training.alarms import PATIENCE, WINDOW, AlarmKind, Alarms
from gradwire.runtime.training.optimisers import SGD


def alarms_of(diagram, steps=20, lr=0.1, every=1):
    """All alarms over some steps of gradient descent."""
    session, alarms, found = Session(diagram, partial=True), Alarms(), []
    for step in range(1, steps + 1):
        before = session.values
        run = session.step(SGD(lr=lr))
        alarms.record(step, {port: float(run.values[port]) for port in run.losses})
        if step % every == 0:
            moved = {n: _ratio(before[n], v) for n, v in session.values.items()}
            found += alarms.observe(step, observe(session), moved)
    return found


def _ratio(before, after):
    return float(np.linalg.norm(after - before) / max(np.linalg.norm(after), 1e-300))


def deep(activation, scale, layers=14):
    """A chain of layers, each with a weight of its own, and a loss far from its minimum."""
    h = b.constant("x", [0.5, 1.5])
    for i in range(layers):
        h = activation(b.mul(b.variable(f"w{i}", scale), h, name=f"m{i}"), name=f"act{i}")
    return b.build(b.loss(b.mean(b.square(h - 5.0)), name="L"))


def test_calm_where_nothing_is_wrong():
    w = b.variable("w", 3.0)
    assert alarms_of(b.build(b.loss(b.square(w - 1.0), name="L")), steps=200) == []


def test_vanishing_names_the_block_and_the_first_step():
    hidden = b.sigmoid(b.mul(b.variable("w0", 1.0), 0.5), name="act")
    saturated = b.sigmoid(hidden + 16.0, name="saturated")
    output = b.mul(b.variable("w1", 1.0), saturated)
    (alarm,) = alarms_of(b.build(b.loss(b.square(output - 5.0), name="L")))
    assert (alarm.trouble, alarm.step, alarm.block) == (AlarmKind.VANISHING, 1, "saturated")
    assert "Vanishing gradient from step 1 on, first at saturated: " in alarm.sentence


def test_exploding():
    found = alarms_of(deep(b.neg, 9.0, layers=8), steps=PATIENCE, lr=0.0)
    alarm = next(a for a in found if a.trouble is AlarmKind.EXPLODING)
    assert "enlarges gradients" in alarm.sentence


def test_dead_units():
    w, x = b.variable("w", -3.0), b.constant("x", 2.0)
    hidden = b.relu(b.mul(w, x, name="product"), name="act")
    (alarm,) = alarms_of(b.build(b.loss(b.square(hidden - 1.0), name="L")))
    assert (alarm.trouble, alarm.block, alarm.step) == (AlarmKind.DEAD, "act", 1)
    assert "act is off" in alarm.sentence


def test_dead_needs_three_hits_in_a_row():
    w, x = b.variable("w", -3.0), b.constant("x", 2.0)
    diagram = b.build(b.loss(b.square(b.relu(b.mul(w, x), name="act") - 1.0), name="L"))
    assert alarms_of(diagram, steps=PATIENCE - 1) == []
    session, alarms = Session(diagram), Alarms()
    live = Session(b.build(b.loss(b.square(b.variable("w", 3.0)), name="L")))
    alarms.record(1, {"L.out": 1.0})
    for shown in (session, session, live, session, session):
        assert alarms.observe(1, observe(shown)) == []
    (alarm,) = alarms.observe(9, observe(session))
    assert alarm.step == 1
    assert alarms.observe(10, observe(session)) == []  # said once


def test_zero_at_the_solution_is_no_alarm():
    w = b.variable("w", 0.0)
    hinge = b.relu(1.0 - w, name="hinge")
    assert alarms_of(b.build(b.loss(hinge, name="L")), steps=60) == []


def test_not_a_number_names_the_first_block():
    w = b.variable("w", 1.0)
    diagram = b.build(b.loss(b.mul(b.log(w, name="log"), 2.0), name="L"))
    found = alarms_of(diagram, steps=20, lr=0.3)
    alarm = next(a for a in found if a.trouble is AlarmKind.NOT_FINITE)
    assert alarm.block == "log"
    assert alarm.step > 1


def test_not_moving_names_the_variable():
    w = b.variable("w", 3.0)
    (alarm,) = alarms_of(b.build(b.loss(b.square(w - 1.0), name="L")), lr=1e-12)
    assert (alarm.trouble, alarm.block, alarm.step) == (AlarmKind.NOT_MOVING, "w", 1)


def test_a_rising_loss_names_the_loss_and_since_when():
    alarms, found = Alarms(), []
    rng = np.random.default_rng(0)
    for step in range(1, 200):
        wanted = 1.0 if step <= 10 * WINDOW else 1.0 + 0.02 * (step - 10 * WINDOW)
        alarms.record(step, {"L.out": wanted + 0.01 * rng.normal()})
        found += alarms.observe(step, None)
    (alarm,) = found
    assert (alarm.trouble, alarm.block) == (AlarmKind.RISING, "L")
    assert 9 * WINDOW < alarm.step <= 11 * WINDOW + 1


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_players_that_take_turns_are_no_rising_loss(seed):
    alarms, rng = Alarms(), np.random.default_rng(seed)
    for step in range(1, 2000):
        swing = 0.3 * np.sin(step / 40.0)
        losses = {"D.out": 1.0 + swing + 0.1 * rng.normal(), "G.out": 1.0 - swing}
        alarms.record(step, losses)
        assert alarms.observe(step, None) == []
