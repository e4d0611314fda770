"""Numbers of the inspector's fields: dragged by their labels, stepped by arrows and wheel."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel

from gradwire.app.canvas.state.view_state import Selection
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import SetParameters

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
Key = Qt.Key


@pytest.fixture
def window(qtbot, window):
    window.document._begin(build(loss(variable("w", 0.5, seed=4) * 3)), None)
    window.canvas.select(["w"])
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


def label_of(window, field) -> QLabel:
    (found,) = [
        label
        for label in window.inspector.form.findChildren(QLabel)
        if label.buddy() is window.inspector.form.fields[field]
    ]
    return found


def send(label, kind, x, button=NONE, held=NONE, keys=PLAIN):
    at = QPointF(5 + x, 5)
    place = QPointF(label.mapToGlobal(at.toPoint()))
    QApplication.sendEvent(label, QMouseEvent(kind, at, place, button, held, keys))


def pull(label, *stops, keys=PLAIN, release=True):
    """Rest on the label, press, move along, and release."""
    QApplication.sendEvent(label, QEvent(QEvent.Type.Enter))
    send(label, QEvent.Type.MouseMove, 0)
    send(label, QEvent.Type.MouseButtonPress, 0, LEFT, LEFT, keys)
    for x in stops:
        send(label, QEvent.Type.MouseMove, x, NONE, LEFT, keys)
    if release:
        send(label, QEvent.Type.MouseButtonRelease, stops[-1] if stops else 0, LEFT, NONE, keys)


def value(window, name="value"):
    given = getattr(window.document.diagram.main.blocks["w"], name)
    return given.array.item() if name == "value" else given


def test_a_drag_of_the_label_is_followed_and_is_one_undo(qtbot, window):
    label = label_of(window, "value")
    before = window.document.diagram
    pull(label, 10, 40, release=False)
    qtbot.waitUntil(lambda: value(window) == pytest.approx(0.6))
    assert window.document.undo_stack.count() == 0
    assert label.cursor().shape() == Qt.CursorShape.SizeHorCursor
    send(label, QEvent.Type.MouseButtonRelease, 40, LEFT)
    assert value(window) == pytest.approx(0.6)
    assert window.document.undo_stack.count() == 1
    window.document.undo_stack.undo()
    assert window.document.diagram is before


def test_shift_makes_it_fine(window):
    pull(label_of(window, "value"), 40, keys=SHIFT)
    assert value(window) == pytest.approx(0.51)


def test_other_parameters_are_dragged_as_well(window):
    pull(label_of(window, "seed"), 8)
    assert value(window, "seed") == 6
    pull(label_of(window, "scale"), 40)
    assert value(window, "scale") == pytest.approx(2.0)


def test_escape_takes_it_back(qtbot, window):
    before = window.document.diagram
    label = label_of(window, "value")
    pull(label, 40, release=False)
    qtbot.waitUntil(lambda: value(window) != 0.5)
    qtbot.keyClick(label, Key.Key_Escape)
    assert window.document.diagram is before
    send(label, QEvent.Type.MouseButtonRelease, 40, LEFT)
    assert window.document.undo_stack.count() == 0


def test_a_number_that_is_refused_is_explained_and_the_diagram_stays(window):
    before = window.document.diagram
    pull(label_of(window, "seed"), -8, -40)
    assert window.document.diagram is before
    assert window.inspector.form.errors["seed"].text()


def test_a_click_on_the_label_gives_the_field_the_keys(window):
    pull(label_of(window, "scale"))
    assert window.inspector.form.fields["scale"].line.hasFocus()
    assert window.document.undo_stack.count() == 0


def test_the_label_of_what_is_no_number_cannot_be_dragged(window):
    before = window.document.diagram
    for field in ("dtype", "shape", "trainable"):
        label = label_of(window, field)
        pull(label, 40)
        assert label.cursor().shape() == Qt.CursorShape.ArrowCursor
    assert window.document.diagram is before


def test_arrows_in_the_field_step_the_number(qtbot, window):
    line = window.inspector.form.fields["scale"].line
    line.setFocus()
    for key, held in ((Key.Key_Up, PLAIN), (Key.Key_Up, PLAIN), (Key.Key_Down, SHIFT)):
        qtbot.keyClick(line, key, held)
    assert value(window, "scale") == pytest.approx(1.19)
    assert line.text() == "1.19"


def test_a_literal_is_stepped_as_well(qtbot, window):
    (name,) = [name for name in window.document.diagram.main.blocks if name.startswith("mul")]
    window.edit.change(SetParameters(name, {"b": 3.0}))
    window.canvas.set_selection(Selection(frozenset({name})))
    line = window.inspector.form.fields["b"].value.line
    line.setFocus()
    qtbot.keyClick(line, Key.Key_Down)
    assert window.document.diagram.main.blocks[name].literals["b"].array == 2.9


@pytest.mark.night
@pytest.mark.parametrize("focused", [True, False])
def test_the_wheel_steps_only_the_number_that_has_the_keys(window, focused):
    line = window.inspector.form.fields["scale"].line
    if focused:
        line.setFocus()
    event = QWheelEvent(
        QPointF(5, 5), QPointF(line.mapToGlobal(QPoint(5, 5))), QPoint(), QPoint(0, 120),
        NONE, PLAIN, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(line, event)
    assert value(window, "scale") == pytest.approx(1.1 if focused else 1.0)
