"""The lesson, the contracts and the training follow a renamed block or port, with one undo."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import RenameBlock, apply
from gradwire.runtime.diagram.edits.draft import Renamed
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.paths import ROOT, InstancePath
from gradwire.runtime.diagram.training import Training

W = Renamed((ROOT,), "w", "v")
ENC = Renamed((InstancePath("enc"), InstancePath("dec/enc")), "x", "y", is_port=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("w", "v"), ("w.out", "v.out"), ("w/b", "v/b"), ("w.out:leaf", "v.out:leaf"),
        ("w2", "w2"), ("enc/w", "enc/w"), ("w*", "w*"), ("w/*", "w/*"), ("", ""),
    ],
)  # fmt: skip
def test_exact_paths_are_renamed(before, after):
    assert W.place(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("enc/x", "enc/y"), ("dec/enc/x.out", "dec/enc/y.out"), ("enc.x", "enc.y"),
     ("enc.x:leaf", "enc.y:leaf"), ("x", "x"), ("enc.xs", "enc.xs"), ("other.x", "other.x")],
)  # fmt: skip
def test_a_port_of_a_page_is_renamed_at_each_use(before, after):
    assert ENC.place(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("flows(w -> w)  # w", "flows(v -> v)  # w"),
        ("blocked(* → mul.w)", "blocked(* → mul.w)"),
        ("flows(w* -> w/*)", "flows(w* -> w/*)"),
        ("updates(w -> w)", "updates(w -> v)"),
        ("# about w", "# about w"),
        ("no contract w", "no contract w"),
    ],
)
def test_contracts(before, after):
    assert W.contract(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("grad('w') == 2 * grad(\"w\", 'w')", "grad('v') == 2 * grad(\"v\", 'v')"),
        ("state('mul.a') == \"w\"", "state('mul.a') == \"w\""),
        ("blocked(loss -> w)", "blocked(loss -> v)"),
    ],
)
def test_expressions(before, after):
    assert W.expression(before) == after


def test_texts_only_in_their_expressions():
    text = "'w' is {value('w')}, {{value('w')}}: { grad('w')[0] }"
    assert W.text(text) == "'w' is {value('v')}, {{value('w')}}: { grad('v')[0] }"


def lesson(w):
    return Lesson.model_validate(
        {
            "goal": "w",
            "vary": {w: [1, 2]},
            "steps": [
                {"do": "show", "text": f"w is {{value('{w}')}}", "look": [w, "loss.x"]},
                {
                    "do": "predict", "gradient": w, "hints": [f"{{grad('{w}')}}"],
                    "setup": {w: 3}, "feedback": {"sign": f"{{grad('{w}')}}"},
                    "wrong": [{"answer": f"value('{w}') / 2", "name": "w", "feedback": "w"}],
                },
                {"do": "paint", "wires": ["sg.x", f"{w}.in"], "losses": [w]},
                {"do": "change", "goals": [f"grad('{w}') == 2", f"flows(* -> {w})"], "only": [w]},
                {"do": "check", "options": [{"text": f"{{grad('{w}')}}",
                                             "holds": f"grad('{w}') is None"}]},
            ],
        }
    )  # fmt: skip


def training(w):
    return Training.model_validate(
        {
            "optimisers": [{"name": "w", "variables": [w, "w*"], "losses": ["loss"],
                            "groups": [{"variables": [w], "lr": 0.1}]}],
            "averages": [{"name": "w", "of": w, "into": "target/*"}],
            "record": [f"{w}.out"],
        }
    )  # fmt: skip


def test_everything_follows_and_one_undo_brings_it_back():
    made = build(loss(stop_gradient(variable("w", 2.0), name="sg"), name="loss"))
    before = replace(
        made, contracts=("blocked(loss -> w)",), lesson=lesson("w"), training=training("w")
    )
    edit = apply(before, RenameBlock("w", "v"))
    assert edit.after.contracts == ("blocked(loss -> v)",)
    assert edit.after.lesson == lesson("v")
    assert edit.after.training == training("v")
    assert edit.before is before


def test_what_names_something_else_is_the_same_object():
    made = build(loss(stop_gradient(variable("w", 2.0), name="sg"), name="loss"))
    before = replace(made, lesson=lesson("w"), training=training("w"))
    after = apply(before, RenameBlock("sg", "stop")).after
    assert after.training is before.training
    assert after.lesson.steps[2].wires == ("stop.x", "w.in")
    assert apply(before, RenameBlock("loss", "L")).after.lesson.steps[0].look == ("w", "L.x")
