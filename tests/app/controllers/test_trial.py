"""What if, with keys and mouse: X held, a click on ⊣, the banner, Apply and Esc."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.app.controllers.trial import change_text
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.flow import Difference, State
from tests.app.canvas.pages import move
from tests.app.mouse import LEFT, pull

X = Qt.Key.Key_X


def twice():
    """loss(3·w + sg(3·w)): 3 of 6 come back."""
    w = variable("w", [1.0])
    return build(loss(w * 3.0 + stop_gradient(w * 3.0, name="sg"), name="loss"), title="Twice")


@pytest.fixture
def window(opened):
    return opened(twice())


def idle(qtbot, window):
    trying, evaluator = window.trial.worker, window.evaluator
    qtbot.waitUntil(
        lambda: not (trying.is_pending("trial") or trying.is_pending("hover") or evaluator.busy)
    )


def click_sign(qtbot, window):
    at = window.canvas.block_rect("sg").topLeft() + QPoint(15, 10) * window.canvas.zoom()
    qtbot.mouseClick(window.canvas, LEFT, pos=at)
    idle(qtbot, window)


def hover(window, key):
    move(window.canvas, window.canvas.wire_position(key), Qt.MouseButton.NoButton)


def changes(window):
    ghosts = window.canvas.trial_marks()
    return None if ghosts is None else dict(ghosts.changes)


def lane(window, key):
    view = window.canvas.view
    return STATE_OF[int(view.annotations.total.codes[view.scene.wire_index[key]])]


class TestHover:
    def test_x_over_a_wire_shows_what_a_cut_would_change(self, window, qtbot):
        before = window.document.diagram
        hover(window, "mul1.a")
        qtbot.keyPress(window.canvas, X)
        idle(qtbot, window)
        assert window.canvas.trial_marks().cuts == ("mul1.a",)
        assert changes(window) == {"w": "3 → None"}
        qtbot.keyRelease(window.canvas, X)
        assert window.canvas.trial_marks() is None
        assert window.document.diagram is before
        assert not window.trial.bar.isVisible()

    def test_with_x_held_the_ghost_goes_along_with_the_pointer(self, window, qtbot):
        qtbot.keyPress(window.canvas, X)
        hover(window, "sg.x")
        idle(qtbot, window)
        assert window.canvas.trial_marks().cuts == ("sg.x",)
        assert changes(window) == {}
        hover(window, "loss.x")
        idle(qtbot, window)
        assert window.canvas.trial_marks().cuts == ("loss.x",)
        qtbot.keyRelease(window.canvas, X)
        assert window.canvas.trial_marks() is None

    def test_a_click_tries_the_cut(self, window, qtbot):
        hover(window, "mul1.a")
        qtbot.keyPress(window.canvas, X)
        qtbot.mouseClick(window.canvas, LEFT, pos=window.canvas.wire_position("mul1.a"))
        idle(qtbot, window)
        qtbot.keyRelease(window.canvas, X)
        assert window.canvas.trial_marks().cuts == ("mul1.a",)
        assert lane(window, "mul1.a") is State.STOPPED
        assert "mul1.a cut" in window.trial.bar.text()


class TestTrial:
    def test_a_click_on_the_sign_tries_the_stop_open(self, window, qtbot):
        before = window.document.diagram
        assert lane(window, "sg.x") is State.STOPPED
        click_sign(qtbot, window)
        assert lane(window, "sg.x") is State.CARRIES
        assert changes(window) == {"w": "3 → 6 (+100 %)"}
        assert window.trial.bar.isVisible()
        assert "sg open" in window.trial.bar.text()
        assert window.document.diagram is before
        assert window.document.is_clean

    def test_a_second_click_closes_it_again(self, window, qtbot):
        click_sign(qtbot, window)
        click_sign(qtbot, window)
        assert not window.trial.active
        assert lane(window, "sg.x") is State.STOPPED
        assert not window.trial.bar.isVisible()

    def test_apply_is_one_undo(self, window, qtbot):
        before = window.document.diagram
        click_sign(qtbot, window)
        qtbot.mouseClick(window.trial.bar.apply_button, LEFT)
        idle(qtbot, window)
        assert window.document.undo_stack.count() == 1
        assert window.evaluator.result.gradients["w"].item() == 6.0
        assert window.canvas.trial_marks() is None
        assert not window.trial.bar.isVisible()
        window.actions_by_name["undo"].trigger()
        assert window.document.diagram is before

    def test_a_click_on_an_open_stop_tries_it_closed(self, window, qtbot):
        click_sign(qtbot, window)
        qtbot.mouseClick(window.trial.bar.apply_button, LEFT)
        idle(qtbot, window)
        before = window.document.diagram
        click_sign(qtbot, window)
        assert changes(window) == {"w": "6 → 3 (−50 %)"}
        assert "sg closed" in window.trial.bar.text()
        assert window.canvas.trial_marks().opened == ()
        assert window.document.diagram is before
        qtbot.mouseClick(window.trial.bar.apply_button, LEFT)
        idle(qtbot, window)
        assert lane(window, "sg.x") is State.STOPPED

    def test_escape_and_the_button_drop_it(self, window, qtbot):
        click_sign(qtbot, window)
        qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
        assert not window.trial.active
        assert lane(window, "sg.x") is State.STOPPED
        click_sign(qtbot, window)
        qtbot.mouseClick(window.trial.bar.discard_button, LEFT)
        assert not window.trial.active
        assert window.document.undo_stack.count() == 0

    def test_an_edit_ends_it(self, window, qtbot):
        click_sign(qtbot, window)
        window.edit.change(SetParameters("w", {"value": [2.0]}))
        idle(qtbot, window)
        assert not window.trial.active
        assert lane(window, "sg.x") is State.STOPPED

    def test_by_keyboard(self, window, qtbot):
        window.canvas.select({"sg"})
        window.actions_by_name["try_selected"].trigger()
        idle(qtbot, window)
        assert window.canvas.trial_marks().opened == ("sg",)
        window.trial.discard()
        window.canvas.select(())
        window.canvas.select_wire("mul1.a")
        window.actions_by_name["try_selected"].trigger()
        idle(qtbot, window)
        assert window.canvas.trial_marks().cuts == ("mul1.a",)

    def test_the_sign_can_still_be_dragged(self, window, qtbot):
        at = window.canvas.block_rect("sg").topLeft() + QPoint(12, 8)
        pull(qtbot, window.canvas, at, at + QPoint(60, 80))
        assert not window.trial.active
        assert window.document.undo_stack.count() == 1


def test_how_a_change_is_told():
    one, two, none = np.array([6.0]), np.array([3.0]), None
    assert change_text(Difference(one, two)) == "6 → 3 (−50 %)"
    assert change_text(Difference(none, two)) == "None → 3"
