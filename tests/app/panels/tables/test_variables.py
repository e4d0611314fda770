"""Numbers of the table of variables: dragged, stepped and typed, by real events."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from gradwire.runtime.diagram import SetParameters
from tests.app.canvas.pages import block, diagram
from tests.app.mouse import double_click

LEFT = Qt.MouseButton.LeftButton
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
Key = Qt.Key


@pytest.fixture
def window(qtbot, window):
    blocks = {
        "w": block("Variable", value=0.5),
        "s": block("Variable", value=0.25, slider=[0, 1]),
        "row": block("Variable", value=[1.0, 2.0]),
        "a": block("Mul"), "b": block("Mul"), "mean": block("Mean"), "loss": block("Loss"),
    }  # fmt: skip
    wires = {
        "a.a": "w.out", "a.b": "s.out", "b.a": "a.out", "b.b": "row.out", "mean.x": "b.out",
        "loss.x": "mean.out",
    }  # fmt: skip
    window.document._begin(diagram(blocks, wires), None)
    window.resize(1280, 900)
    window.show()
    window.docks.by_name["variables"].show()
    window.docks.by_name["variables"].raise_()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(window.variables.isVisible)
    QApplication.processEvents()
    return window


def cell(window, name, column=2):
    table = window.variables
    return table.visualRect(table.table.index(table.table.names.index(name), column))


def number(window, name, column=2) -> QPoint:
    """A point on the number of a variable, right of a slider."""
    box = cell(window, name, column)
    return QPoint(box.right() - 3, box.center().y())


def value(window, name):
    return window.document.diagram.main.blocks[name].value.array.tolist()


def pull(window, start: QPoint, pixels: int, keys=PLAIN, *, release=True):
    view = window.variables.viewport()
    QTest.mouseMove(view, start)
    QTest.mousePress(view, LEFT, keys, start)
    for share in (0.3, 0.7, 1.0):
        move = QPoint(round(share * pixels), 0)
        send_move(view, start + move, keys)
    if release:
        QTest.mouseRelease(view, LEFT, keys, start + QPoint(pixels, 0))


def send_move(view, at: QPoint, keys):

    place = QPointF(view.mapToGlobal(at))
    event = QMouseEvent(
        QEvent.Type.MouseMove, QPointF(at), place, Qt.MouseButton.NoButton, LEFT, keys
    )
    QApplication.sendEvent(view, event)


def undos(window) -> int:
    return window.document.undo_stack.count()


def test_a_drag_is_followed_and_is_one_undo(qtbot, window):
    pull(window, number(window, "w"), 40, release=False)
    qtbot.waitUntil(lambda: value(window, "w") == pytest.approx(0.6))
    assert undos(window) == 0
    QTest.mouseRelease(window.variables.viewport(), LEFT, pos=number(window, "w") + QPoint(40, 0))
    assert value(window, "w") == pytest.approx(0.6)
    assert undos(window) == 1
    assert window.canvas.selection() == frozenset(), "a drag is no click"
    window.document.undo_stack.undo()
    assert value(window, "w") == 0.5


def test_shift_makes_it_fine(window):
    pull(window, number(window, "w"), 40, SHIFT)
    assert value(window, "w") == pytest.approx(0.51)


def test_escape_takes_the_drag_back(qtbot, window):
    pull(window, number(window, "w"), 40, release=False)
    qtbot.waitUntil(lambda: value(window, "w") != 0.5)
    QTest.keyClick(window.variables, Key.Key_Escape)
    assert value(window, "w") == 0.5
    QTest.mouseRelease(window.variables.viewport(), LEFT)
    assert value(window, "w") == 0.5
    assert undos(window) == 0


def test_the_knob_of_a_slider_follows_the_hand(window):
    table = window.variables
    track = table.track_in(cell(window, "s"))
    start = QPoint(track.left() + track.width() // 4, track.center().y())
    pull(window, start, track.width() // 2)
    assert value(window, "s") == pytest.approx(0.75, abs=0.03)
    pull(window, number(window, "s"), 4000)
    assert value(window, "s") == 1.0


def test_arrows_and_wheel_step_the_current_number(window):
    table = window.variables
    QTest.mouseClick(table.viewport(), LEFT, pos=number(window, "w"))
    QTest.keyClick(table, Key.Key_Right)
    QTest.keyClick(table, Key.Key_Right)
    QTest.keyClick(table, Key.Key_Left)
    assert value(window, "w") == pytest.approx(0.51)
    QTest.keyClick(table, Key.Key_Right, SHIFT)
    assert value(window, "w") == pytest.approx(0.511)
    at = QPointF(number(window, "w"))
    place = QPointF(table.viewport().mapToGlobal(at.toPoint()))
    turned = QWheelEvent(
        at, place, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, PLAIN,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(table.viewport(), turned)
    assert value(window, "w") == pytest.approx(0.52)


def test_a_double_click_types(qtbot, window):
    table = window.variables
    double_click(table.viewport(), number(window, "w"))
    line = table.findChild(QLineEdit)
    assert line.text() == "0.5"
    line.setText("abc")
    QTest.keyClick(line, Key.Key_Return)
    qtbot.waitUntil(lambda: not table.findChildren(QLineEdit))
    assert value(window, "w") == 0.5, "what is no number is refused"
    QTest.keyClick(table, Key.Key_F2)
    line = table.findChild(QLineEdit)
    line.setText("−2.5")
    QTest.keyClick(line, Key.Key_Return)
    qtbot.waitUntil(lambda: value(window, "w") == -2.5)
    assert undos(window) == 1


def test_arrays_are_left_to_the_inspector(window):
    pull(window, number(window, "row"), 40)
    assert value(window, "row") == [1.0, 2.0]


def test_a_click_beside_the_numbers_shows_the_block(window):
    QTest.mouseClick(window.variables.viewport(), LEFT, pos=number(window, "w"))
    assert window.canvas.selection() == frozenset()
    QTest.mouseClick(window.variables.viewport(), LEFT, pos=cell(window, "w", 0).center())
    assert window.canvas.selection() == {"w"}


def test_assistive_technology_reads_number_and_limits(window):
    model = window.variables.table
    role = Qt.ItemDataRole.AccessibleTextRole
    texts = [model.data(model.index(model.names.index(name), 2), role) for name in ("w", "s")]
    assert texts == ["w = 0.5", "s = 0.25, slider from 0 to 1"]


def test_a_hidden_table_waits_until_it_is_shown(qtbot, window):

    window.docks.by_name["variables"].hide()
    shown = window.variables.table._result
    window.document.apply(SetParameters("w", {"value": 7.0}))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.variables.table._result is shown
    window.docks.by_name["variables"].show()
    assert window.variables.number_of(window.variables.table.names.index("w")) == 7.0
