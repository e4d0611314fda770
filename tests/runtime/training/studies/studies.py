"""A diagram of one line, and studies of it, for several tests."""

from __future__ import annotations

import gradwire as gw
from gradwire.runtime.training.studies.files import Measure, Study, Variant


def line(*, rate=1.0):
    """w is drawn, and moves to 3; with the stop closed it stays where it was drawn."""
    w = gw.variable("w", shape=(4,), initialiser="normal")
    distance = gw.sub(gw.stop_gradient(w, name="stop", open=True), 3.0, name="distance")
    head = gw.loss(gw.mean(gw.square(distance)), name="loss")
    recipe = {"optimisers": [{"name": "opt", "method": {"kind": "sgd", "lr": rate}}], "steps": 60}
    return gw.build(head, gw.loss(gw.sum(gw.square(gw.variable("v", 1.0)))), training=recipe)


CLOSED = Variant(set={"stop": {"open": False}})


def study(*claims, **changes):
    given = {
        "diagram": "line.gradwire.json",
        "measure": Measure(port="loss.out"),
        "variants": {"open": Variant(), "closed": CLOSED},
        "claims": claims,
        "seeds": 3,
    }
    return Study(**(given | changes))


def noisy(*, steps=20):
    """A regression on points that are drawn anew at each step, by a small network."""
    points = gw.dataset(source="sine", count=40, batch=8, validation=0.2, name="points")
    hidden = gw.tanh(gw.linear(points[0], gw.own(), units=3, name="hidden"))
    out = gw.linear(hidden, gw.own(), units=1, name="out")
    loss = gw.loss(gw.mean(gw.square(gw.sub(out, points[1], name="error"))), name="loss")
    recipe = {
        "optimisers": [{"name": "opt", "method": {"kind": "adam", "lr": 0.01}}],
        "steps": steps,
    }
    return gw.build(loss, training=recipe)


def numbers(results):
    """All that a study found, by what was varied; without the time that it took."""
    return [
        (dict(planned.settings), trained.model_dump(exclude={"seconds"}))
        for planned, trained in results.ended()
    ]
