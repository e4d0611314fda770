from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.gestures.cutting import cut_change
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram import Batch, PortName, apply
from tests.app.canvas.pages import LEFT, block, click, diagram, drag

BOTH = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
RIGHT = Qt.MouseButton.RightButton
PLAIN = Qt.KeyboardModifier.NoModifier
AWAY = QPoint(0, 60)


@pytest.mark.parametrize(("button", "modifiers"), [(LEFT, BOTH), (RIGHT, PLAIN)])
def test_a_line_across_a_wire_cuts_it(canvas, shell, button, modifiers):
    middle = canvas.wire_position("mul1.b")
    drag(canvas, middle - AWAY, middle + AWAY, button, modifiers)
    assert len(shell.changes) == 1
    assert PortName("mul1", "b") not in shell.main.wires
    assert len(shell.main.wires) == 4
    assert not canvas.view.marks


def test_several_wires_go_in_one_change(canvas, shell):
    top = canvas.wire_position("add1.a") - AWAY
    bottom = canvas.wire_position("add1.b") + AWAY
    drag(canvas, top, bottom, RIGHT)
    (change,) = shell.changes
    assert isinstance(change, Batch)
    assert set(shell.main.wires) == {
        PortName("mul1", "b"), PortName("stop1", "x"), PortName("loss", "x"),
    }  # fmt: skip


def test_what_would_be_cut_is_marked_and_escape_keeps_it(canvas, shell):
    middle = canvas.wire_position("mul1.b")
    drag(canvas, middle - AWAY, middle + AWAY, RIGHT, release=False)
    assert set(canvas.view.marks) == {"mul1.b"}
    canvas.grab()
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.mouseRelease(canvas, RIGHT, PLAIN, middle)
    assert not canvas.view.marks
    assert not shell.changes


def test_a_line_past_the_wires_changes_nothing(canvas, shell):
    drag(canvas, QPoint(10, 10), QPoint(200, 12), RIGHT)
    assert not shell.changes


def test_a_right_click_selects_and_asks_for_the_menu(qtbot, canvas, shell):
    at = canvas.block_rect("mul1").center()
    with qtbot.waitSignal(canvas.menuRequested) as signal:
        click(canvas, at, button=RIGHT)
    assert signal.args == [at]
    assert canvas.selection() == {"mul1"}


def test_all_terms_of_a_repeating_port_can_be_cut():
    shown = diagram(
        {"a": block("Variable"), "all": block("Concat")},
        {f"all.{_port()}.{i}": "a.out" for i in range(3)},
    )
    scene = Scene(shown, "main")
    assert not apply(shown, cut_change(scene, scene.wire_keys)).after.main.wires


def _port() -> str:
    return type(block("Concat")).inputs[0].name


class TestByKeyboard:
    def press(self, canvas, *keys):
        for key in keys:
            QTest.keyClick(canvas, key)

    def test_marked_wires_go_in_one_change(self, canvas, shell):
        for wire in ("add1.a", "mul1.b"):
            canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, wire))
            self.press(canvas, Qt.Key.Key_C)
        assert set(canvas.view.marks) == {"add1.a", "mul1.b"}
        assert "2" in shell.messages[-1]
        canvas.grab()
        self.press(canvas, Qt.Key.Key_Delete)
        (change,) = shell.changes
        assert isinstance(change, Batch)
        assert not {PortName("add1", "a"), PortName("mul1", "b")} & shell.main.wires.keys()
        assert not canvas.view.marks

    def test_a_second_press_unmarks(self, canvas, shell):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, "add1.a"))
        self.press(canvas, Qt.Key.Key_C, Qt.Key.Key_C)
        assert not canvas.view.marks

    def test_escape_drops_the_marks_before_all_else(self, canvas, shell):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, "add1.a"))
        self.press(canvas, Qt.Key.Key_C, Qt.Key.Key_Escape)
        assert not canvas.view.marks
        assert canvas.selected_wire() == "add1.a"
        assert not shell.changes

    def test_without_a_wire_the_way_is_told(self, canvas, shell):
        self.press(canvas, Qt.Key.Key_C)
        assert "Go to a wire" in shell.messages[-1]

    def test_what_the_mouse_begins_drops_the_marks(self, canvas, shell):
        canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, "add1.a"))
        self.press(canvas, Qt.Key.Key_C)
        middle = canvas.wire_position("mul1.b")
        drag(canvas, middle - AWAY, middle + AWAY, RIGHT)
        assert PortName("mul1", "b") not in shell.main.wires
        assert PortName("add1", "a") in shell.main.wires
