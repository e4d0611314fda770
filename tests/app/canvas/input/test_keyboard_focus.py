from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.runtime.diagram import Connect, Note, Point, PortName, SetNote
from tests.app.canvas.pages import Shell, block, click, diagram, page

Key = Qt.Key
CONTROL = Qt.KeyboardModifier.ControlModifier


def press(canvas, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(canvas, key)


def go(canvas, kind: FocusKind, name: str) -> None:
    canvas.keyboard_focus.focus_on(Focus(kind, name))


class TestWalking:
    def test_right_follows_the_flow_from_block_to_block(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "b")
        passed = []
        for _ in range(4):
            press(canvas, Key.Key_Right)
            passed.append((canvas.view.focus.kind, canvas.view.focus.name))
        assert passed == [
            (FocusKind.OUTPUT, "b.out"),
            (FocusKind.WIRE, "mul1.b"),
            (FocusKind.INPUT, "mul1.b"),
            (FocusKind.BLOCK, "mul1"),
        ]
        canvas.grab()

    def test_left_goes_back_the_way_it_came(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "loss")
        press(canvas, *[Key.Key_Left] * 4)
        assert canvas.view.focus == Focus(FocusKind.BLOCK, "add1")

    def test_up_and_down_change_port_wire_and_block(self, canvas, shell):
        go(canvas, FocusKind.INPUT, "add1.a")
        press(canvas, Key.Key_Down)
        assert canvas.view.focus == Focus(FocusKind.INPUT, "add1.b")
        press(canvas, Key.Key_Down)
        assert canvas.view.focus == Focus(FocusKind.INPUT, "add1.b")
        press(canvas, Key.Key_Left, Key.Key_Up)
        assert canvas.view.focus == Focus(FocusKind.WIRE, "add1.a")
        go(canvas, FocusKind.BLOCK, "stop1")
        press(canvas, Key.Key_Down)
        assert canvas.view.focus == Focus(FocusKind.BLOCK, "a")

    def test_a_wire_with_the_focus_is_selected_and_told(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "loss.x")
        assert canvas.selected_wire() == "loss.x"
        assert shell.messages[-1].startswith("wire add1 to loss.x")
        press(canvas, Key.Key_Right)
        assert canvas.selected_wire() is None

    def test_the_first_arrow_shows_the_block_in_the_middle(self, canvas, shell):
        press(canvas, Key.Key_Right)
        assert canvas.view.focus.kind is FocusKind.BLOCK

    def test_with_a_selection_arrows_nudge_and_ctrl_arrows_walk(self, canvas, shell):
        click(canvas, canvas.block_rect("mul1").center())
        QTest.keyClick(canvas, Key.Key_Right, CONTROL)
        assert canvas.view.focus == Focus(FocusKind.BLOCK, "mul1")
        assert not shell.changes
        press(canvas, Key.Key_Right)
        assert shell.main.layout["mul1"] == Point(250, 0)

    def test_the_view_follows(self, canvas, shell):
        canvas.set_zoom(3.0)
        go(canvas, FocusKind.BLOCK, "loss")
        assert canvas.rect().contains(canvas.block_rect("loss"))
        go(canvas, FocusKind.BLOCK, "b")
        assert canvas.rect().contains(canvas.block_rect("b"))

    def test_a_click_or_escape_ends_it(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "b")
        press(canvas, Key.Key_Escape)
        assert canvas.view.focus is None
        go(canvas, FocusKind.BLOCK, "b")
        click(canvas, QPoint(5, 5))
        assert canvas.view.focus is None

    def test_it_forgets_what_is_removed(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "loss")
        press(canvas, Key.Key_Delete)
        assert "loss" not in shell.main.blocks
        assert canvas.view.focus is None

    def test_delete_takes_the_wire_with_the_focus(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "loss.x")
        press(canvas, Key.Key_Delete)
        assert PortName("loss", "x") not in shell.main.wires

    def test_nothing_to_walk_on_is_no_error(self, canvas):
        shell = Shell(canvas, diagram({}))
        press(canvas, Key.Key_Right, Key.Key_Space, Key.Key_Return, Key.Key_Escape)
        assert not shell.changes
        assert canvas.view.focus is None


class TestKeyboardWire:
    def test_space_arrows_space_draw_a_wire(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "b.out")
        press(canvas, Key.Key_Space, Key.Key_Right)
        assert canvas.view.focus == Focus(FocusKind.INPUT, "mul1.a")
        canvas.grab()
        press(canvas, Key.Key_Space)
        assert shell.changes == [Connect(PortName("b", "out"), PortName("mul1", "a"))]

    def test_it_stops_at_ports_that_fit_only(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "add1.out")
        press(canvas, Key.Key_Space, *[Key.Key_Left] * 6)
        assert (
            canvas.view.focus.kind is FocusKind.OUTPUT
        )  # all inputs to the left would close a cycle

    def test_a_wire_can_begin_at_an_input_and_end_on_a_block(self, canvas, shell):
        go(canvas, FocusKind.INPUT, "mul1.a")
        press(canvas, Key.Key_Space)
        go(canvas, FocusKind.BLOCK, "a")
        press(canvas, Key.Key_Space)
        assert shell.main.wires[PortName("mul1", "a")] == PortName("a", "out")

    def test_a_refusal_says_why_and_keeps_the_wire(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "add1.out")
        press(canvas, Key.Key_Space)
        go(canvas, FocusKind.INPUT, "mul1.a")
        press(canvas, Key.Key_Space)
        assert not shell.changes
        assert "cycle" in shell.messages[-1].lower() or shell.messages[-1]
        assert canvas.keyboard_focus.wire is not None

    def test_escape_drops_it(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "b.out")
        press(canvas, Key.Key_Space, Key.Key_Escape)
        assert canvas.keyboard_focus.wire is None
        assert canvas.view.focus is not None

    def test_tab_adds_a_block_at_its_end(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "add1.out")
        press(canvas, Key.Key_Space, Key.Key_Tab)
        (box,) = canvas.findChildren(QuickAdd)
        QTest.keyClicks(box.line, "relu")
        QTest.keyClick(box.line, Key.Key_Return)
        assert shell.main.wires[PortName("relu1", "x")] == PortName("add1", "out")


class TestKeys:
    def test_enter_asks_for_the_fields_of_a_block(self, qtbot, canvas, shell):
        go(canvas, FocusKind.INPUT, "mul1.a")
        with qtbot.waitSignal(canvas.inspectRequested) as signal:
            press(canvas, Key.Key_Return)
        assert signal.args == ["mul1"]
        assert canvas.selection() == {"mul1"}

    def test_enter_goes_into_a_page(self, canvas):
        shown = diagram({"enc": block("Page", page="inner")}).with_page("inner", page({}))
        shell = Shell(canvas, shown)
        go(canvas, FocusKind.BLOCK, "enc")
        press(canvas, Key.Key_Return)
        assert shell.pages == ["enc"]

    def test_f2_writes_the_name(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, Key.Key_F2)
        (field,) = canvas.findChildren(QLineEdit)
        QTest.keyClicks(field, "times")
        QTest.keyClick(field, Key.Key_Return)
        assert "times" in shell.main.blocks

    @pytest.mark.parametrize("key", [Key.Key_F2, Key.Key_Return])
    def test_notes_are_reached_and_written(self, canvas, shell, key):
        shell._apply(SetNote("n", Note("old", Point(960, 200))))
        go(canvas, FocusKind.BLOCK, "loss")
        press(canvas, Key.Key_Down)
        assert canvas.view.focus == Focus(FocusKind.NOTE, "n")
        press(canvas, key)
        assert canvas.findChildren(QPlainTextEdit)

    def test_m_asks_for_the_menu_at_the_focus(self, qtbot, canvas, shell):
        go(canvas, FocusKind.BLOCK, "mul1")
        with qtbot.waitSignal(canvas.menuRequested) as signal:
            press(canvas, Key.Key_M)
        assert canvas.block_rect("mul1").contains(signal.args[0])
