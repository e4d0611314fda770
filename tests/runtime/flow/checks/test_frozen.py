"""Nothing trained is an error; what is frozen by the beginning of its name is pointed out."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gradwire.runtime.build as b
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose
from gradwire.runtime.flow.tools.causes import causes

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import gradwire as gw  # noqa: E402


def product(**trainable):
    variables = [b.variable(name, 2.0, trainable=is_on) for name, is_on in trainable.items()]
    x = b.constant("x", 3.0)
    for variable in variables:
        x = b.mul(x, variable)
    return b.build(b.loss(x))


def said(diagram):
    return {f.complaint.name: f.sentence for f in diagnose(Session(diagram))}


def test_nothing_trained_is_an_error_with_its_cure():
    (cause,) = causes(diagnose(Session(product(v=False, w=False))))
    assert (cause.severity, cause.affected) == ("error", ("v", "w"))
    assert cause.sentence == (
        "Nothing is trained: all 2 variables are frozen (v and w). Unfreeze what is to be trained, "
        "in PyTorch by requires_grad_() of its module."
    )
    assert "its only variable is frozen (v)" in said(product(v=False))["nothing_trained"]


def test_some_trained_or_none_to_train_is_fine():
    assert said(product(v=False, w=True)) == {}
    assert said(product()) == {}


def test_an_optimiser_of_frozen_variables_updates_nothing():
    diagram = product(body=True, head=False)

    def owned_by(*rules):
        return said(replace(diagram, training=Training(optimisers=rules)))

    head, both = (
        OptimiserRule(name=n, variables=v) for n, v in (("opt", ("head",)), ("all", ("*",)))
    )
    assert owned_by(both) == {}
    assert owned_by(head, both)["nothing_trained"].startswith(
        "opt updates nothing: head is frozen."
    )


class Deep(nn.Module):
    def __init__(self, layers=12):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(layers)
        )

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x.square().mean()


def captured(chosen, *, trained=False, layers=12):
    """Layers of which those chosen are frozen, or alone trained."""
    torch.manual_seed(0)
    model = Deep(layers)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(chosen(name) is trained)
    return gw.capture(model, torch.randn(5, 3))


@pytest.mark.parametrize("trained", [False, True])
def test_names_that_begin_alike_are_pointed_out(trained):
    diagram = captured(lambda name: name.startswith("layers.1"), trained=trained).diagram
    (sentence,) = said(diagram).values()
    state, others = ("trained", "frozen") if trained else ("frozen", "trained")
    assert sentence.startswith(
        f"layers/1, layers/10 and layers/11 are {state} and those between them {others}: the names "
        "of all begin with layers/1."
    )
    assert [f.complaint.is_error for f in diagnose(Session(diagram))] == [False]


@pytest.mark.parametrize(
    ("chosen", "layers"),
    [
        (lambda name: name.startswith("layers.1."), 12),
        (lambda name: int(name.split(".")[1]) < 6, 12),
        (lambda name: name.startswith(("layers.0", "layers.5")), 12),
        (lambda name: name.endswith("0.weight"), 12),
        (lambda name: name.startswith("layers.1"), 10),
    ],
    ids=["one", "the first six", "two", "weights", "no others that begin so"],
)
def test_other_choices_are_nobodys_mistake(chosen, layers):
    assert said(captured(chosen, layers=layers).diagram) == {}


def test_a_capture_says_what_is_frozen_and_how_much():
    def remarks(chosen):
        return [r.text for r in captured(chosen).remarks if r.text.startswith("Frozen")]

    assert remarks(lambda name: not name.startswith("layers.3.1.")) == [
        "Frozen: 46 of 48 parameters, 97.22 % of their numbers: layers.0, layers.1, layers.2, "
        "layers.3.0 and 8 more. Trained: layers.3.1."
    ]
    assert remarks(lambda name: False) == remarks(lambda name: True) == []
