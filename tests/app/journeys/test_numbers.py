"""Numbers under the hand in a whole window: the results follow, and one undo takes a drag back."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.paint.blocks.numbers import number_box
from gradwire.app.document.numbers import NumberCell
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.flow import State
from tests.app.canvas.pages import LEFT, PLAIN, drag

B = NumberCell("b", "value", (0, 1))


@pytest.fixture
def window(qtbot, window):
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    window.document._begin(build(loss(stop_gradient(3 * b) + a)), None)
    window.canvas.zoom_to_fit()
    settle(qtbot, window)
    window.canvas.set_zoom(1.0)
    window.canvas.reveal(window.canvas.view.scene.bounds_of(["b"]))
    return window


def settle(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluator.busy)


def total(window):
    result = window.evaluator.result
    assert result.diagram is window.document.diagram
    (out,) = result.losses
    return result.values[out].tolist()


def pull(window, pixels, *, release=True):
    start = number_box(window.canvas.view, B).center().toPoint()
    drag(window.canvas, start, start + QPoint(pixels, 0), release=release)
    return start


def test_the_results_follow_while_the_hand_moves(qtbot, window):
    before = total(window)
    start = pull(window, 40, release=False)
    settle(qtbot, window)
    assert total(window) != before
    assert window.canvas.view.annotations.page.value("b", "out").tolist() == [[0.0, 2.0]]
    assert window.evaluator.result.states["stop_gradient1.x"] is State.STOPPED
    QTest.mouseRelease(window.canvas, LEFT, PLAIN, start + QPoint(40, 0))


def test_one_undo_takes_a_drag_back(qtbot, window):
    before = window.document.diagram
    pull(window, 40)
    assert window.document.undo_stack.count() == 1
    assert window.actions_by_name["undo"].text() == "&Undo Change value of b"
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram is before


def test_escape_restores_the_diagram_and_its_results(qtbot, window):
    before, shown = window.document.diagram, total(window)
    start = pull(window, 40, release=False)
    QTest.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert window.document.diagram is before
    QTest.mouseRelease(window.canvas, LEFT, PLAIN, start + QPoint(40, 0))
    assert window.document.diagram is before
    assert window.document.undo_stack.count() == 0
    settle(qtbot, window)
    assert total(window) == shown


def test_successive_steps_of_the_keys_are_one_undo(qtbot, window):
    window.canvas.select(["b"])
    window.canvas.setFocus()
    for key in (Qt.Key.Key_V, Qt.Key.Key_Up, Qt.Key.Key_Up):
        QTest.keyClick(window.canvas, key)
    assert window.document.undo_stack.count() == 1
