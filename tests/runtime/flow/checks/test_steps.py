"""What an optimiser makes of gradients that are too small or too large: said, and true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradwire as gw
import gradwire.runtime.build as b
from gradwire.runtime.diagram.optimisers import AdamMethod as Adam
from gradwire.runtime.diagram.optimisers import AdamWMethod as AdamW
from gradwire.runtime.diagram.optimisers import LionMethod as Lion
from gradwire.runtime.diagram.optimisers import SGDMethod as SGD
from gradwire.runtime.diagram.training import Clip, Group, OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.observing import observe
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.flow.words.formatting import number

VALUE = np.array([2.0, -1.0, 0.5])


def diagram(scale, *rules):
    w = b.variable("w", VALUE, dtype="float64")
    made = b.build(b.loss(b.sum(b.mul(b.sin(w), scale))))
    return replace(made, training=Training(optimisers=rules))


def rule(method, **about):
    return OptimiserRule(name=about.pop("name", "opt"), method=method, **about)


def said(*about):
    findings = diagnose(Session(diagram(*about)))
    (cause,) = causes(f for f in findings if f.key == "w" and f.complaint.name != "unowned")
    return cause.severity, cause.findings[0].sentence


DIVIDED = "opt ({}) divides gradients by their size, so that its steps are about its rate, {}"


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize(
    ("method", "told"),
    [
        (Adam(lr=0.01, eps=1e-12), DIVIDED.format("adam", "0.01")),
        (AdamW(lr=0.02, eps=1e-12), DIVIDED.format("adamw", "0.02")),
        (Lion(lr=0.003), DIVIDED.format("lion", "0.003")),
    ],
)
def test_what_divides_by_the_size_makes_it_no_alarm(scale, method, told):
    severity, sentence = said(scale, rule(method))
    assert severity == "info" and told in sentence
    session = Session(diagram(scale, rule(method)))
    gw.Trainer(session).step()
    step = np.abs(session.values["w"] - VALUE)
    np.testing.assert_allclose(step, method.lr + method.weight_decay * method.lr * np.abs(VALUE),
                               rtol=0.05 + method.weight_decay * 2)  # fmt: skip


def test_what_is_small_against_eps_is_an_alarm():
    severity, sentence = said(1e-9, rule(Adam(eps=1e-8)))
    assert severity == "warning"
    assert "plus eps, 1e−8, against which this one is small: its steps are 0.0" in sentence
    session = Session(diagram(1e-9, rule(Adam(eps=1e-8, lr=0.01))))
    gw.Trainer(session).step()
    share = np.abs(session.values["w"] - VALUE).mean() / 0.01
    assert f"are {share:.1g}"[:7] in sentence


@pytest.mark.parametrize(
    ("scale", "lr", "severity"),
    [(1e-9, 1e6, "info"), (1e-9, 0.1, "warning"), (1e6, 1e-9, "info"), (1e6, 0.1, "warning")],
)
def test_gradient_descent_is_judged_by_how_far_a_step_goes(scale, lr, severity):
    found, sentence = said(scale, rule(SGD(lr=lr)))
    assert found == severity
    gradient = scale * np.cos(VALUE)
    share = lr * np.sqrt(np.mean(gradient**2) / np.mean(VALUE**2))
    assert f"A step of opt, {number(lr)} × the gradient, changes it by" in sentence
    assert f"by {number(share)} of its size." in sentence


def test_the_rate_is_that_of_the_group():
    rules = rule(Lion(lr=0.1), groups=(Group(variables=("w",), lr=0.25),))
    assert "its rate, 0.25, all the same" in said(1e-9, rules)[1]


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (rule(Lion(), variables=("other",)),),
        (rule(Lion(), clip=Clip(by="norm", limit=1.0)),),
        (rule(Adam(weight_decay=0.1, eps=0.0)),),
        (rule(Lion()), rule(Lion(), name="second")),
    ],
    ids=["no recipe", "not owned", "clipped", "weight decay in the gradient", "two"],
)
def test_elsewhere_it_is_an_alarm_as_before(rules):
    severity, sentence = said(1e-9, *rules)
    assert severity == "warning" and "divides" not in sentence


def scaled_layer(scale, gamma):
    x = b.constant("x", [[0.5, -1.0, 2.0]], dtype="float64")
    layer = b.linear(x, b.variable("w", np.eye(3), dtype="float64"))
    branch = b.tanh(b.mul(layer, scale))
    scaled = b.mul(branch, b.variable("gamma", [gamma] * 3, dtype="float64"))
    return b.build(b.loss(b.sum(b.square(b.sub(b.add(x, scaled), [[1.0, 1.0, 1.0]])))))


def test_what_a_layer_scale_leaves_small_even_once_it_has_grown_is_remarked_on():
    found = {f.key: f for f in diagnose(Session(scaled_layer(1e-6, 1e-8)))}
    assert {key: f.complaint.name for key, f in found.items()} == {
        "gamma": "vanishing",
        "w": "vanishing_at_start",
    }
    assert "gamma is at most 1e−8 and gets a gradient itself: this grows" in found["w"].sentence


def test_a_layer_scale_is_small_by_design():
    made = scaled_layer(1.0, 1e-6)
    assert diagnose(Session(made)) == []
    cure = observe(Session(made)).variable("w").cure
    assert "gamma is at most 1e−6 and gets a gradient itself: this grows" in cure
    grown = Session(made)
    grown.set("gamma", np.full(3, 1e-2))
    gradients = [s.backward().gradients["w"] for s in (Session(made), grown)]
    assert np.abs(gradients[1]).max() > 100 * np.abs(gradients[0]).max()


def test_a_small_factor_that_is_frozen_is_an_alarm():
    w = b.variable("w", VALUE, dtype="float64")
    small = b.variable("small", [1e-9] * 3, dtype="float64", trainable=False)
    (cause,) = causes(diagnose(Session(b.build(b.loss(b.sum(b.mul(b.sin(w), small)))))))
    assert cause.severity == "warning" and "grows" not in cause.sentence
