"""Labels are kept while other wires move, and stand where those of a fresh page would."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gradwire.app.canvas.paint.wires.labels import Labels, WireLabels
from gradwire.app.canvas.paint.wires.lane_labels import _LaneLabels
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import Selection, ViewState, WireNumbers
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram import Disconnect, MoveBlocks, Point, PortName, apply
from tests.app.canvas.pages import seed, seed_result
from tests.benchmarks.diagrams import diagram_of, result_of

SIZE = (1200.0, 500.0)
EVERYWHERE = WireNumbers(value=True, gradient=True, everywhere=True)


@pytest.fixture
def view() -> ViewState:
    diagram = seed()
    scene = Scene(diagram, "main")
    annotations = resolve(scene, seed_result(diagram))
    return ViewState(scene, annotations, Camera(1.0, 60.0, 40.0), LIGHT, numbers=EVERYWHERE)


@pytest.fixture
def sought(monkeypatch) -> list[int]:
    """The wires whose labels' places are looked for, one by one."""
    wires: list[int] = []
    true = _LaneLabels._spots

    def spots(labels, wanted, positions):
        wires.extend(wanted.tolist())
        return true(labels, wanted, positions)

    monkeypatch.setattr(_LaneLabels, "_spots", spots)
    return wires


def assert_as_fresh(labels: WireLabels, view: ViewState) -> None:
    kept, fresh = (made.of(view, SIZE, math.inf) for made in (labels, WireLabels()))
    assert kept.placed
    assert _said(kept) == _said(fresh)
    np.testing.assert_allclose(kept.boxes, fresh.boxes, rtol=0.0, atol=1e-9)


def _said(labels: Labels) -> list[tuple[str, str]]:
    return [(label.glyph, label.colour) for label in labels.placed]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(4))
def test_labels_stand_as_on_a_fresh_page_whatever_moves(view, seed):
    chance, labels, scene = np.random.default_rng(seed), WireLabels(), view.scene
    for _ in range(12):
        assert_as_fresh(labels, view)
        for _ in range(chance.integers(1, 4)):
            blocks = np.unique(chance.integers(0, len(scene.names), 2))
            scene.place(blocks, scene.rects[blocks, :2] + chance.integers(-6, 7, 2) * 10.0)


def test_only_wires_that_moved_are_looked_at(view, sought):
    labels, scene = WireLabels(), view.scene
    labels.of(view, SIZE, math.inf)
    blocks = np.array([scene.index["loss"]])
    sought.clear()
    scene.place(blocks, scene.rects[blocks, :2] + 10.0)
    labels.of(view, SIZE, math.inf)
    assert set(sought) <= set(scene.wires_of(blocks).tolist())


def test_what_the_labels_of_other_wires_say_is_not_asked_again(monkeypatch):
    diagram = diagram_of(100)
    scene, labels, asked = Scene(diagram, "main"), WireLabels(), []
    view = ViewState(scene, resolve(scene, result_of(diagram)), Camera(), LIGHT)
    true = _LaneLabels._said

    def said(placer, wire, number):
        asked.append(wire)
        return true(placer, wire, number)

    monkeypatch.setattr(_LaneLabels, "_said", said)
    labels.of(view, (2400.0, 2400.0), math.inf)
    assert len(asked) > 5
    asked.clear()
    block = np.array([scene.index["b30"]])
    scene.place(block, scene.rects[block, :2] + 10.0)
    labels.of(view, (2400.0, 2400.0), math.inf)
    cut = {wire for wire in asked if view.annotations.total.words(wire).state.row.cut}
    assert set(asked) - cut <= set(scene.wires_of(block).tolist())


def test_more_moves_than_are_remembered_are_seen(view):
    labels, scene = WireLabels(), view.scene
    assert_as_fresh(labels, view)
    blocks = np.arange(len(scene.names))
    for number in range(40):
        which = blocks[[number % len(blocks)]]
        scene.place(which, scene.rects[which, :2] + 10.0)
    assert_as_fresh(labels, view)


def test_a_number_that_a_block_covers_gives_way(view):
    view = replace(view, numbers=WireNumbers(value=True), selection=Selection(frozenset({"loss"})))
    labels, scene = WireLabels(), view.scene
    number = labels.of(view, SIZE, math.inf).placed[-1]
    block = np.array([scene.index["a"]])
    corner = view.camera.to_scene(np.array([[number.x - 20.0, number.y - 20.0]]))
    scene.place(block, corner)
    assert_as_fresh(labels, view)
    assert number not in labels.of(view, SIZE, math.inf).placed


def test_labels_follow_edits_of_the_same_page(view):
    labels, diagram = WireLabels(), view.scene.diagram
    for change in (
        MoveBlocks({"mul1": Point(300.0, 60.0)}),
        Disconnect(PortName("stop1", "x")),
        MoveBlocks({"loss": Point(700.0, 90.0)}),
    ):
        assert_as_fresh(labels, view)
        diagram = apply(diagram, change).after
        view.scene.update(diagram)
        view = replace(view, annotations=resolve(view.scene, seed_result(diagram)))
    assert_as_fresh(labels, view)
