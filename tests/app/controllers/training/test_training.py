"""Training in the window by real events: play, pause, steps, going back, edits, alarms."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

import gradwire.runtime.build as b
from gradwire.app.panels.training.bar import PACES
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import AddBlock, MoveBlocks, Point, SetParameters, SetTraining
from gradwire.runtime.diagram.optimisers import SGDMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.training.optimisers import SGD
from gradwire.runtime.training.process.process import PROCESSES
from tests.app.mouse import click_block

LEFT = Qt.MouseButton.LeftButton
RATE = 1e-5
"""So small that values still change after many steps."""


def model():
    """Least squares of two weights, far from their solution."""
    x = b.constant("x", [[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    w = b.variable("w", [4.0, -3.0])
    rate = b.constant("scale", 1.0)
    return b.build(b.loss(b.mean(b.square(b.matmul(x, w) - 1.0)) * rate, name="L"))


@pytest.fixture
def window(opened, qtbot, settings):
    settings.rate = RATE
    window = opened(model())
    window.resize(1280, 800)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


def click(qtbot, widget):
    """Move there, rest, and click, as a hand does."""
    qtbot.mouseMove(widget)
    qtbot.wait(1)
    qtbot.mouseClick(widget, LEFT)


def play_until(window, qtbot, step):
    """Play at a pace at which every step keeps a point of its own, however late windows answer."""
    bar = window.training.bar
    bar.pace.setCurrentIndex(PACES.index(100.0))
    if not bar.isVisible():
        click(qtbot, window.toolbar.buttons["train"])
    else:
        click(qtbot, bar.play)
    qtbot.waitUntil(lambda: window.training.step_shown >= step)
    click(qtbot, bar.play)
    qtbot.waitUntil(lambda: not window.training.is_playing)
    return window.training.step_shown


def w_of(window):
    return window.document.diagram.main.blocks["w"].value.array


def by_hand(steps, rate=RATE):
    session = Session(model())
    for _ in range(steps):
        session.step(SGD(lr=rate))
    return session.values["w"]


@pytest.mark.night
def test_play_and_pause_by_mouse_shows_exactly_the_steps_it_says(window, qtbot):
    steps = play_until(window, qtbot, 20)
    np.testing.assert_array_equal(w_of(window), by_hand(steps))
    bar = window.training.bar
    assert bar.isVisible()
    assert bar.count.text() == f"step {steps:,}"
    assert bar.losses.text().startswith("L ")
    assert "SGD with a rate of 1e-05" in bar.text()
    assert not window.actions_by_name["train"].isChecked()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.evaluator.result.values["w.out"].tolist() == w_of(window).tolist()


@pytest.mark.night
def test_the_canvas_follows_while_it_runs_and_the_window_never_waits(window, qtbot):
    seen = []
    window.evaluator.resultChanged.connect(lambda result: seen.append(result.values["w.out"][0]))
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: len(seen) > 5)
    assert window.training.is_playing
    assert window.actions_by_name["train"].isChecked()
    assert len(set(map(float, seen))) > 3
    click_block(qtbot, window, "w")  # while it runs
    assert window.canvas.selection() == {"w"}
    assert window.training.is_playing


@pytest.mark.night
def test_each_frame_shows_values_and_the_result_that_belongs_to_them(window, qtbot):
    training, evaluator, shown = window.training, window.evaluator, []

    def look():
        shown.append((evaluator.result.values["w.out"].tolist(), w_of(window).tolist()))

    window.presenter.resultShown.connect(look)
    look()
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: len({of_document[0] for _, of_document in shown}) > 3)
    assert training.is_playing
    for of_result, of_document in shown:
        assert of_result == of_document


@pytest.mark.night
def test_a_run_is_one_undo_and_going_back_goes_back_in_steps(window, qtbot):
    before = window.document.diagram
    steps = play_until(window, qtbot, 10)
    assert window.document.undo_stack.count() == 1
    after = w_of(window)
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram is before
    qtbot.waitUntil(lambda: window.training.step_shown == 0)
    window.actions_by_name["redo"].trigger()
    qtbot.waitUntil(lambda: window.training.step_shown == steps)
    assert w_of(window) is after
    assert window.document.undo_stack.count() == 1


def test_a_step_by_keyboard(window, qtbot):
    window.canvas.setFocus()
    for step in (1, 2):
        qtbot.keyClick(window.canvas, Qt.Key.Key_F10)
        qtbot.waitUntil(lambda step=step: window.training.step_shown == step)
        qtbot.waitUntil(lambda: not window.training.is_playing)
    np.testing.assert_array_equal(w_of(window), by_hand(2))
    assert window.document.undo_stack.count() == 2
    window.document.undo_stack.undo()
    np.testing.assert_array_equal(w_of(window), by_hand(1))


def test_f7_plays_and_pauses(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: window.training.step_shown > 0)
    qtbot.keyClick(window.canvas, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: not window.training.is_playing)


@pytest.mark.night
def test_the_scale_is_dragged_back_to_any_step(window, qtbot):
    steps = play_until(window, qtbot, 60)
    scale = window.training.bar.scale
    middle = QPoint(scale.width() // 2, scale.height() // 2)
    end = QPoint(scale.width() - 4, scale.height() // 2)
    qtbot.mouseMove(scale, end)
    qtbot.mousePress(scale, LEFT, pos=end)
    qtbot.mouseMove(scale, middle)
    qtbot.mouseRelease(scale, LEFT, pos=middle)
    wanted = scale.value()
    assert 0 < wanted < steps
    qtbot.waitUntil(lambda: window.training.bar.text().startswith("Values, wires and reasons"))
    np.testing.assert_array_equal(w_of(window), by_hand(wanted))
    assert f"step {wanted:,} of {steps:,}" == window.training.bar.count.text()
    assert "states are kept" in scale.toolTip()
    assert window.document.undo_stack.count() == 2
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    np.testing.assert_array_equal(window.evaluator.result.values["w.out"], by_hand(wanted))


@pytest.mark.night
def test_no_button_moves_when_it_is_played_or_paused(window, qtbot):
    bar = window.training.bar
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 5)
    qtbot.wait(900)  # until the panel of curves has its height
    playing = bar.play.mapToGlobal(QPoint(0, 0))
    click(qtbot, bar.play)
    qtbot.waitUntil(lambda: not window.training.is_playing)
    window.training.go(2)
    qtbot.waitUntil(lambda: bar.text().startswith("Values, wires and reasons"))
    assert bar.play.mapToGlobal(QPoint(0, 0)) == playing
    bar.show_text("")
    qtbot.wait(50)
    assert bar.play.mapToGlobal(QPoint(0, 0)) == playing


def test_going_back_shows_the_losses_of_that_step(window, qtbot):
    play_until(window, qtbot, 40)
    training = window.training
    for step in (7, 1):
        training.go(step)
        qtbot.waitUntil(lambda step=step: training.step_shown == step)
        points = training.courses[0].recording.points("L.out")
        assert training.bar.losses.text() == f"L {number(points.mean[step - 1])}"
    training.go(0)
    qtbot.waitUntil(lambda: training.step_shown == 0)
    assert training.bar.losses.text() == ""


@pytest.mark.night
def test_playing_on_from_an_earlier_step_is_another_run(window, qtbot):
    steps = play_until(window, qtbot, 40)
    window.training.bar.scale.setValue(10)
    qtbot.waitUntil(lambda: "step 10 of" in window.training.bar.count.text())
    qtbot.waitUntil(lambda: not window.training.is_playing)
    later = play_until(window, qtbot, 15)
    np.testing.assert_array_equal(w_of(window), by_hand(later))
    first, second = (run.recording for run in window.training.runs.listed)
    assert (first.name, first.step) == ("Run 1", steps)
    assert (second.name, second.step) == ("Run 2 from step 10", later)
    assert second.points("L.out").steps.tolist() == list(range(1, later + 1))


@pytest.mark.night
def test_reset_goes_back_to_the_first_values_as_one_undo(window, qtbot):
    first = w_of(window).tolist()
    play_until(window, qtbot, 10)
    window.actions_by_name["train_reset"].trigger()
    assert w_of(window).tolist() == first
    assert window.training.step_shown == 0
    window.actions_by_name["undo"].trigger()
    assert w_of(window).tolist() != first
    window.actions_by_name["redo"].trigger()
    steps = play_until(window, qtbot, 5)
    np.testing.assert_array_equal(w_of(window), by_hand(steps))
    assert [run.recording.name for run in window.training.runs.listed] == ["Run 1", "Run 2"]


def test_a_slow_pace_is_kept(window, qtbot):
    window.training.bar.pace.setCurrentIndex(0)  # one step a second
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown == 1)
    click(qtbot, window.training.bar.play)
    qtbot.waitUntil(lambda: not window.training.is_playing)
    assert window.training.step_shown <= 2


@pytest.mark.night
def test_numbers_are_edited_while_it_runs(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 5)
    window.edit.change(SetParameters("scale", {"value": 0.0}))
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + 10)
    assert window.training.is_playing
    still = w_of(window).tolist()
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + 10)
    assert w_of(window).tolist() == still  # a loss of 0 moves nothing
    window.edit.change(SetParameters("w", {"value": [7.0, 7.0]}))
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + 10)
    assert w_of(window).tolist() == [7.0, 7.0]
    assert window.document.diagram.main.blocks["scale"].value.array == 0.0


@pytest.mark.night
def test_a_block_is_moved_while_it_runs(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 5)
    window.edit.change(MoveBlocks({"w": Point(12.0, 34.0)}))
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + 10)
    assert window.document.diagram.main.layout["w"] == Point(12.0, 34.0)


@pytest.mark.night
def test_a_structural_edit_pauses_with_a_sentence_and_play_begins_a_new_run(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 5)
    window.edit.change(AddBlock("other", Variable(value=1.0)))
    qtbot.waitUntil(lambda: not window.training.is_playing)
    assert "this edit changes more than numbers" in window.training.bar.text()
    kept = w_of(window).tolist()
    assert kept != [4.0, -3.0]
    play_until(window, qtbot, 3)
    assert [run.recording.name for run in window.training.runs.listed] == ["Run 1", "Run 2"]


def test_an_edit_during_a_pause_is_taken_by_the_next_play(window, qtbot):
    play_until(window, qtbot, 5)
    window.edit.change(SetParameters("w", {"value": [9.0, 9.0]}))
    window.edit.change(AddBlock("other", Variable(value=1.0)))
    click(qtbot, window.training.bar.play)
    qtbot.waitUntil(lambda: len(window.training.runs.listed) == 2)
    qtbot.waitUntil(lambda: window.training.step_shown > 3)
    assert window.training.is_playing


def play_on(window, qtbot, steps=5):
    """Wait until the training that runs has shown some more steps."""
    at = window.training.step_shown
    qtbot.waitUntil(lambda: window.training.step_shown > at + steps)
    assert window.training.is_playing


@pytest.mark.parametrize(
    ("change", "of"),
    [
        (MoveBlocks({"w": Point(12.0, 34.0)}), lambda page: page.layout["w"]),
        (SetParameters("scale", {"value": 2.0}), lambda page: page.blocks["scale"].value),
    ],
)
def test_an_undo_of_what_is_not_trained_keeps_it_going(window, qtbot, change, of):
    click(qtbot, window.toolbar.buttons["train"])
    play_on(window, qtbot)
    before = of(window.document.diagram.main)
    window.edit.change(change)
    after = of(window.document.diagram.main)
    window.actions_by_name["undo"].trigger()
    assert of(window.document.diagram.main) == before
    window.actions_by_name["redo"].trigger()
    assert of(window.document.diagram.main) == after != before
    play_on(window, qtbot)
    assert not window.training.alarm.isVisible()
    assert of(window.document.diagram.main) == after


@pytest.mark.parametrize(
    ("change", "of"),
    [
        (MoveBlocks({"w": Point(12.0, 34.0)}), lambda page: page.layout["w"]),
        (SetParameters("scale", {"value": 2.0}), lambda page: page.blocks["scale"].value),
    ],
)
def test_an_edit_of_a_while_ago_is_undone_and_redone_while_it_goes_on(window, qtbot, change, of):
    click(qtbot, window.toolbar.buttons["train"])
    play_on(window, qtbot)
    before = of(window.document.diagram.main)
    window.edit.change(change)
    after = of(window.document.diagram.main)
    for name, value in (("undo", before), ("redo", after), ("undo", before)):
        play_on(window, qtbot)
        window.actions_by_name[name].trigger()
        assert of(window.document.diagram.main) == value
        play_on(window, qtbot)
        assert of(window.document.diagram.main) == value
    assert not window.training.alarm.isVisible()
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram.main.blocks["w"] == model().main.blocks["w"]


def recipe(rate):
    rule = OptimiserRule(name="all", method=SGDMethod(lr=rate), variables=("*",), losses=("*",))
    return SetTraining(Training(optimisers=(rule,)))


@pytest.mark.parametrize("paused", [False, True])
def test_another_recipe_is_followed_and_its_undo(window, qtbot, paused):
    window.edit.change(recipe(RATE))
    training, train = window.training, window.actions_by_name["train"]

    def pause_and_play(act):
        if paused:
            train.trigger()
            qtbot.waitUntil(lambda: not training.is_playing)
        act()
        if paused:
            train.trigger()

    def moves():
        before = w_of(window).tolist()
        play_on(window, qtbot)
        return w_of(window).tolist() != before

    train.trigger()
    play_on(window, qtbot)
    pause_and_play(lambda: window.edit.change(recipe(0.0)))
    assert any(not moves() for _ in range(50))  # steps that were on their way come first
    assert not moves()

    def undo_recipe():
        now = window.document.diagram.training
        while window.document.diagram.training is now:  # steps are undone first
            window.actions_by_name["undo"].trigger()

    pause_and_play(undo_recipe)
    assert any(moves() for _ in range(50))


def test_an_offer_goes_and_so_does_what_is_said_of_what_is_undone(window, qtbot):
    training, undo = window.training, window.actions_by_name["undo"]
    steps = play_until(window, qtbot, 5)
    click(qtbot, training.bar.play)
    play_on(window, qtbot)
    undo.trigger()
    assert f"step {steps}" in training.alarm.buttons[0].text()
    window.actions_by_name["redo"].trigger()
    assert not training.alarm.isVisible()
    training.reset()
    assert training.bar.text().startswith("At the start.")
    undo.trigger()
    assert training.bar.text() == ""


@pytest.mark.parametrize("edit", [None, "scale", "w"])
def test_an_undo_of_steps_stops_and_offers_to_start_from_the_step_shown(window, qtbot, edit):
    steps = play_until(window, qtbot, 5)
    if edit:
        window.edit.change(SetParameters(edit, {"value": [9.0, 8.0] if edit == "w" else 2.0}))
    click(qtbot, window.training.bar.play)
    play_on(window, qtbot)
    before = window.document.diagram
    window.actions_by_name["undo"].trigger()
    training = window.training
    assert not training.is_playing
    assert "undone" in training.alarm.text() == training.bar.text()
    button = training.alarm.buttons[0]
    assert button.text() == f"&Start again from step {steps}"
    kept = w_of(window).tolist()
    assert kept == ([9.0, 8.0] if edit == "w" else by_hand(steps).tolist())
    click(qtbot, button)  # while the courses are still on their way
    qtbot.waitUntil(lambda: training.step_shown > steps + 5)
    assert training.is_playing
    assert not training.alarm.isVisible()
    click(qtbot, training.bar.play)
    qtbot.waitUntil(lambda: not training.is_playing)
    if edit is None:
        np.testing.assert_array_equal(w_of(window), by_hand(training.step_shown))
    assert window.document.diagram is not before


def test_a_jump_over_a_structural_edit_stops_and_play_trains_what_is_there(window, qtbot):
    window.edit.change(AddBlock("other", Variable(value=1.0)))
    click(qtbot, window.toolbar.buttons["train"])
    play_on(window, qtbot)
    window.document.jump(0)
    training = window.training
    assert not training.is_playing
    assert training.alarm.buttons[0].text() == "&Start again from step 0"
    click(qtbot, training.alarm.buttons[0])
    qtbot.waitUntil(lambda: training.step_shown > 5)
    assert training.is_playing
    click(qtbot, training.bar.play)
    qtbot.waitUntil(lambda: not training.is_playing)
    np.testing.assert_array_equal(w_of(window), by_hand(training.step_shown))


@pytest.mark.parametrize("leave", ["pause", "go", "close"])
@pytest.mark.parametrize("name", ["other", "scale"])
def test_an_edit_just_before_the_training_is_left_is_never_lost(window, qtbot, leave, name):
    click(qtbot, window.toolbar.buttons["train"])
    play_on(window, qtbot)
    training = window.training
    if name == "other":
        window.edit.change(AddBlock("other", Variable(value=1.0)))
    else:
        window.edit.change(SetParameters("scale", {"value": 0.0}))
    training.go(1) if leave == "go" else getattr(training, leave)()
    qtbot.waitUntil(lambda: not training.worker._under_way)
    kept = w_of(window).tolist()
    training.toggle()
    if name == "other":
        qtbot.waitUntil(lambda: len(training.runs.listed) == 2)
    play_on(window, qtbot)
    assert "begin" not in training.bar.text()
    if name == "scale":
        assert w_of(window).tolist() == kept  # a loss of 0 moves nothing


@pytest.mark.night
def test_curves_are_those_of_the_run(window, qtbot):
    steps = play_until(window, qtbot, 30)
    curves = window.training.curves
    assert curves.isVisible()
    (run,) = window.training.runs.listed
    points = run.recording.points("L.out")
    assert points.steps.tolist() == list(range(1, steps + 1))
    assert points.mean[0] == pytest.approx(float(Session(model()).run().values["L.out"]))
    assert {"gradient/w", "update/w", "lr/SGD", "grad_norm/SGD"} <= set(run.recording.names)
    qtbot.waitUntil(lambda: curves.plots is not None)
    qtbot.waitUntil(lambda: curves.chosen == ["L.out"])


@pytest.mark.night
def test_an_alarm_names_the_block_and_a_click_goes_there(opened, qtbot):
    x = b.constant("x", [[1.0], [2.0]])
    hidden = b.relu(b.mul(x, b.variable("w", -2.0)), name="act")
    window = opened(b.build(b.loss(b.mean(b.square(hidden - 1.0)), name="L")))
    qtbot.keyClick(window.canvas, Qt.Key.Key_F7)
    alarm = window.training.alarm
    qtbot.waitUntil(lambda: "first at act" in alarm.text())
    click(qtbot, window.training.bar.play)
    qtbot.waitUntil(lambda: not window.training.is_playing)
    click(qtbot, alarm.buttons[0])
    assert window.canvas.selection() == {"act"}
    assert not alarm.isVisible()


@pytest.mark.night
def test_a_training_that_diverges_stops_and_says_where(opened, qtbot, settings):
    settings.rate = 10.0
    window = opened(b.build(b.loss(b.log(b.variable("w", 1.0), name="log"), name="L")))
    qtbot.keyClick(window.canvas, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: "not finite" in window.training.alarm.text())
    assert not window.training.is_playing
    assert "log" in window.training.alarm.text()


@pytest.mark.night
def test_another_diagram_forgets_the_training(window, qtbot):
    play_until(window, qtbot, 5)
    window.document.new()
    assert window.training.runs.listed == []
    assert not window.training.bar.isVisible()
    assert window.training.courses == ()


@pytest.mark.night
def test_closing_the_bar_pauses(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 2)
    click(qtbot, window.training.bar.leave)
    qtbot.waitUntil(lambda: not window.training.is_playing)
    assert not window.training.bar.isVisible()


def test_a_run_that_is_under_way_ends_with_the_window(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 2)
    process = window.training.worker.process
    assert process.is_alive
    window.document.undo_stack.setClean()
    window.close()
    process.wait()
    assert not process.is_alive


def killed(window, qtbot):
    """Kill the process of the training as a system without memory does; the text about it."""
    os.kill(window.training.worker.process.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: "SIGKILL" in window.training.bar.text())
    assert window.training.bar.text() == window.training.alarm.text()
    assert not window.training.is_playing
    assert window.training.courses == ()
    return window.training.bar.text()


@pytest.mark.night
def test_a_killed_process_loses_nothing_that_was_shown(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 5)
    text = killed(window, qtbot)
    at = window.training.step_shown
    assert text.endswith(
        f"Nothing that is shown is lost: Play goes on from step {at:,}. "
        "The scale leads back to any step from 0 on."
    )
    np.testing.assert_array_equal(w_of(window), by_hand(at))
    assert window.document.undo_stack.count() == 1
    steps = play_until(window, qtbot, at + 5)
    np.testing.assert_array_equal(w_of(window), by_hand(steps))
    first, second = (run.recording for run in window.training.runs.listed)
    assert (first.name, second.name) == ("Run 1", f"Run 2 from step {at:,}")
    assert second.points("L.out").steps.tolist()[-1] == steps
    for step in (at - 2, 1, at + 1, 0):  # the first ones went with the process
        window.training.bar.scale.setValue(step)
        qtbot.waitUntil(lambda step=step: np.array_equal(w_of(window), by_hand(step)))
        assert window.training.step_shown == step
    assert "can't be reached" not in window.training.bar.scale.toolTip()


@pytest.mark.night
def test_a_process_killed_during_a_pause_is_told_and_the_scale_still_works(window, qtbot):
    steps = play_until(window, qtbot, 10)
    assert f"goes on from step {steps:,}." in killed(window, qtbot)
    window.training.bar.scale.setValue(3)
    qtbot.waitUntil(lambda: window.training.courses != ())
    qtbot.waitUntil(lambda: np.array_equal(w_of(window), by_hand(3)))


@pytest.mark.night
def test_after_an_edit_of_numbers_a_killed_process_leads_back_to_the_edit(window, qtbot):
    steps = play_until(window, qtbot, 10)
    window.edit.change(SetParameters("w", {"value": [7.0, 7.0]}))
    last = play_until(window, qtbot, steps + 5)
    text = killed(window, qtbot)
    first = int(text.rpartition("any step from ")[2].removesuffix(" on.").replace(",", ""))
    assert steps < first < last
    window.training.bar.scale.setValue(1)
    qtbot.waitUntil(lambda: window.training.step_shown == first)
    assert f"Steps before {first:,} can't be reached" in window.training.bar.scale.toolTip()


@pytest.mark.night
def test_after_an_edit_a_killed_process_begins_a_new_run(window, qtbot):
    play_until(window, qtbot, 10)
    window.edit.change(SetParameters("w", {"value": [7.0, 7.0]}))
    assert killed(window, qtbot).endswith("Play begins a new run.")
    play_until(window, qtbot, 3)
    assert [run.recording.name for run in window.training.runs.listed] == ["Run 1", "Run 2"]


@pytest.mark.night
def test_a_process_is_ready_before_a_diagram_with_a_recipe_is_played(opened, qtbot, monkeypatch):
    prepared = []
    monkeypatch.setattr(PROCESSES, "prepare", lambda: prepared.append(True))
    opened(replace(model(), training=Training(optimisers=(OptimiserRule(name="SGD"),))))
    qtbot.waitUntil(lambda: prepared == [True])


@pytest.mark.night
def test_cancel_ends_the_training(window, qtbot):
    click(qtbot, window.toolbar.buttons["train"])
    qtbot.waitUntil(lambda: window.training.step_shown > 2)
    process = window.training.worker.process
    window.actions_by_name["cancel"].trigger()
    assert not window.training.is_playing
    process.wait()
    at = window.training.step_shown
    assert window.training.bar.text() == (
        f"The training was cancelled. Nothing that is shown is lost: Play goes on from step {at:,}."
        " The scale leads back to any step from 0 on."
    )
    qtbot.keyClick(window.canvas, Qt.Key.Key_F7)
    qtbot.waitUntil(lambda: window.training.step_shown > 2)
