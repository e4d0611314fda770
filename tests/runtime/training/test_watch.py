"""A watch finds what a full observation of every round finds, and leaves the training as it is."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
import gradwire.runtime.build as b
from gradwire.runtime.diagram.optimisers import SGDMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.training import watch
from gradwire.runtime.training.alarms import PATIENCE, AlarmKind
from gradwire.runtime.training.trainer import Trainer
from gradwire.runtime.training.watch import AlarmWatch


def trainer_of(diagram, lr=0.1, **more):
    method = SGDMethod(lr=lr)
    recipe = Training(optimisers=(OptimiserRule(name="opt", method=method, **more),))
    return Trainer(Session(diagram, partial=True), recipe)


def alarms_of(diagram, steps=20, lr=0.1, **more):
    trainer = trainer_of(diagram, lr, **more)
    looking = AlarmWatch(trainer)
    return [alarm for record in trainer.run(steps) for alarm in looking.look(record)]


def dead():
    w, x = b.variable("w", -3.0), b.constant("x", 2.0)
    return b.build(b.loss(b.square(b.relu(b.mul(w, x), name="act") - 1.0), name="L"))


def test_calm_where_nothing_is_wrong_and_at_the_solution():
    w = b.variable("w", 3.0)
    assert alarms_of(b.build(b.loss(b.square(w - 1.0), name="L")), steps=400) == []


def test_vanishing_names_the_block_and_the_first_step():
    hidden = b.sigmoid(b.mul(b.variable("w0", 1.0), 0.5), name="act")
    saturated = b.sigmoid(hidden + 16.0, name="saturated")
    output = b.mul(b.variable("w1", 1.0), saturated)
    found = alarms_of(b.build(b.loss(b.square(output - 5.0), name="L")))
    (alarm,) = (each for each in found if each.trouble is AlarmKind.VANISHING)
    assert (alarm.step, alarm.block) == (1, "saturated")


@pytest.mark.parametrize("clip", [None, {"by": "norm", "limit": 1.0}])
def test_exploding_is_seen_before_clipping(clip):
    h = b.constant("x", [0.5, 1.5])
    for i in range(8):
        h = b.neg(b.mul(b.variable(f"w{i}", 9.0), h, name=f"m{i}"), name=f"act{i}")
    diagram = b.build(b.loss(b.mean(b.square(h - 5.0)), name="L"))
    found = alarms_of(diagram, steps=PATIENCE, lr=0.0, clip=clip)
    assert AlarmKind.EXPLODING in [alarm.trouble for alarm in found]


def test_dead_needs_three_rounds_and_is_said_once():
    assert alarms_of(dead(), steps=PATIENCE - 1) == []
    (alarm,) = alarms_of(dead(), steps=300)
    assert (alarm.trouble, alarm.block, alarm.step) == (AlarmKind.DEAD, "act", 1)


def test_not_moving_names_the_variable():
    w = b.variable("w", 3.0)
    (alarm,) = alarms_of(b.build(b.loss(b.square(w - 1.0), name="L")), lr=1e-12)
    assert (alarm.trouble, alarm.block) == (AlarmKind.NOT_MOVING, "w")
    assert alarm.step <= 4


def test_one_that_stands_still_beside_one_that_moves_is_seen():
    still, moving = b.variable("still", 1e9), b.variable("moving", [4.0, 2.0])
    loss = b.loss(b.mean(b.square(moving - 1.0)) + still * 1e-2, name="L")
    found = alarms_of(b.build(loss), lr=1e-3)
    assert (AlarmKind.NOT_MOVING, "still") in [(alarm.trouble, alarm.block) for alarm in found]


def test_the_flow_is_observed_ever_less_often_while_nothing_is_wrong(monkeypatch):
    observed, real = [], watch.observe
    monkeypatch.setattr(watch, "observe", lambda session: observed.append(1) or real(session))
    w = b.variable("w", 3.0)
    assert alarms_of(b.build(b.loss(b.square(w - 1.0), name="L")), steps=1000) == []
    assert 2 <= len(observed) <= 14


@pytest.mark.night
def test_gradients_small_at_every_second_round_are_hardly_observed(monkeypatch):
    observed, real = [], watch.observe
    monkeypatch.setattr(watch, "observe", lambda session: observed.append(1) or real(session))
    coin = gw.random_normal(shape=[], name="coin")
    w = b.variable("w", 3.0)
    slope = b.where(b.greater(coin, 0.0), 1.0, 2e-6)
    diagram = b.build(b.loss(b.mul(w, slope) + 1e3, name="L"))
    assert len(alarms_of(diagram, steps=2000, lr=1e-6)) <= 1  # of three by chance
    assert len(observed) <= 50


def with_hidden_nan():
    """A loss that moves w from 1 to −1, and a logarithm of w whose NaN a Where hides."""
    w = b.variable("w", 1.0)
    hidden = b.where(b.greater(w, 0.0), b.log(w, name="log"), 0.0, name="hiding")
    return b.build(b.loss(b.square(w + 1.0) + 0.0 * hidden, name="L"))


@pytest.mark.night
@pytest.mark.parametrize("fast", [False, True])
def test_nan_that_a_where_hides_names_the_first_block_and_step(fast):
    method = SGDMethod(lr=0.003)
    recipe = Training(optimisers=(OptimiserRule(name="opt", method=method),))
    trainer = Trainer(Session(with_hidden_nan(), fast=fast), recipe)
    looking, found, negative = AlarmWatch(trainer), [], 0
    for record in trainer.run(600):
        found += looking.look(record)
        if not negative and trainer.session.values["w"] < 0.0:
            negative = record.step
    (alarm,) = found
    assert (alarm.trouble, alarm.block) == (AlarmKind.NOT_FINITE, "log")
    assert "log of" in alarm.sentence and "No loss is affected" in alarm.sentence
    assert negative > PATIENCE
    latest = 2 * negative if fast else negative + 1  # machine code raises no flag
    assert negative <= alarm.step <= latest


def test_nan_that_is_given_is_no_alarm():
    rows, w = b.constant("rows", [1.0, np.nan]), b.variable("w", 3.0)
    known = b.where(b.equal(rows, rows), rows, 0.0)
    loss = b.loss(b.mean(b.square(known * w - 1.0)), name="L")
    assert alarms_of(b.build(loss), steps=40) == []


def test_watching_changes_no_bit_of_a_training():
    def trained(is_watched):
        x = gw.random_normal(shape=[8, 2], name="x")
        hidden = b.relu(
            gw.linear(x, b.variable("w", np.full((4, 2), -1.0)), b.variable("c", np.full(4, -9.0)))
        )
        loss = b.loss(b.mean(b.square(b.sum(hidden) - gw.sum(x))), name="L")
        trainer = trainer_of(b.build(loss))
        looking = AlarmWatch(trainer)
        losses = []
        for record in trainer.run(30):
            losses.append(record.losses)
            if is_watched:
                looking.look(record)
        return losses, trainer.session.step_number, trainer.session.values

    watched, alone = trained(True), trained(False)
    assert watched[:2] == alone[:2]
    for name, value in watched[2].items():
        np.testing.assert_array_equal(value, alone[2][name])
