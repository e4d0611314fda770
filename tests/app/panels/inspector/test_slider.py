"""The slider in the inspector, by mouse and keys."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QStyle, QStyleOptionSlider

from gradwire.runtime.diagram import SetParameters
from tests.app.canvas.pages import block, diagram

Key = Qt.Key


@pytest.fixture
def window(qtbot, window):
    blocks = {"w": block("Variable", value=0.25, slider=[0, 1]), "loss": block("Loss")}
    window.document._begin(diagram(blocks, {"loss.x": "w.out"}), None)
    window.canvas.select(["w"])
    window.docks.by_name["inspector"].show()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


def slider(window):
    return window.inspector.form.slider


def knob(bar) -> QPoint:
    option = QStyleOptionSlider()
    bar.initStyleOption(option)
    handle = QStyle.SubControl.SC_SliderHandle
    return bar.style().subControlRect(QStyle.ComplexControl.CC_Slider, option, handle, bar).center()


def value(window) -> float:
    return window.document.diagram.main.blocks["w"].value.array.item()


def set_parameters(window, **values):
    window.document.apply(SetParameters("w", values))


def test_it_shows_number_and_limits(window):
    assert slider(window).isVisibleTo(window.inspector.form)
    assert slider(window).bar.value() / slider(window).bar.maximum() == 0.25
    assert slider(window).about.text() == "0 … 1"
    assert slider(window).bar.accessibleName() == "Slider of the value"
    set_parameters(window, value=3.0)
    assert slider(window).about.text() == "outside 0 … 1"
    set_parameters(window, slider=None)
    assert not slider(window).isVisibleTo(window.inspector.form)


def test_a_drag_is_followed_and_is_one_undo(qtbot, window):
    bar = slider(window).bar
    start = knob(bar)
    QTest.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
    end = start + QPoint(bar.width() // 2, 0)
    for at in (start + (end - start) * 0.5, end):
        QTest.mouseMove(bar, at)
    qtbot.waitUntil(lambda: value(window) > 0.6)
    assert window.document.is_previewing
    assert window.document.undo_stack.count() == 0
    QTest.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=end)
    assert value(window) > 0.6
    assert window.document.undo_stack.count() == 1
    window.document.undo_stack.undo()
    assert value(window) == 0.25
    assert bar.value() / bar.maximum() == 0.25


def test_escape_takes_the_drag_back(qtbot, window):
    bar = slider(window).bar
    start = knob(bar)
    QTest.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(bar, start + QPoint(bar.width() // 2, 0))
    qtbot.waitUntil(lambda: value(window) > 0.6)
    QTest.keyClick(bar, Key.Key_Escape)
    assert value(window) == 0.25
    QTest.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=start)
    assert value(window) == 0.25
    assert window.document.undo_stack.count() == 0


def test_keys_move_it_by_steps(window):
    bar = slider(window).bar
    QTest.keyClick(bar, Key.Key_Right)
    assert value(window) == pytest.approx(0.26)
    QTest.keyClick(bar, Key.Key_End)
    assert value(window) == 1.0


def test_arrows_in_the_field_stay_within_the_limits(window):
    set_parameters(window, value=1.0)
    line = window.inspector.form.fields["value"].line_edit()
    QTest.keyClick(line, Key.Key_Up)
    assert value(window) == 1.0
