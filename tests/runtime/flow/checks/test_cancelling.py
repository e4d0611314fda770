"""Of stops that would keep gradients from cancelling those are offered that let losses fall."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import WhatIf, diagnose
from gradwire.runtime.flow.words.formatting import size


def commitment(order, measure=b.mean_squared_error, z=(0.5, -1.0)):
    """What is left of an encoding once a straight-through quantisation is taken away: as written,
    nothing comes back.
    """
    z = b.mul(b.variable("enc", [z]), 1.0, name="z")
    q = b.constant("q", [[0.2, -0.4]])
    quantised = b.add(z, b.stop_gradient(b.sub(q, z), name="ste_stop"), name="ste")
    ends = {"plain": (z, quantised), "reversed": (quantised, z)}[order]
    return b.loss(measure(b.sub(*ends, name="residual"), [[0.1, 0.3]]), name="loss")


def squares(residual, target):
    return b.sum(b.square(b.sub(residual, target)))


def sharp(residual, target):
    return b.sum(b.exp(b.mul(b.sub(residual, target), 5.0)))


def falls(session, wire, name):
    """Whether the sum of losses falls by a small step down the gradient that a stop on a wire
    lets through.
    """
    after = Session(WhatIf(session).cut(wire).diagram).backward().gradients[name]
    losses = []
    for step in (0.0, 1e-3):
        session.set(name, session.values[name] - step * after)
        run = session.run()
        losses.append(np.sum([run.values[loss] for loss in session.losses]))
    session.set(name, session.values[name] + 1e-3 * after)
    return losses[1] < losses[0]


@pytest.mark.parametrize("order", ["plain", "reversed"])
@pytest.mark.parametrize("measure", [b.mean_squared_error, squares, sharp])
def test_a_stop_that_would_let_the_loss_rise_is_not_offered(order, measure):
    session = Session(b.build(commitment(order, measure)))
    said = next(found.sentence for found in diagnose(session) if found.key == "enc")
    offered = re.findall(r"on (\S+\.[ab]): rms", said)
    ends = ["ste.a", "residual.a" if order == "plain" else "residual.b"]
    assert offered == [wire for wire in ends if falls(session, wire, "enc")] and len(offered) == 1


def test_the_number_of_a_stop_is_that_of_each_loss_and_of_their_sum():
    x = b.mul(b.variable("x", [1.0, 2.0]), 1.0, name="x1")
    difference = b.sub(x, b.add(x, b.stop_gradient(b.sub(0.5, x)), name="est"), name="rest")
    first, second = b.sum(b.square(difference)), b.sum(b.exp(difference))
    session = Session(b.build(b.loss(first, name="L0"), b.loss(second, name="L1")))
    said = next(found.sentence for found in diagnose(session) if found.key == "x")
    stopped = Session(WhatIf(session).cut("est.a").diagram)
    each = [stopped.backward(heads).gradients["x"] for heads in (["L0"], ["L1"], ["L0", "L1"])]
    sizes = [size(gradient) for gradient in each]
    assert said.endswith(
        "With a StopGradient on est.a: {} for L0, {} for L1 and {} for the sum of losses.".format(
            *sizes
        )
    )


def test_where_no_step_changes_the_losses_it_is_said_that_the_stops_go_opposite_ways():
    mean = b.mul(b.variable("x", [0.2, 0.4]), 1.0, name="mean")
    sample = b.add(mean, [0.7, -0.3], name="sample")
    score = b.sum(b.square(b.sub(sample, mean, name="distance")))
    said = diagnose(Session(b.build(b.loss(score))))[0].sentence
    assert re.search(
        r"With a StopGradient on sample\.a: rms (\S+); on distance\.b: rms \1, the other way "
        r"\(cosine −1\)\.$",
        said,
    )


def test_two_losses_that_cancel_are_told_apart():
    x = b.mul(b.variable("x", 3.0), 1.0, name="x1")
    up, down = b.mul(x, 2.0, name="up"), b.mul(x, -2.0, name="down")
    session = Session(b.build(b.loss(up, name="L0"), b.loss(down, name="L1")))
    said = next(found.sentence for found in diagnose(session) if found.key == "x")
    assert said.endswith("With a StopGradient on up.a: −2 for L1; on down.a: 2 for L0.")


def test_past_limits_the_number_is_that_of_each_loss_and_of_their_sum():
    limited = b.clip(b.variable("x", [2.0, -3.0]), min=0.0, max=1.0, name="limit")
    heads = b.loss(b.sum(limited), name="L0"), b.loss(b.sum(b.mul(limited, -3.0)), name="L1")
    said = next(f.sentence for f in diagnose(Session(b.build(*heads))) if f.key == "x")
    assert said.endswith(
        "Straight through limit: rms 1 for L0, rms 3 for L1 and rms 2 for the sum of losses; "
        "L0 and L1 pull against each other (cosine −1)."
    )


@pytest.mark.parametrize("rows", [1, 2])
def test_a_mean_of_one_element_is_named_where_it_is_taken_away(rows):
    x = b.mul(b.variable("x", [[0.5, -1.0]] * rows), 2.0, name="hidden")
    norm = b.sub(x, b.mean(x, axis=0, name="average"), name="centred")
    session = Session(b.build(b.loss(b.sum(b.square(b.sub(norm, 1.0))))))
    said = [finding.sentence for finding in diagnose(session)]
    assert any("average is of one element, which centred takes away" in s for s in said) is (
        rows == 1
    )
