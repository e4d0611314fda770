"""A lesson with real events: every kind of step, hints, undo within a step, and leaving."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog

from gradwire.app.canvas.state.marks import GuessStage
from gradwire.app.panels.lessons.player import StepDot
from gradwire.runtime.diagram import Connect, PortName, RemoveBlocks, SetParameters, save
from gradwire.runtime.flow import State
from gradwire.runtime.lessons.answers import read_sheet
from tests.runtime.lessons.lessons import taught

LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key
SHOW, PREDICT, PAINT, CHANGE, BUILD, CHECK = range(6)


@pytest.fixture
def window(window, qtbot, tmp_path):
    window.settings.reduced_motion = True
    path = tmp_path / "lesson.gradwire.json"
    save(taught(), path)
    assert window.windows.start_lesson(path, window)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    shown(window, qtbot)
    return window


def shown(window, qtbot):
    """Wait for the numbers of the step."""
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.lazy.player.worker.is_pending("goals"))


def press(window, qtbot, button):
    qtbot.mouseClick(getattr(window.lazy.player.panel, button), LEFT)
    shown(window, qtbot)


def go(window, qtbot, step):
    for _ in range(step):
        press(window, qtbot, "next")
    assert window.lazy.player.walk.index == step


def result(window):
    return window.canvas.view.annotations.page.result


def test_a_step_shows_text_and_lights_a_part(window, qtbot):
    panel = window.lazy.player.panel
    assert "The product is 6. {Braces}} stay." in panel.text.text()
    assert set(window.canvas.view.route.numbers) == {"mul1"}
    assert panel.dots.dots == (StepDot.OPEN,) * 6
    assert not panel.back.isEnabled()
    assert result(window).hidden == {"values", "gradients", "states"}
    assert panel.isVisible() and panel.dots.accessibleName() == "Step 1 of 6"


def test_a_wrong_number_gets_the_feedback_of_the_lesson(window, qtbot):
    go(window, qtbot, PREDICT)
    panel = window.lazy.player.panel
    assert result(window).hidden == {"gradients", "states"}
    qtbot.keyClicks(panel.form.fields["w"], "3")
    assert window.canvas.guess_marks().blocks["w"].text == "∇ 3"
    qtbot.keyClick(panel.form.fields["w"], Key.Key_Return)
    assert panel.outcomes.text() == "✗ ∂L/∂w: yours 3, actual 2. its own value. No: x is 2."
    assert "It is 2." in panel.after.text()
    assert panel.dots.dots[PREDICT] is StepDot.WRONG
    assert not panel.form.isVisible()  # once
    assert result(window).hidden == {"states"}  # revealed at its end
    assert window.canvas.guess_marks().place == "mul1"


def test_what_is_no_answer_is_not_taken(window, qtbot):
    go(window, qtbot, PREDICT)
    panel = window.lazy.player.panel
    qtbot.keyClicks(panel.form.fields["w"], "many")
    qtbot.mouseClick(panel.form.commit, LEFT)
    assert "no answer" in panel.problem.text()
    assert panel.form.isVisible()


def test_hints_come_one_by_one_and_are_counted(window, qtbot):
    go(window, qtbot, PREDICT)
    panel = window.lazy.player.panel
    for text in ("Look at mul1.", "The other factor is 2.", "So it is that."):
        press(window, qtbot, "hint")
        assert text in panel.hints.text()
    assert not panel.hint.isEnabled()
    assert window.lazy.player.walk.hints_taken == 3


def test_states_are_painted(window, qtbot):
    go(window, qtbot, PAINT)
    canvas, panel = window.canvas, window.lazy.player.panel
    assert [b.text() for b in panel.form.brushes.buttons][2] == "3  Stopped"
    assert set(canvas.guess_marks().wires) == {"mul1.a", "mul1.b"}
    qtbot.mouseClick(canvas, LEFT, pos=canvas.wire_position("mul1.a"))
    canvas.setFocus()
    qtbot.keyClick(canvas, Key.Key_Tab)
    qtbot.keyClick(canvas, Key.Key_3)
    assert result(window).states == {"mul1.a": State.CARRIES, "mul1.b": State.STOPPED}
    qtbot.mouseClick(panel.form.commit, LEFT)
    assert panel.outcomes.text().startswith("✓ Your answer")
    assert canvas.guess_marks().wires["mul1.a"].stage is GuessStage.RIGHT


def test_a_change_is_found_right_as_soon_as_it_is(window, qtbot):
    go(window, qtbot, CHANGE)
    panel = window.lazy.player.panel
    qtbot.waitUntil(lambda: panel.goals.text().count("○") == 2)
    window.document.apply(SetParameters("sg", {"open": True}))
    qtbot.waitUntil(lambda: panel.goals.text().count("✓") == 1)
    assert not window.lazy.player.walk.is_done
    window.document.apply(SetParameters("x", {"value": 10.0}))
    qtbot.waitUntil(lambda: window.lazy.player.walk.is_done)
    assert panel.dots.dots[CHANGE] is StepDot.RIGHT
    assert panel.next.text() == "&Next"


def test_another_change_than_the_step_allows_is_refused(window, qtbot):
    go(window, qtbot, CHANGE)
    window.document.apply(SetParameters("sg", {"open": True}))
    window.document.apply(SetParameters("w", {"value": 4.0}))
    window.document.apply(SetParameters("x", {"value": 10.0}))
    shown(window, qtbot)
    qtbot.waitUntil(lambda: "w is not to be changed" in window.lazy.player.panel.problem.text())
    assert not window.lazy.player.walk.is_done


def test_undo_stays_within_the_step(window, qtbot):
    go(window, qtbot, CHANGE)
    before = window.document.diagram
    window.document.apply(SetParameters("x", {"value": 9.0}))
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram == before
    assert not window.actions_by_name["undo"].isEnabled()


@pytest.mark.night
def test_something_is_built(window, qtbot):
    go(window, qtbot, BUILD)
    qtbot.waitUntil(lambda: window.lazy.player.panel.goals.text() != "")
    window.document.apply(RemoveBlocks(("sg",)))
    window.document.apply(Connect(PortName("x", "out"), PortName("mul1", "b")))
    shown(window, qtbot)
    assert not window.lazy.player.walk.is_done
    window.canvas.select_wire("mul1.a")
    window.actions_by_name["stop_wire"].trigger()
    qtbot.waitUntil(lambda: window.lazy.player.walk.is_done)


def test_the_transfer_question(window, qtbot):
    go(window, qtbot, CHECK)
    panel = window.lazy.player.panel
    assert [button.accessibleName() for button in panel.options.buttons] == [
        "The value 6.", "The gradient.",
    ]  # fmt: skip
    assert not panel.options.commit.isEnabled()
    assert result(window).hidden >= {"gradients", "states"}  # they would give the answer
    assert not result(window).gradients and not window.canvas.view.annotations.total.codes.any()
    qtbot.mouseClick(panel.options.buttons[0], LEFT)
    qtbot.mouseClick(panel.options.commit, LEFT)
    qtbot.waitUntil(lambda: "gradients" not in result(window).hidden)
    assert "w" in result(window).gradients
    assert panel.outcomes.isVisible()
    assert panel.next.text() == "&Finish"
    assert "of 20 points" in panel.after.text()  # skipped steps count


def test_steps_that_only_ask_keep_the_diagram(window, qtbot):
    go(window, qtbot, PREDICT)
    before = window.document.diagram
    window.document.apply(SetParameters("x", {"value": 9.0}))
    qtbot.waitUntil(lambda: window.document.diagram == before)


def test_going_back_shows_the_answer(window, qtbot):
    go(window, qtbot, PREDICT)
    panel = window.lazy.player.panel
    qtbot.keyClicks(panel.form.fields["w"], "2")
    qtbot.mouseClick(panel.form.commit, LEFT)
    press(window, qtbot, "next")
    press(window, qtbot, "back")
    assert panel.outcomes.text().startswith("✓ ∂L/∂w: yours 2")
    assert not panel.form.isVisible()


def test_the_answers_are_saved(window, qtbot, tmp_path, monkeypatch):
    go(window, qtbot, PREDICT)
    panel = window.lazy.player.panel
    qtbot.keyClicks(panel.form.fields["w"], "2")
    qtbot.mouseClick(panel.form.commit, LEFT)
    path = tmp_path / "ada.json"
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: ("Ada", True))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    qtbot.mouseClick(panel.save, LEFT)
    sheet = read_sheet(path)
    assert (sheet.learner, sheet.answers[2].text, sheet.answers[2].confidence) == ("Ada", "2", 70)
    assert "actual" not in json.loads(path.read_text())["steps"][0]
    assert window.settings.learner == "Ada"


def test_leaving_gives_the_start_page_back(window, qtbot):
    go(window, qtbot, CHANGE)
    window.document.apply(SetParameters("x", {"value": 9.0}))
    press(window, qtbot, "end")
    assert window.document.is_untouched
    assert not window.curtain.hidden and window.canvas.guess_marks() is None
    assert window.actions_by_name["predict"].isEnabled()


def test_a_file_with_a_lesson_offers_it_and_stays_as_it_is(opened, qtbot, tmp_path):
    window = opened(taught())
    before = (tmp_path / "diagram.gradwire.json").read_bytes()
    assert "has a lesson, 5 minutes" in window.lesson_offer.text()
    assert {"gradients", "states"} <= window.curtain.hidden
    assert window.canvas.view.annotations.page.gradient("w") is None
    qtbot.mouseClick(window.lesson_offer.buttons[0], LEFT)
    assert {"gradients", "states"} <= window.curtain.hidden, "behind the window of the lesson"
    other = window.windows.listed[-1]
    assert other is not window and other.lazy.player.is_on
    assert not window.lazy.player.is_on
    shown(other, qtbot)
    go(other, qtbot, CHANGE)
    other.document.apply(SetParameters("x", {"value": 9.0}))
    assert other.document.is_clean and other.document.path is None
    qtbot.mouseClick(other.lazy.player.panel.end, LEFT)
    assert window.windows.listed == (window,)
    assert (tmp_path / "diagram.gradwire.json").read_bytes() == before


def test_a_declined_lesson_hides_nothing(opened, qtbot, tmp_path):
    window = opened(taught())
    qtbot.mouseClick(window.lesson_offer.buttons[1], LEFT)
    assert not window.curtain.hidden and not window.lesson_offer.text()
    window.lessons.offer()
    assert window.curtain.is_drawn
    other = tmp_path / "other.gradwire.json"
    save(replace(taught(), lesson=None), other)
    window.document.open(other)
    assert not window.curtain.hidden and not window.lesson_offer.text()


def test_the_keyboard_alone_is_enough(window, qtbot):
    panel = window.lazy.player.panel
    assert panel.next.hasFocus()
    qtbot.keyClick(panel.next, Key.Key_Space)
    shown(window, qtbot)
    assert window.lazy.player.walk.index == PREDICT
    field = panel.form.fields["w"]
    assert field.hasFocus()
    qtbot.keyClicks(field, "2")
    qtbot.keyClick(field, Key.Key_Return)
    assert panel.next.hasFocus()
    qtbot.keyClick(panel.next, Key.Key_Space)
    shown(window, qtbot)
    assert window.lazy.player.walk.index == PAINT


def test_an_edit_in_another_step_does_not_change_the_question(window, qtbot):
    assert not window.actions_by_name["predict"].isEnabled()
    go(window, qtbot, PREDICT)
    assert window.lazy.player.walk.diagram == window.document.diagram


@pytest.mark.night
def test_a_lesson_is_presented_and_shows_its_answers_on_request(window, qtbot):
    window.canvas.setFocus()
    window.presentation.begin()
    panel = window.lazy.player.panel
    assert panel.isVisible()
    qtbot.keyClick(window.canvas, Key.Key_PageDown)
    shown(window, qtbot)
    assert window.lazy.player.walk.index == PREDICT
    assert not panel.after.isVisible()
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Key.Key_A)
    assert "<b>2</b>" in panel.after.text() and "It is 2." in panel.after.text()
    assert not window.lazy.player.walk.is_done  # nothing was answered
    for step, right in ((PAINT, "mul1.a: Carries gradient"), (CHANGE, "10"), (BUILD, "blocked")):
        qtbot.keyClick(window.canvas, Key.Key_PageDown)
        shown(window, qtbot)
        window.canvas.setFocus()
        qtbot.keyClick(window.canvas, Key.Key_A)
        assert window.lazy.player.walk.index == step and right in panel.after.text()
    qtbot.keyClick(window.canvas, Key.Key_PageUp)
    assert window.lazy.player.walk.index == CHANGE
    window.presentation.end()


def test_a_presented_lesson_fits_a_small_screen(window, qtbot):
    """The whole diagram beside the panel, also above the bar of the timeline."""
    window.lazy.timeline.bar.show()  # as when a step of a lesson plays
    window.presentation.begin()
    window.showNormal()  # the screen of the tests is smaller than any projector
    window.resize(1280, 720)
    qtbot.wait(50)
    canvas, panel = window.canvas, window.lazy.player.panel
    corner = panel.mapTo(window, panel.rect().bottomRight())
    assert window.width() == 1280 and corner.x() < 1280 and corner.y() < 720
    left, top, right, bottom = canvas.view.scene.bounds()
    shown = canvas.view.camera.to_widget(np.array([[left, top], [right, bottom]]))
    assert (shown >= 0.0).all() and (shown <= [canvas.width(), canvas.height()]).all()
    window.presentation.end()


@pytest.mark.night
def test_brushes_and_text_fit_the_panel_in_the_large_type_of_a_presentation(window, qtbot):
    go(window, qtbot, PAINT)
    qtbot.keyClick(window.canvas, Key.Key_F11)
    window.resize(1280, 720)
    qtbot.waitUntil(lambda: window.width() == 1280)
    panel = window.lazy.player.panel
    try:
        buttons = panel.form.brushes.buttons
        qtbot.waitUntil(lambda: buttons[0].isVisible())
        for button in buttons:
            words = button.fontMetrics().horizontalAdvance(button.text())
            assert words + button.iconSize().width() < button.width()
            assert button.iconSize().width() > 30
            right = button.mapTo(panel, button.rect().bottomRight()).x()
            assert right <= panel.width()
    finally:
        window.presentation.end()
