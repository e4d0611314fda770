"""The tour, taken with real events: each step ends when it has really been done."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.controllers.tour import DIAGRAM, STEPS
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.why.why import Repair
from gradwire.runtime.diagram import AddBlock, Connect, PortName, apply, load
from tests.app.mouse import LEFT, click_block, wire
from tests.runtime.diagram.drawing import make

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    return window


@pytest.fixture
def tour(qtbot, window):
    """The window in which the tour has begun, from the start page."""
    assert window.welcome.isVisible()
    qtbot.mouseClick(window.welcome.tour, LEFT)
    settle(qtbot, window)
    window.canvas.zoom_to_fit()
    return window


def settle(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluator.busy)


def title(window):
    return window.tour_bar.title.text()


def click_wire(qtbot, window, key):
    """Click the middle of a wire."""
    canvas, scene = window.canvas, window.canvas.view.scene
    ends = scene.wire_ends[scene.wire_index[key]].reshape(2, 2)
    x, y = canvas.view.camera.to_widget(ends.mean(axis=0)).tolist()
    at = QPoint(round(x), round(y))
    qtbot.mouseMove(canvas, at)
    qtbot.mouseClick(canvas, LEFT, pos=at)
    assert canvas.selected_wire() == key


def click_card(qtbot, window, name):
    button = getattr(window.card, name)
    qtbot.waitUntil(button.isVisible)
    qtbot.mouseClick(button, LEFT)


def applies(window):
    """The buttons that apply the repair: on the card, if there is room in view, and in Why."""
    buttons = [repair.apply_button for repair in window.why.findChildren(Repair)]
    return [button for button in (window.card.apply_button, *buttons) if button.isVisible()]


@pytest.mark.night
def test_it_is_taken_by_hand_from_the_start_page_to_its_end(qtbot, tour):
    window, canvas = tour, tour.canvas
    assert title(window) == "Draw a wire"
    assert window.tour_bar.place.text() == "1 of 6"
    assert not window.tour_bar.back.isEnabled()

    wire(qtbot, window, "b.out", "scaled.b")  # another wire than the one that is asked for
    settle(qtbot, window)
    assert title(window) == "Draw a wire"
    QTest.keyClick(canvas, Qt.Key.Key_Z, CONTROL)
    settle(qtbot, window)
    wire(qtbot, window, "b.out", "prediction.b")
    qtbot.waitUntil(lambda: title(window) == "Stop a gradient")
    settle(qtbot, window)

    click_wire(qtbot, window, "prediction.a")
    QTest.keyClick(canvas, Qt.Key.Key_I, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: title(window) == "Ask why")
    assert window.evaluator.result.gradients["w"] is None

    click_block(qtbot, window, "w")
    qtbot.waitUntil(lambda: window.card.subject == "w")
    assert title(window) == "Ask why"  # the card is there, but nobody has asked for more
    click_card(qtbot, window, "more")
    assert title(window) == "Ask what if"
    assert window.why.isVisible()

    before = window.document.diagram
    click_card(qtbot, window, "try_button")
    qtbot.waitUntil(lambda: title(window) == "See the Doctor")
    assert window.document.diagram is before

    window.docks.by_name["doctor"].hide()
    qtbot.mouseClick(window.trial.bar.discard_button, LEFT)
    assert not window.trial.active
    assert title(window) == "See the Doctor"
    QTest.keyClick(canvas, Qt.Key.Key_D, CONTROL | SHIFT)
    qtbot.waitUntil(lambda: title(window) == "Apply the repair")

    panel = window.doctor.panel
    qtbot.waitUntil(lambda: len(panel.causes) > 0)
    first = panel.model().index(0, 0)
    qtbot.waitUntil(lambda: panel.viewport().rect().contains(panel.visualRect(first).center()))
    qtbot.mouseClick(panel.viewport(), LEFT, pos=panel.visualRect(first).center())
    qtbot.waitUntil(lambda: len(applies(window)) > 0)
    qtbot.mouseClick(applies(window)[0], LEFT)
    qtbot.waitUntil(lambda: title(window) == "That was the tour")
    assert window.evaluator.result.gradients["w"] is not None
    assert window.settings.tour_taken

    qtbot.mouseClick(window.tour_bar.end, LEFT)
    assert window.tour_bar.isHidden()
    assert not window.tour.is_under_way


def test_skip_does_each_step_and_the_tour_still_fits(qtbot, tour):
    window = tour
    for number, step in enumerate(STEPS):
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert title(window) == step.title, number
        qtbot.mouseClick(window.tour_bar.next, LEFT)
    qtbot.waitUntil(lambda: title(window) == "That was the tour")
    settle(qtbot, window)
    assert window.evaluator.result.gradients["w"] is not None
    while window.document.undo_stack.canUndo():
        window.actions_by_name["undo"].trigger()
    assert window.document.diagram == load(DIAGRAM)


def test_back_shows_what_was_done_and_next_goes_on(qtbot, tour):
    window, bar = tour, tour.tour_bar
    wire(qtbot, window, "b.out", "prediction.b")
    qtbot.waitUntil(lambda: title(window) == "Stop a gradient")
    qtbot.mouseClick(bar.back, LEFT)
    assert title(window) == "Draw a wire"
    assert bar.next.text() == "&Next"
    settle(qtbot, window)
    assert title(window) == "Draw a wire", "what was done before does not push the user on"
    qtbot.mouseClick(bar.next, LEFT)
    assert title(window) == "Stop a gradient"
    assert bar.next.text() == "&Skip"
    assert window.document.undo_stack.count() == 1, "nothing was done for the user"


def test_keys_alone_lead_through_and_end_it(qtbot, tour):
    window, bar = tour, tour.tour_bar
    for _ in range(30):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6)
        if bar.isAncestorOf(QApplication.focusWidget()):
            break
    assert bar.isAncestorOf(QApplication.focusWidget())
    bar.next.setFocus()
    QTest.keyClick(bar.next, Qt.Key.Key_Space)
    assert title(window) == "Stop a gradient"
    QTest.keyClick(bar.next, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is bar.end
    QTest.keyClick(bar.end, Qt.Key.Key_Space)
    assert bar.isHidden()
    assert QApplication.focusWidget() is window.canvas
    assert not window.settings.tour_taken


def test_each_step_is_announced_in_plain_words(qtbot, window, monkeypatch):
    said = []
    monkeypatch.setattr(
        QAccessible,
        "updateAccessibility",
        lambda event: said.append(getattr(event, "message", str)()),
    )
    window.actions_by_name["tour"].trigger()
    assert any(text.startswith("Draw a wire. This diagram fits a line: w · x + b") for text in said)
    assert not any("<b>" in text for text in said)
    assert "Ctrl+Shift+I" in window.tour._filled(STEPS[1].text)


def test_a_diagram_of_the_user_stays_as_it_is(qtbot, window):
    window.document.apply(AddBlock("mine", make("Variable")))
    diagram = window.document.diagram
    window.actions_by_name["tour"].trigger()
    (other,) = [each for each in window.windows.listed if each is not window]
    assert window.document.diagram is diagram
    assert not window.tour.is_under_way
    assert other.tour.is_under_way


def test_another_diagram_ends_it(qtbot, tour):
    tour.document.new()
    assert not tour.tour.is_under_way
    assert tour.tour_bar.isHidden()


def test_the_start_page_remembers_that_it_was_taken(qtbot, window):
    window.settings.tour_taken = True
    window.welcome.show_recent([], tour_taken=window.settings.tour_taken)
    assert window.welcome.tour.text() == "Take the tour again"


def test_its_diagram_lacks_but_one_wire():
    diagram = load(DIAGRAM)
    assert {d.location.block for d in evaluate(diagram).diagnostics} == {"prediction"}
    whole = apply(diagram, Connect(PortName("b", "out"), PortName("prediction", "b"))).after
    result = evaluate(whole)
    assert result.diagnostics == ()
    assert result.gradients["w"] is not None
    assert result.gradients["b"] is not None
