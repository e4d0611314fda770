"""The table of keys is what the canvas obeys: nothing more, nothing less."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.input.keys import Keys
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.document.numbers import NumberCell
from gradwire.runtime.diagram import AddBlock, Batch, Note, Point, PortName, SetNote
from tests.app.canvas.pages import block, click, move

Key, Held = Qt.Key, Qt.KeyboardModifier
CONTROL, SHIFT, ALT, PLAIN = (
    Held.ControlModifier, Held.ShiftModifier, Held.AltModifier, Held.NoModifier,
)  # fmt: skip


def press(canvas, *names: str) -> None:
    """Press keys by the names that the table has for them."""
    for name in names:
        pressed = QKeySequence(name)[0]
        QTest.keyClick(canvas, pressed.key(), pressed.keyboardModifiers())


def go(canvas, kind: FocusKind, name: str) -> None:
    canvas.keyboard_focus.focus_on(Focus(kind, name))


def heard(signal) -> list:
    got: list = []
    signal.connect(lambda *values: got.append(values))
    return got


def box(canvas) -> QuickAdd:
    (found,) = [b for b in canvas.findChildren(QuickAdd) if b.isVisible()]
    return found


class TestTable:
    def test_every_row_calls_a_method_and_no_key_stands_twice(self):
        assert all(callable(getattr(Keys, row.method)) for row in KEYS)
        names = [name for row in KEYS for name in row.keys]
        assert len(names) == len(set(names)) == len({QKeySequence(name) for name in names})
        assert not any(QKeySequence(name).isEmpty() for name in names)

    def test_every_row_is_tried_here(self):
        tried = {name.removeprefix("test_key_") for name in dir(TestKeys) if "_key_" in name}
        assert tried == {row.method for row in KEYS}

    @pytest.mark.parametrize("held", [PLAIN, CONTROL, SHIFT, ALT, CONTROL | SHIFT, CONTROL | ALT])
    def test_no_other_key_does_anything(self, canvas, shell, held):
        known = {QKeySequence(name) for row in KEYS for name in row.keys}
        leave = {Key.Key_Tab, Key.Key_Backtab, Key.Key_unknown, Key.Key_Question}
        keys = [key for key in Key if key.value < 0x01000060 and key not in leave]
        assert len(keys) > 200
        before = shell.diagram
        for key in keys:
            if QKeySequence(held.value | key.value) not in known:
                event = QKeyEvent(QEvent.Type.KeyPress, key, held)
                QApplication.sendEvent(canvas, event)
                assert not event.isAccepted(), key
        assert shell.diagram is before
        assert canvas.view.focus is None
        assert not canvas.selection()


class TestKeys:
    def test_key_go(self, canvas, shell):
        press(canvas, "Right")
        assert canvas.view.focus is not None
        canvas.select(["mul1"])
        press(canvas, "Left", "Right", "Right", "Up", "Down", "Down")
        assert shell.main.layout["mul1"] == Point(250, 10)

    def test_key_move_focus(self, canvas, shell):
        canvas.select(["mul1"])
        press(canvas, "Ctrl+Right", "Ctrl+Right")
        assert canvas.view.focus == Focus(FocusKind.OUTPUT, "mul1.out")
        assert not shell.changes
        press(canvas, "Ctrl+Left", "Ctrl+Down", "Ctrl+Up")
        assert canvas.view.focus.kind is FocusKind.BLOCK

    def test_key_nudge(self, canvas, shell):
        canvas.select(["mul1"])
        press(canvas, "Shift+Right", "Shift+Right", "Shift+Left", "Shift+Up", "Shift+Down")
        assert shell.main.layout["mul1"] == Point(241, 0)

    def test_key_resize(self, canvas, shell):
        shell._apply(SetNote("n", Note("old", Point(0, 300))))
        canvas.select((), ["n"])
        press(canvas, "Ctrl+Shift+Right", "Ctrl+Shift+Down", "Ctrl+Shift+Down", "Ctrl+Shift+Up")
        press(canvas, "Ctrl+Shift+Left", "Ctrl+Shift+Left")
        assert (shell.main.notes["n"].width, shell.main.notes["n"].height) == (190, 70)

    def test_key_jump(self, canvas, shell):
        press(canvas, "End")
        assert canvas.view.focus == Focus(FocusKind.BLOCK, "loss")
        press(canvas, "Home")
        assert canvas.view.focus == Focus(FocusKind.BLOCK, "b")

    def test_key_next_note(self, canvas, shell):
        press(canvas, "N")
        assert canvas.view.focus is None
        for name in ("m", "n"):
            shell._apply(SetNote(name, Note(name, Point(0, 300), frame=name == "m")))
        passed = []
        for key in ("N", "N", "N", "Shift+N"):
            press(canvas, key)
            passed.append(canvas.view.focus.name)
        assert passed == ["m", "n", "m", "n"]

    def test_key_next_number(self, canvas, shell):
        assert not shell.changes
        press(canvas, "V")
        assert canvas.view.number is None
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, "V")
        assert canvas.view.number == NumberCell("mul1", "a")
        assert canvas.selection() == {"mul1"}
        press(canvas, "Up", "Shift+V", "Down", "Down")
        assert shell.main.blocks["mul1"].literals["a"].array == 2
        assert shell.messages[-1].startswith("mul1.a = 2. Up and Down change it")

    def test_what_is_said_of_a_number_follows_what_is_typed(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, "V", "Return")
        QTest.keyClicks(canvas.findChild(QLineEdit), "7")
        QTest.keyClick(canvas.findChild(QLineEdit), Qt.Key.Key_Return)
        assert shell.main.blocks["mul1"].literals["a"].array == 7
        assert shell.messages[-1].startswith("mul1.a = 7. Up and Down change it")
        assert len(shell.messages) == len(set(shell.messages))
        canvas.select({"m"})
        assert shell.messages[-1] == ""

    def test_key_scroll(self, canvas, shell):
        before = canvas.view.camera
        press(canvas, "PgDown")
        assert canvas.view.camera.y < before.y
        press(canvas, "PgUp")
        assert canvas.view.camera == before
        press(canvas, "Shift+PgDown")
        assert canvas.view.camera.x < before.x
        press(canvas, "Shift+PgUp")
        assert canvas.view.camera == before

    def test_key_select_focused(self, canvas, shell):
        shell._apply(SetNote("n", Note("old", Point(960, 200))))
        go(canvas, FocusKind.BLOCK, "a")
        press(canvas, "S")
        go(canvas, FocusKind.INPUT, "mul1.a")
        press(canvas, "S")
        go(canvas, FocusKind.NOTE, "n")
        press(canvas, "S")
        assert canvas.view.selection[:2] == ({"a", "mul1"}, {"n"})
        go(canvas, FocusKind.BLOCK, "a")
        press(canvas, "S")
        assert canvas.view.selection[:2] == ({"mul1"}, {"n"})
        canvas.select(())
        canvas.keyboard_focus.clear()
        press(canvas, "S")
        assert len(canvas.selection()) == 1

    def test_key_space(self, canvas, shell):
        go(canvas, FocusKind.OUTPUT, "b.out")
        press(canvas, "Space")
        go(canvas, FocusKind.INPUT, "mul1.a")
        press(canvas, "Space")
        assert shell.main.wires[PortName("mul1", "a")] == PortName("b", "out")

    def test_key_add(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "Tab")
        assert "Variable" not in box(canvas).titles()
        QTest.keyClicks(box(canvas).line, "tanh")
        QTest.keyClick(box(canvas).line, Key.Key_Return)
        assert isinstance(shell.changes[0], Batch)
        assert shell.main.wires[PortName("stop1", "x")] == PortName("tanh1", "out")
        assert shell.main.wires[PortName("tanh1", "x")] == PortName("mul1", "out")
        rects = [canvas.block_rect(name) for name in shell.main.blocks]
        assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[:i])

    def test_key_insert(self, canvas, shell):
        shell._apply(AddBlock("new", block("Tanh"), Point(300, 300)))
        canvas.select(["new"])
        press(canvas, "I")
        assert "go to a wire" in shell.messages[-1]
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "I")
        assert shell.main.wires[PortName("stop1", "x")] == PortName("new", "out")
        assert shell.main.layout["new"] == Point(300, 300)

    def test_key_lift(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "stop1")
        press(canvas, "L")
        assert shell.main.wires[PortName("add1", "a")] == PortName("mul1", "out")
        assert PortName("stop1", "x") not in shell.main.wires
        canvas.select(["add1"])
        press(canvas, "L")
        assert shell.main.wires[PortName("loss", "x")] == PortName("mul1", "out")

    def test_key_why(self, canvas, shell):
        wires, blocks = heard(canvas.whyRequested), heard(canvas.whyBlockRequested)
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "W")
        go(canvas, FocusKind.INPUT, "add1.a")
        press(canvas, "W")
        go(canvas, FocusKind.BLOCK, "b")
        press(canvas, "W")
        assert (wires, blocks) == ([("stop1.x",), ("add1.a",)], [("b",)])

    def test_key_bend(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "B")
        assert len(shell.main.bends[PortName("stop1", "x")]) == 1
        assert canvas.view.focus == Focus(FocusKind.BEND, "stop1.x", 0)

    def test_key_mark_cut(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "C")
        assert set(canvas.view.marks) == {"stop1.x"}

    def test_key_trace(self, canvas, shell):
        go(canvas, FocusKind.WIRE, "stop1.x")
        press(canvas, "T")
        assert canvas.view.traced == "stop1.x"
        canvas.grab()
        press(canvas, "T")
        assert canvas.view.traced is None

    def test_key_preview_cuts(self, canvas, shell):
        over = heard(canvas.cutHovered)
        move(canvas, canvas.wire_position("stop1.x"), Qt.MouseButton.NoButton)
        QTest.keyPress(canvas, Key.Key_X)
        QTest.keyRelease(canvas, Key.Key_X)
        assert over == [("stop1.x",), ("",)]

    def test_key_enter(self, canvas, shell):
        asked = heard(canvas.inspectRequested)
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, "Return", "Enter")
        assert asked == [("mul1",), ("mul1",)]

    def test_key_rename(self, canvas, shell):
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, "F2")
        assert canvas.findChildren(QLineEdit)

    def test_key_delete(self, canvas, shell):
        for name, key in (("a", "Del"), ("b", "Backspace")):
            go(canvas, FocusKind.BLOCK, name)
            press(canvas, key)
            assert name not in shell.main.blocks

    def test_key_select_all(self, canvas, shell):
        press(canvas, "Ctrl+A")
        assert canvas.selection() == shell.main.blocks.keys()

    def test_key_menu(self, canvas, shell):
        asked = heard(canvas.menuRequested)
        go(canvas, FocusKind.BLOCK, "mul1")
        press(canvas, "M")
        assert canvas.block_rect("mul1").contains(asked[0][0])

    def test_key_leave(self, canvas, shell):
        canvas.select(["a"])
        go(canvas, FocusKind.BLOCK, "b")
        press(canvas, "Esc")
        assert (canvas.selection(), canvas.view.focus) == (set(), Focus(FocusKind.BLOCK, "b"))
        press(canvas, "Esc")
        assert canvas.view.focus is None

    def test_key_bookmark(self, canvas, shell):
        asked = heard(canvas.bookmarkRequested)
        press(canvas, "Alt+1", "Alt+9")
        assert asked == [(1,), (9,)]

    def test_key_sheet(self, canvas, shell):
        asked = heard(canvas.sheetRequested)
        QTest.keyClicks(canvas, "?")
        QTest.keyClick(canvas, Key.Key_Question, SHIFT)
        assert len(asked) == 2


def test_space_held_moves_the_page_and_a_lost_focus_lets_go(canvas, shell):
    QTest.keyPress(canvas, Key.Key_Space)
    assert canvas.cursor().shape() == Qt.CursorShape.OpenHandCursor
    canvas.clearFocus()
    assert canvas.cursor().shape() == Qt.CursorShape.ArrowCursor
    before = canvas.view.camera
    click(canvas, QPoint(5, 5))
    assert canvas.view.camera == before
