"""The card: the verdict beside the selected wire or variable, its place, its buttons and keys."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QCursor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from gradwire.app.controllers import explanation
from gradwire.app.panels.why.card import place_beside
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.build import build, loss, relu, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.flow import State
from tests.app.mouse import LEFT, click_block

Key = Qt.Key


def stopped():
    """loss(sg(3·relu(w)) + v): w gets no gradient, and v does."""
    w, v = variable("w", [2.0]), variable("v", [1.0])
    body = relu(w, name="gate") * 3.0
    return build(loss(stop_gradient(body, name="sg") + v, name="loss"), title="Stopped")


@pytest.fixture
def window(opened, qtbot):
    made = opened(stopped())
    QCursor.setPos(made.mapToGlobal(QPoint(5, 5)))
    qtbot.waitUntil(made.isActiveWindow)
    return made


def click_wire(qtbot, window, key):
    at = window.canvas.wire_position(key)
    qtbot.mouseMove(window.canvas, at)
    qtbot.mouseClick(window.canvas, LEFT, pos=at)


def shown(qtbot, window):
    """The card once it is there, with the answers of the background."""
    qtbot.waitUntil(window.card.isVisible)
    qtbot.waitUntil(lambda: not window.explanation.worker.is_pending("why"))
    return window.card


def box(window, key):
    scene, camera = window.canvas.view.scene, window.canvas.view.camera
    left, top, right, bottom = camera.rows_to_widget(scene.wire_bounds[[scene.wire_index[key]]])[
        0
    ].tolist()
    return QRect(QPoint(int(left), int(top)), QPoint(int(right) + 1, int(bottom) + 1))


def test_a_click_on_a_wire_shows_verdict_and_reason_beside_it(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    assert card.subject == "gate.x"
    assert card.title.text() == "Stopped"
    assert 'href="sg"' in card.sentence.text()
    assert window.canvas.rect().contains(card.geometry())
    assert not card.geometry().intersects(box(window, "gate.x"))
    pointer = window.canvas.mapFromGlobal(QCursor.pos())
    assert not card.geometry().contains(pointer)


def test_a_selected_variable_has_one_too_and_other_blocks_have_none(window, qtbot):
    click_block(qtbot, window, "w")
    card = shown(qtbot, window)
    assert (card.subject, card.title.text()) == ("w", "Stopped")
    assert card.try_button.isVisible()
    assert not card.geometry().intersects(window.canvas.block_rect("w"))
    click_block(qtbot, window, "gate")
    assert not card.isVisible()


def test_while_a_number_is_dragged_it_waits_for_the_hand_to_rest(window, qtbot, monkeypatch):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    computed = []
    monkeypatch.setattr(window.card, "show_verdict", lambda verdict, **_: computed.append(verdict))
    monkeypatch.setattr(explanation, "reasons", lambda session, **_: computed.append("why"))
    window.explanation._rest.setInterval(60_000)  # the hand goes on
    for number in (3.0, 4.0, 5.0):
        with qtbot.waitSignal(window.evaluator.resultChanged):
            window.document.preview(SetParameters("w", {"value": [number]}))
    assert computed == []
    window.explanation._rest.start(0)
    qtbot.waitUntil(lambda: len(computed) == 2)
    assert card.isVisible()


def test_try_shows_the_trial_on_card_and_panel_and_apply_applies_it(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    qtbot.waitUntil(card.try_button.isVisible)
    qtbot.mouseClick(card.try_button, LEFT)
    qtbot.waitUntil(lambda: card.trial.isVisible())
    assert card.trial.text() == "What if: sg open"
    qtbot.waitUntil(lambda: card.title.text() == State.CARRIES.row.title)
    assert "What if: sg open" in window.why.text()
    assert not card.try_button.isVisible() and card.discard_button.isVisible()
    assert not window.document.diagram.main.blocks["sg"].open
    qtbot.mouseClick(card.apply_button, LEFT)
    assert window.document.diagram.main.blocks["sg"] == StopGradient(open=True)
    qtbot.waitUntil(lambda: not card.trial.isVisible())
    window.document.undo_stack.undo()
    assert not window.document.diagram.main.blocks["sg"].open


def test_a_trial_is_discarded_on_the_card(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    qtbot.waitUntil(card.try_button.isVisible)
    qtbot.mouseClick(card.try_button, LEFT)
    qtbot.waitUntil(card.discard_button.isVisible)
    qtbot.mouseClick(card.discard_button, LEFT)
    assert not window.trial.active
    qtbot.waitUntil(lambda: "What if" not in window.why.text())
    assert card.title.text() == "Stopped"


def test_apply_repairs_at_once_as_one_undo(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    qtbot.waitUntil(card.apply_button.isVisible)
    before = window.document.diagram
    qtbot.mouseClick(card.apply_button, LEFT)
    assert window.document.diagram.main.blocks["sg"].open
    window.document.undo_stack.undo()
    assert window.document.diagram is before


def test_more_opens_the_panel_about_the_same(window, qtbot):
    window.docks.by_name["why"].hide()
    click_block(qtbot, window, "w")
    qtbot.mouseClick(shown(qtbot, window).more, LEFT)
    assert window.docks.by_name["why"].isVisible()
    assert window.why.wire == "gate.x"


def test_it_follows_panning_and_zooming_and_leaves_with_its_wire(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    before = card.pos()
    camera = window.canvas.view.camera
    window.canvas.set_camera(camera.panned(30.0, 17.0))
    qtbot.waitUntil(lambda: card.pos() == before + QPoint(30, 17))
    window.canvas.set_zoom(window.canvas.zoom() * 1.3)
    qtbot.waitUntil(lambda: card.pos() != before + QPoint(30, 17))
    assert not card.geometry().intersects(box(window, "gate.x"))
    window.canvas.set_camera(camera.panned(0.0, -5000.0))
    qtbot.waitUntil(lambda: not card.isVisible())
    window.canvas.set_camera(camera)
    qtbot.waitUntil(card.isVisible)


def test_it_waits_until_the_button_is_up(window, qtbot):
    at = window.canvas.block_rect("w").topLeft() + QPoint(30, 8)
    qtbot.mouseMove(window.canvas, at)
    qtbot.mousePress(window.canvas, LEFT, pos=at)
    qtbot.wait(50)
    assert not window.card.isVisible()
    qtbot.mouseRelease(window.canvas, LEFT, pos=at)
    qtbot.waitUntil(window.card.isVisible)


def test_escape_closes_it_and_w_brings_it_back(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    qtbot.keyClick(window.canvas, Key.Key_Escape)
    assert not card.isVisible()
    assert window.canvas.selected_wire() == "gate.x"
    qtbot.keyClick(window.canvas, Key.Key_W)
    assert card.isVisible()
    window.canvas.select_wire(None)
    assert not card.isVisible()


def test_f6_reaches_its_buttons_and_escape_leads_back(window, qtbot):
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    qtbot.waitUntil(card.try_button.isVisible)
    for _ in range(len(window.docks.by_name) + 2):
        qtbot.keyClick(QApplication.focusWidget(), Key.Key_F6)
        if card.isAncestorOf(QApplication.focusWidget()):
            break
    assert QApplication.focusWidget() is card.try_button  # not the one that leaves the canvas
    qtbot.keyClick(QApplication.focusWidget(), Key.Key_Escape)
    assert QApplication.focusWidget() is window.canvas
    assert not card.isVisible()


def test_it_is_announced(window, qtbot, monkeypatch):
    said = []
    monkeypatch.setattr(
        QAccessible,
        "updateAccessibility",
        lambda event: said.append(getattr(event, "message", str)()),
    )
    click_wire(qtbot, window, "gate.x")
    card = shown(qtbot, window)
    assert "Stopped. sg stops every route to loss." in said
    assert card.accessibleDescription() == "Stopped. sg stops every route to loss."


def test_what_it_is_about_has_no_tooltip_besides(window, qtbot, monkeypatch):
    tips = []
    monkeypatch.setattr(QToolTip, "showText", lambda at, text, *rest: tips.append(text))
    at = window.canvas.wire_position("gate.x")

    def rest():
        event = QHelpEvent(QEvent.Type.ToolTip, at, window.canvas.mapToGlobal(at))
        QApplication.sendEvent(window.canvas, event)

    rest()
    click_wire(qtbot, window, "gate.x")
    shown(qtbot, window)
    rest()
    qtbot.keyClick(window.canvas, Key.Key_Escape)
    rest()
    assert [bool(tip) for tip in tips] == [True, False, True]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("at", [QPoint(0, 0), QPoint(380, 280), QPoint(200, 140), QPoint(380, 0)])
def test_the_place_is_beside_what_it_is_about_and_off_the_pointer(window, at):
    room, anchor, size = QRect(0, 0, 400, 300), QRect(at, QSize(20, 20)), QSize(150, 90)
    pointer = QRect(at + QPoint(6, 6), QSize(28, 28))
    window.canvas.set_camera(window.canvas.view.camera.panned(0.0, 9000.0))
    card = QRect(place_beside(window.canvas.view, anchor, size, room, (), pointer), size)
    assert room.contains(card)
    assert not card.intersects(anchor) and not card.intersects(pointer)


def test_a_place_over_nothing_is_preferred(window):
    room, anchor, size = QRect(0, 0, 600, 600), QRect(290, 290, 20, 20), QSize(100, 80)
    window.canvas.set_camera(window.canvas.view.camera.panned(0.0, 9000.0))
    taken = [QRect(0, 305, 600, 295), QRect(0, 0, 600, 290)]
    nowhere = QRect(-99, -99, 9, 9)
    card = QRect(place_beside(window.canvas.view, anchor, size, room, taken, nowhere), size)
    covered = [card & one for one in taken]
    free = QRect(place_beside(window.canvas.view, anchor, size, room, taken[:1], nowhere), size)
    assert not free.intersects(taken[0])
    assert sum(one.width() * one.height() for one in covered) < card.width() * card.height()


def test_of_several_losses_it_says_for_which_it_carries(opened, qtbot):
    a, b = variable("a", 2.0), variable("b", 3.0)
    hidden = stop_gradient(a * b, name="wall")
    window = opened(build(loss(hidden * b, name="one"), loss(a + 1.0, name="two"), a, b))
    window.canvas.zoom_to_fit()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.select({"a"})
    qtbot.waitUntil(lambda: window.card.subject == "a")
    assert window.card.losses.text() == "two: carries gradient; one: stopped."
    assert "two: carries gradient; one: stopped." in window.card.accessibleDescription()
    assert not window.card.losses.isHidden()
    window.losses.choose("one.out")
    assert window.card.losses.isHidden()
    assert window.card.title.text() == "Stopped"
    window.losses.choose(None)
    assert window.card.losses.text() == "two: carries gradient; one: stopped."
    window.canvas.select({"b"})
    qtbot.waitUntil(lambda: window.card.subject == "b")
    assert window.card.losses.text() == "one: carries gradient; two: on no path to the loss."
