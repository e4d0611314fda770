"""Copy, cut, paste and duplicate by keys: within a page, between windows, from a text editor."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from blocks.library.arithmetic import Mul
from runtime.build import build, loss, stop_gradient, variable
from runtime.diagram import Note, Point, PortName, SetNote, loads
from tests.app.mouse import click_block

CTRL = Qt.KeyboardModifier.ControlModifier


def seed():
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed")


@pytest.fixture
def window(qtbot, window):
    QGuiApplication.clipboard().clear()
    window.document._begin(seed(), None)
    qtbot.waitUntil(window.isActiveWindow)
    return window


def press(qtbot, window, key, modifiers=CTRL):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, key, modifiers)


def names(window):
    return list(window.document.diagram.main.blocks)


def clipboard():
    return QGuiApplication.clipboard().text()


def test_what_is_copied_is_pasted_with_its_wires_as_one_undo(window, qtbot):
    before = window.document.diagram
    click_block(qtbot, window, "b")
    window.canvas.select({"b", "mul1"})
    press(qtbot, window, Qt.Key.Key_C)
    assert list(loads(clipboard()).main.blocks) == ["b", "mul1"]
    press(qtbot, window, Qt.Key.Key_V)
    assert window.canvas.selection() == {"b2", "mul2"}
    wires = window.document.diagram.main.wires
    assert wires[PortName("mul2", "b")] == PortName("b2", "out")
    press(qtbot, window, Qt.Key.Key_Z)
    assert window.document.diagram is before


def test_pasting_again_does_not_cover_what_was_pasted(window, qtbot):
    window.canvas.select({"b"})
    press(qtbot, window, Qt.Key.Key_C)
    for _ in range(3):
        press(qtbot, window, Qt.Key.Key_V)
    layout = window.document.diagram.main.layout
    assert len({layout[name] for name in ("b", "b2", "b3", "b4")}) == 4


def test_what_is_cut_keeps_its_name_in_another_window(window, qtbot):
    window.canvas.select({"b", "mul1"})
    press(qtbot, window, Qt.Key.Key_X)
    assert not {"b", "mul1"} & set(names(window))
    other = window.windows.new()
    qtbot.waitUntil(other.isActiveWindow)
    press(qtbot, other, Qt.Key.Key_V)
    assert names(other) == ["b", "mul1"]
    assert PortName("mul1", "b") in other.document.diagram.main.wires
    window.actions_by_name["undo"].trigger()
    assert "mul1" in names(window)


def test_a_text_from_an_editor_is_pasted(window, qtbot):
    QGuiApplication.clipboard().setText('  "twice": {"type": "Mul", "b": 2},\n')
    press(qtbot, window, Qt.Key.Key_V)
    assert window.document.diagram.main.blocks["twice"] == Mul(b=2)


def test_a_text_that_is_no_diagram_is_told_and_changes_nothing(window, qtbot):
    before = window.document.diagram
    QGuiApplication.clipboard().setText("Dear diary")
    press(qtbot, window, Qt.Key.Key_V)
    assert window.document.diagram is before
    assert "Nothing was pasted" in window.notice.text()
    assert "no part of a diagram" in window.notice.text()


def test_keys_of_the_clipboard_in_a_field_mean_its_text(window, qtbot):
    click_block(qtbot, window, "a")
    QGuiApplication.clipboard().setText("theta")
    line = window.inspector.form.name_line
    line.setFocus()
    line.selectAll()
    qtbot.keyClick(line, Qt.Key.Key_V, CTRL)
    assert line.text() == "theta"
    assert len(names(window)) == 6


def test_duplicates_leave_the_clipboard_alone(window, qtbot):
    QGuiApplication.clipboard().setText("kept")
    window.canvas.select({"a"})
    press(qtbot, window, Qt.Key.Key_D)
    assert window.canvas.selection() == {"a2"}
    assert clipboard() == "kept"


def test_without_a_selection_there_is_nothing_to_copy(window):
    window.canvas.select(())
    for name in ("cut", "copy", "duplicate"):
        assert not window.actions_by_name[name].isEnabled()


def test_notes_and_frames_are_copied_with_blocks_and_selected_after(window, qtbot):
    change = window.commands.change
    change(SetNote("f", Note("Scale", Point(0, -60), 400, 300, frame=True)))
    change(SetNote("n", Note("why", Point(10, 200))))
    window.canvas.select({"mul1"}, {"f"})
    press(qtbot, window, Qt.Key.Key_C)
    press(qtbot, window, Qt.Key.Key_V)
    assert window.canvas.view.picked[:2] == ({"mul2"}, {"f2"})
    assert window.document.diagram.main.notes["f2"].frame
    window.canvas.select((), {"n"})
    press(qtbot, window, Qt.Key.Key_D)
    assert window.canvas.view.picked[:2] == (set(), {"n2"})
    press(qtbot, window, Qt.Key.Key_X)
    assert window.document.diagram.main.notes.keys() == {"f", "f2", "n"}


def test_nudges_of_notes_with_blocks_are_one_undo(window, qtbot):
    window.commands.change(SetNote("n", Note("why", Point(10, 200))))
    before = window.document.diagram
    window.canvas.select({"mul1"}, {"n"})
    for _ in range(3):
        press(qtbot, window, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier)
    assert window.document.diagram.main.notes["n"].at == Point(40, 200)
    press(qtbot, window, Qt.Key.Key_Z)
    assert window.document.diagram is before
