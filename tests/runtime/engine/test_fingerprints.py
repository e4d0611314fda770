"""Fingerprints: equal for what computes the same, and different for what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradwire.runtime.build as b
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    MoveBlocks,
    RenameBlock,
    SetParameters,
    apply,
    dumps,
    load,
    loads,
)
from gradwire.runtime.diagram.model import Point
from gradwire.runtime.diagram.paths import PortName, PortPath
from gradwire.runtime.engine.fingerprints import fingerprints, structure_of
from gradwire.runtime.engine.flatten import flatten

GOLDEN = Path(__file__).parents[1] / "diagram" / "files" / "golden" / "comparison.gradwire.json"


def net():
    x, w = b.constant("x", [1.0, 2.0]), b.variable("w", [1.0, 3.0])
    mid = b.mul(w, x, name="mid")
    return b.build(b.loss(b.sum(b.clip(mid, max=2.0, name="clip") + w, name="sum"), name="loss"))


def of(diagram, loss="loss.out"):
    return fingerprints(flatten(diagram), [PortPath(loss)])


def test_names_places_and_what_no_loss_reads_do_not_count():
    diagram = net()
    before = of(diagram)
    for change in (
        RenameBlock("w", "weight"),
        RenameBlock("mid", "a"),
        MoveBlocks({"clip": Point(7.0, 8.0)}),
        AddBlock("more", Variable(value=1.0), Point(0.0, 0.0)),
        SetParameters("x", {"slider": [0.0, 4.0]}),
    ):
        diagram = apply(diagram, change).after
        assert of(diagram) == before
    assert of(loads(dumps(diagram))) == before


@pytest.mark.parametrize(
    "change",
    [
        SetParameters("clip", {"max": 3.0}),
        SetParameters("clip", {"bypassed": True}),
        SetParameters("w", {"trainable": False}),
        SetParameters("w", {"dtype": "float64"}),
        SetParameters("x", {"value": [1.0]}),
        SetParameters("sum", {"axis": [0]}),
        Connect(PortName("x", "out"), PortName("clip", "x")),
        Connect(PortName("w", "out"), PortName("mid", "b")),
    ],
    ids=repr,
)
def test_what_computes_something_else_has_another_structure(change):
    after = apply(net(), change).after
    assert of(after).structure != of(net()).structure
    assert structure_of(flatten(after), [PortPath("loss.out")]) == of(after).structure


def test_numbers_count_apart():
    after = apply(net(), SetParameters("w", {"value": [1.0, 3.5]})).after
    assert of(after).structure == of(net()).structure
    assert of(after).values != of(net()).values


def test_one_variable_is_not_two_with_equal_numbers():
    def squared(other):
        w = b.variable("w", 2.0)
        return b.build(b.loss(b.mul(w, w if other == "w" else b.variable(other, 2.0)), name="loss"))

    assert of(squared("w")).structure != of(squared("v")).structure


def test_drawn_numbers_depend_on_the_name():
    def drawn(name, **more):
        return of(b.build(b.loss(b.sum(b.variable(name, shape=[3], **more)), name="loss")))

    assert drawn("w").values != drawn("v").values
    assert drawn("w").structure == drawn("v").structure
    assert drawn("w", seed=1).structure == drawn("v", seed=2).structure


def test_those_of_an_earlier_day_are_still_found():
    diagram = load(GOLDEN)
    kept = diagram.comparison
    assert kept is not None
    assert of(diagram) == (kept.structure, kept.values)


def test_a_loss_that_is_not_there_depends_on_nothing():
    assert of(net(), "no.out").structure != of(net()).structure
