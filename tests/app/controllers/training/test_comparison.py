"""Two halves of the window: the same diagram with a stop closed and open, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt

import gradwire.runtime.build as b
from gradwire.runtime.diagram import RemoveBlocks, SetParameters, apply
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.tools.interventions import OpenStop, change_of
from gradwire.runtime.training.optimisers import SGD
from tests.app.controllers.training.test_training import click, play_until


def model():
    """The gradient of v is stopped on one of its two ways."""
    v, w = b.variable("v", 2.0), b.variable("w", 3.0)
    stopped = b.stop_gradient(v * w, name="sg")
    return b.build(b.loss(b.square(stopped - w), name="L"))


def trained(window, name):
    """The value of a variable in both halves, at the step that is shown."""
    found = []
    for lane in window.training.shown.lanes:
        (value,) = (array for at, array in lane.values.items() if at.name == name)
        found.append(value)
    return found


@pytest.fixture
def window(opened, qtbot, settings):
    settings.rate = 0.001
    window = opened(model())
    window.resize(1280, 800)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.training.bar.show()
    click(qtbot, window.training.bar.compare)
    return window


@pytest.mark.night
def test_both_halves_are_trained_from_the_same_values(window, qtbot):
    steps = play_until(window, qtbot, 25)
    for half, steps_of in enumerate(([], [OpenStop("sg")])):
        session = Session(apply(model(), change_of(model(), steps_of)).after)
        for _ in range(steps):
            session.step(SGD(lr=0.001))
        for name in ("v", "w"):
            np.testing.assert_array_equal(trained(window, name)[half], session.values[name])
    qtbot.waitUntil(lambda: not window.comparison.evaluator.busy)
    shown = window.comparison.other.view.annotations.page.result.values
    np.testing.assert_array_equal(shown["v.out"], trained(window, "v")[1])
    assert trained(window, "v")[0] == 2.0  # nothing reaches it
    names = [run.recording.name for run in window.training.runs.listed]
    assert names == ["stopped", "unstopped"]
    titles = [title.text() for title in window.comparison.halves.titles]
    assert titles[0].startswith("stopped    L ")
    assert titles[1].startswith("unstopped    L ")


@pytest.mark.night
def test_only_the_left_half_belongs_to_the_document(window, qtbot):
    play_until(window, qtbot, 10)
    blocks = window.document.diagram.main.blocks
    assert not blocks["sg"].open
    assert window.comparison.other.view.scene.page.blocks["sg"].open
    assert blocks["v"].value.array == 2.0
    assert window.document.undo_stack.count() == 1
    other = window.comparison.other
    before = window.document.diagram
    other.setFocus()
    other.select({"v"})
    qtbot.keyClick(other, Qt.Key.Key_Delete)
    assert window.document.diagram is before


@pytest.mark.night
def test_both_go_back_together(window, qtbot):
    play_until(window, qtbot, 30)
    window.training.bar.scale.setValue(12)
    qtbot.waitUntil(lambda: "step 12 of" in window.training.bar.count.text())
    assert [course.step for course in window.training.courses] == [12, 12]


def test_panning_zooming_and_selecting_one_moves_the_other(window, qtbot):
    canvas, other = window.canvas, window.comparison.other
    assert other.isVisible()
    canvas.set_zoom(0.77)
    assert other.view.camera == canvas.view.camera
    other.set_camera(other.view.camera.panned(31.0, 17.0))
    assert canvas.view.camera == other.view.camera
    other.select({"w"})
    assert canvas.selection() == {"w"}


@pytest.mark.night
def test_numbers_edited_meanwhile_count_in_both(window, qtbot):
    click(qtbot, window.training.bar.play)
    qtbot.waitUntil(lambda: window.training.step_shown > 3)
    window.edit.change(SetParameters("v", {"value": 5.0}))
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + 5)
    qtbot.waitUntil(lambda: trained(window, "v")[0] == 5.0)
    click(qtbot, window.training.bar.play)
    qtbot.waitUntil(lambda: not window.training.is_playing)


@pytest.mark.night
def test_leaving_shows_one_diagram_and_keeps_the_curves(window, qtbot):
    play_until(window, qtbot, 5)
    kept = window.document.diagram
    window.actions_by_name["train_compare"].trigger()
    assert not window.comparison.is_on
    assert not window.comparison.other.isVisible()
    assert not window.comparison.halves.titles[0].isVisible()
    assert window.document.diagram is kept
    fitted = window.canvas.view.camera
    qtbot.wait(50)
    window.canvas.zoom_to_fit()
    assert window.canvas.view.camera == fitted
    assert [run.recording.name for run in window.training.runs.listed] == ["stopped", "unstopped"]
    play_until(window, qtbot, 3)
    assert len(window.training.courses) == 1


def test_without_its_stop_there_is_nothing_to_compare(window, qtbot):
    assert window.actions_by_name["train_compare"].isChecked()
    window.edit.change(RemoveBlocks(("sg",)))
    assert not window.comparison.is_on
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.actions_by_name["train_compare"].trigger()
    assert not window.comparison.is_on
    assert not window.actions_by_name["train_compare"].isChecked()


@pytest.mark.night
def test_what_was_trained_before_is_compared_from_its_start(window, qtbot):
    window.actions_by_name["train_compare"].trigger()
    play_until(window, qtbot, 20)
    before = window.document.diagram.main.blocks["w"].value.array.tolist()
    assert before != 3.0
    bar = window.training.bar
    click(qtbot, bar.compare)
    assert "Back to the start takes those before the training." in bar.text()
    click(qtbot, bar.reset)
    assert window.document.diagram.main.blocks["w"].value.array.tolist() == 3.0
    assert window.comparison.is_on
    play_until(window, qtbot, 5)
    stopped, unstopped = trained(window, "v")
    assert stopped == 2.0 != unstopped
    window.training.go(0)
    qtbot.waitUntil(lambda: window.training.step_shown == 0)
    assert trained(window, "w") == [3.0, 3.0]
