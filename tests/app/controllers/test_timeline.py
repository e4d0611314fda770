"""The timeline in the window: what is known when, keys, the mouse, breakpoints, and leaving it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QInputDialog

from gradwire.runtime.build import (
    build,
    loss,
    mean_squared_error,
    mul,
    square,
    stop_gradient,
    variable,
)
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.lessons.breakpoints import NotFinite
from tests.app.mouse import click_block

SHIFT = Qt.KeyboardModifier.ShiftModifier
PRODUCT, SUB = 11, 10
"""Positions of the backward events of the product and of the difference."""


@pytest.fixture
def window(opened, qtbot):
    w, x = variable("w", 3.0), variable("x", 2.0)
    window = opened(build(loss(square(mul(w, x, name="product") - 4.0), name="L")))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window.canvas, Qt.Key.Key_F8)
    qtbot.waitUntil(lambda: "Nothing is computed yet" in window.lazy.timeline.bar.text())
    return window


def known(window):
    result = window.canvas.view.annotations.page.result
    return set(result.values), {w for w, a in result.contributions.items() if a is not None}


def test_at_the_start_nothing_is_known(window):
    assert window.lazy.timeline.bar.isVisible()
    assert window.lazy.timeline.position == 0
    assert known(window) == (set(), set())
    assert window.actions_by_name["timeline"].isChecked()


def test_arrows_step_and_the_sentence_follows(window, qtbot):
    for _ in range(3):
        qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert window.lazy.timeline.bar.text() == "product: a = 3 and b = 2 give 6."
    assert known(window)[0] == {"w.out", "x.out", "product.out"}
    qtbot.keyClick(window.canvas, Qt.Key.Key_Left)
    assert known(window)[0] == {"w.out", "x.out"}


def test_backward_shows_incoming_times_local(window):
    window.lazy.timeline.go(PRODUCT)
    assert (
        window.lazy.timeline.bar.text()
        == "4 arrives at product. w gets 4 × 2 = 8. x gets 4 × 3 = 12."
    )
    marks = window.canvas.trial_marks()
    assert (marks.current, marks.changes) == ("product", {"product": "4 × 2 = 8,  4 × 3 = 12"})
    assert {"product.a", "product.b"} <= known(window)[1]
    window.lazy.timeline.go(SUB)
    assert not {"product.a", "product.b"} & known(window)[1]


def test_gradients_of_variables_are_unknown_until_they_have_arrived(window):
    page = window.canvas.view.annotations.page
    assert not page.knows_gradient("w")
    window.lazy.timeline.go(10**6)
    assert window.canvas.view.annotations.page.knows_gradient("w")


def test_home_end_and_the_ends_hold(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_End)
    last = window.lazy.timeline.position
    assert last == window.lazy.timeline.bar.scale.maximum()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert window.lazy.timeline.position == last
    qtbot.keyClick(window.canvas, Qt.Key.Key_Home)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Left)
    assert window.lazy.timeline.position == 0


def test_shift_and_an_arrow_go_to_events_of_the_selection(window, qtbot):
    window.canvas.select({"product"})
    found = []
    for _ in range(3):
        qtbot.keyClick(window.canvas, Qt.Key.Key_Right, SHIFT)
        found.append(window.lazy.timeline.position)
    assert found == [3, PRODUCT, PRODUCT]
    qtbot.keyClick(window.canvas, Qt.Key.Key_Left, SHIFT)
    assert window.lazy.timeline.position == 3


def test_space_plays_to_the_end_and_pauses(window, qtbot):
    window.lazy.timeline.bar.speed.setCurrentIndex(4)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Space)
    assert window.lazy.timeline.is_playing
    qtbot.waitUntil(lambda: window.lazy.timeline.position > 1)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Space)
    assert not window.lazy.timeline.is_playing
    window.lazy.timeline.go(window.lazy.timeline.bar.scale.maximum() - 1)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not window.lazy.timeline.is_playing)
    assert window.lazy.timeline.position == window.lazy.timeline.bar.scale.maximum()


def test_the_scale_is_dragged(window, qtbot):
    scale = window.lazy.timeline.bar.scale
    qtbot.mousePress(scale, Qt.MouseButton.LeftButton, pos=QPoint(2, 8))
    qtbot.mouseMove(scale, QPoint(scale.width() // 2, 8))
    qtbot.mouseRelease(scale, Qt.MouseButton.LeftButton, pos=QPoint(scale.width() - 2, 8))
    qtbot.mouseClick(scale, Qt.MouseButton.LeftButton, pos=QPoint(scale.width() - 2, 8))
    assert window.lazy.timeline.position == scale.maximum()


def test_run_until(window, monkeypatch, qtbot):
    window.canvas.select({"w"})
    window.lazy.timeline.bar.reachedRequested.emit()
    qtbot.waitUntil(lambda: window.lazy.timeline.bar.text() == "8 arrives at w.")
    window.lazy.timeline.go(0)
    monkeypatch.setattr(QInputDialog, "getDouble", lambda *_: (4.0, True))
    window.lazy.timeline.bar.exceededRequested.emit()
    qtbot.waitUntil(lambda: window.lazy.timeline.position == PRODUCT)
    text = window.lazy.timeline.bar.text()
    window.lazy.timeline.bar.notFiniteRequested.emit()
    assert window.lazy.timeline.bar.text() == "Searching …"
    qtbot.waitUntil(lambda: window.lazy.timeline.bar.text() == text)
    assert window.lazy.timeline.position == PRODUCT  # everything is finite


def test_no_card_gives_away_what_is_to_come(window, qtbot):
    click_block(qtbot, window, "w")
    assert not window.card.isVisible()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not window.lazy.timeline.bar.isVisible()
    assert window.card.isVisible()
    assert "8" in window.card.sentence.text()


def test_going_on_gives_up_a_search(window, qtbot):
    window.lazy.timeline.run_until(NotFinite())
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert not window.lazy.timeline.worker.is_pending("search")
    assert window.lazy.timeline.bar.text() == "w is 3."


def test_down_goes_into_the_blocks_and_up_out_of_them(opened, qtbot):
    error = mean_squared_error(variable("x", 5.0), 3.0, name="error")
    window = opened(build(loss(error, name="L")))
    qtbot.keyClick(window.canvas, Qt.Key.Key_F8)
    timeline, bar = window.lazy.timeline, window.lazy.timeline.bar
    qtbot.waitUntil(lambda: "Nothing is computed yet" in bar.text())
    for _ in range(2):
        qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert bar.text() == "error: prediction = 5 and target = 3 give 4."
    length = bar.scale.maximum()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Down)
    first = "error: t₁ = prediction − target = 5 − 3 = 2."
    qtbot.waitUntil(lambda: bar.text() == first)
    assert bar.detail.currentText() == "By primitive"
    assert bar.scale.maximum() == length + 2
    assert known(window)[0] == {"x.out"}
    assert window.canvas.trial_marks().changes == {"error": "t₁ = 2"}
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert known(window)[0] == {"x.out", "error.out"}
    window.canvas.select({"error"})
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right, SHIFT)
    assert bar.text() == "error, out = t₁²: g = 1 arrives. t₁ gets g × 2 × t₁ = 1 × 2 × 2 = 4."
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right)
    assert window.canvas.trial_marks().changes == {"error": "prediction: 4"}
    qtbot.keyClick(window.canvas, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: bar.text() == "1 arrives at error. x gets 1 × 4 = 4.")
    assert bar.scale.maximum() == length
    assert timeline.position == timeline.bar.scale.value()


def test_new_numbers_are_recorded_in_the_same_steps(opened, qtbot):
    error = mean_squared_error(variable("x", 5.0), 3.0, name="error")
    window = opened(build(loss(error, name="L")))
    window.actions_by_name["timeline"].trigger()
    window.lazy.timeline.bar.detail.setCurrentIndex(1)  # while it is being recorded
    qtbot.waitUntil(lambda: "Nothing is computed yet" in window.lazy.timeline.bar.text())
    window.lazy.timeline.go(2)
    window.document.apply(SetParameters("x", {"value": 6.0}))
    wanted = "error: t₁ = prediction − target = 6 − 3 = 3."
    qtbot.waitUntil(lambda: window.lazy.timeline.bar.text() == wanted)


def test_a_new_number_is_recorded_and_the_position_stays(window, qtbot):
    window.lazy.timeline.go(PRODUCT)
    window.document.apply(SetParameters("x", {"value": 5.0}))
    qtbot.waitUntil(lambda: "22 arrives at product" in window.lazy.timeline.bar.text())
    assert window.lazy.timeline.position == PRODUCT


def test_leaving_restores_everything(window, qtbot):
    window.lazy.timeline.go(3)
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not window.lazy.timeline.bar.isVisible()
    assert not window.actions_by_name["timeline"].isChecked()
    assert window.canvas.trial_marks() is None
    assert len(known(window)[0]) == 6
    qtbot.keyClick(window.canvas, Qt.Key.Key_Right)  # an ordinary key again
    assert window.lazy.timeline.position == 3


def test_a_trial_ends_the_timeline(window, qtbot):
    window.trial.cut("product.a")
    qtbot.waitUntil(lambda: not window.lazy.timeline.bar.isVisible())
    assert window.trial.active


def test_a_stop_throws_away_and_a_variable_stays_none(opened, qtbot):
    a, b = variable("a", 2.0), variable("b", 7.0)
    window = opened(build(loss(stop_gradient(3.0 * b, name="stop") * a, name="L")))
    window.actions_by_name["timeline"].trigger()
    qtbot.waitUntil(lambda: window.lazy.timeline.bar.text().startswith("Nothing is computed yet"))
    window.canvas.select({"stop"})
    window.lazy.timeline.bar.reachedRequested.emit()
    qtbot.waitUntil(lambda: "It is thrown away" in window.lazy.timeline.bar.text())
    assert window.canvas.trial_marks().changes == {"stop": "⊣ 2"}
    window.lazy.timeline.go(10**6)
    assert window.lazy.timeline.bar.text() == "b keeps 7: its gradient is None, so SGD skips it."


def test_what_cannot_be_recorded_says_why(opened, qtbot, monkeypatch):
    window = opened(build(loss(variable("a", 2.0), name="L")))

    def fail(*_, **__):
        raise MemoryError("no room")

    monkeypatch.setattr("gradwire.app.controllers.timeline.record", fail)
    window.actions_by_name["timeline"].trigger()
    qtbot.waitUntil(lambda: not window.lazy.timeline.bar.isVisible())
    assert "The timeline can't be recorded" in window.notice.text()
    assert not window.actions_by_name["timeline"].isChecked()


@pytest.mark.night
def test_a_presentation_has_its_keys_first(window, qtbot):
    window.presentation.begin()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert not window.presentation.active
    assert window.lazy.timeline.is_on


def test_the_buttons_of_bars_that_play_have_icons(window):
    for bar in (window.lazy.timeline.bar, window.training.bar):
        assert bar.icons and not any(button.icon().isNull() for button in bar.icons)
