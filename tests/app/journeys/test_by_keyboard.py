"""What the mouse does, keys do: each gesture of the table, done in a window without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPlainTextEdit

from gradwire.app.canvas.input.bindings import MOUSE
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.document.numbers import NumberCell
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import AddBlock, Note, Page, Point, PortName, SetNote, group
from tests.app.document.test_diff import seed

if TYPE_CHECKING:
    from gradwire.app.shell.main_window import MainWindow

Key = Qt.Key
PLAIN = Qt.KeyboardModifier.NoModifier
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
WAYS: dict[str, Callable[[MainWindow], None]] = {}


def way(mouse: str) -> Callable[[Callable[[MainWindow], None]], Callable[[MainWindow], None]]:
    def keep(scenario: Callable[[MainWindow], None]) -> Callable[[MainWindow], None]:
        WAYS[mouse] = scenario
        return scenario

    return keep


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    window.edit.change(SetNote("n", Note("why", Point(0, 400))))
    qtbot.waitUntil(window.isActiveWindow)
    window.canvas.setFocus()
    window.canvas.zoom_to_fit()
    return window


def test_every_gesture_of_the_table_is_done_here():
    assert WAYS.keys() == {one.mouse for one in MOUSE}


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("mouse", [one.mouse for one in MOUSE])
def test_keys_do_it(window, qtbot, mouse):
    WAYS[mouse](window)


def press(window: MainWindow, *keys: Qt.Key, held: Qt.KeyboardModifier = PLAIN) -> None:
    """Press keys wherever the keyboard is."""
    for key in keys:
        QTest.keyClick(QApplication.focusWidget() or window.canvas, key, held)


def go(window: MainWindow, kind: FocusKind, name: str) -> None:
    """Walk there; each step of the way is tested where walking is."""
    window.canvas.keyboard_focus.focus_on(Focus(kind, name))


def main(window: MainWindow) -> Page:
    return window.document.diagram.main


def box(window: MainWindow) -> QuickAdd:
    (found,) = [b for b in window.canvas.findChildren(QuickAdd) if b.isVisible()]
    return found


@way("Click")
def _(window):
    press(window, Key.Key_Home, Key.Key_S)
    assert window.canvas.selection() == {"b"}
    press(window, Key.Key_Right, Key.Key_Right, held=CONTROL)
    assert window.canvas.selected_wire() == "mul1.b"


@way("Click on a port")
def _(window):
    asked: list[str] = []
    window.canvas.whyRequested.connect(asked.append)
    go(window, FocusKind.BLOCK, "add1")
    press(window, Key.Key_Left, Key.Key_W)
    assert asked == ["add1.a"]


@way("Click on ⊣")
def _(window):
    go(window, FocusKind.BLOCK, "stop")
    press(window, Key.Key_S)
    press(window, Key.Key_T, held=CONTROL)
    assert window.trial.active


@way("Double-click")
def _(window):
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_F2)
    assert window.canvas.findChild(QLineEdit)
    press(window, Key.Key_Escape)
    go(window, FocusKind.NOTE, "n")
    press(window, Key.Key_Return)
    assert window.canvas.findChild(QPlainTextEdit)
    press(window, Key.Key_Escape)
    press(window, Key.Key_Tab)
    assert box(window)


@way("Double-click on the symbol of a block")
def _(window):
    window.docks.by_name["derivative"].hide()
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_S, Key.Key_D)
    assert window.docks.by_name["derivative"].isVisible()
    assert window.canvas.selection() == {"mul1"}


@way("Double-click on a wire")
def _(window):
    go(window, FocusKind.WIRE, "loss.x")
    press(window, Key.Key_B, Key.Key_Down)
    (point,) = main(window).bends[PortName("loss", "x")]
    press(window, Key.Key_Escape, Key.Key_S, Key.Key_Down)
    assert main(window).bends[PortName("loss", "x")][0].y == point.y + 10


@way("Right click")
def _(window):
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_M)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.close()


@way("Drag")
def _(window):
    go(window, FocusKind.NOTE, "n")
    press(window, Key.Key_S, Key.Key_Right)
    assert main(window).notes["n"].at == Point(10, 400)


@way("Drag a number sideways")
def _(window):
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_V, Key.Key_Up, Key.Key_Up, Key.Key_Down)
    assert main(window).blocks["mul1"].literals["a"].array == 4


@way("Click on a number")
def _(window):
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_V)
    assert window.canvas.view.number == NumberCell("mul1", "a")
    press(window, Key.Key_Escape)
    assert window.canvas.view.number is None


@way("Double-click on a number")
def _(window):
    go(window, FocusKind.BLOCK, "mul1")
    press(window, Key.Key_V, Key.Key_Return)
    QTest.keyClicks(window.canvas.findChild(QLineEdit), "12")
    press(window, Key.Key_Return)
    assert main(window).blocks["mul1"].literals["a"].array == 12


def _several(window):
    for name in ("a", "stop"):
        go(window, FocusKind.BLOCK, name)
        press(window, Key.Key_S)
    assert window.canvas.selection() == {"a", "stop"}


way("Drag on the background")(_several)
way("Alt + drag on the background")(_several)


@way("Alt + drag on a block")
def _(window):
    at = main(window).layout["stop"]
    go(window, FocusKind.BLOCK, "stop")
    press(window, Key.Key_L, Key.Key_S, Key.Key_Down)
    assert main(window).wires[PortName("add1", "a")] == PortName("mul1", "out")
    assert PortName("stop", "x") not in main(window).wires
    assert main(window).layout["stop"].y > at.y


@way("Drag from the square of a block's own variable")
def _(window):
    window.edit.change(AddBlock("fc", registry().get("Linear").new()))
    go(window, FocusKind.BLOCK, "fc")
    press(window, Key.Key_S)
    press(window, Key.Key_M, held=CONTROL | SHIFT)
    assert main(window).wires[PortName("fc", "weight")] == PortName("fc_weight", "out")
    press(window, Key.Key_O, held=CONTROL | SHIFT)
    assert set(main(window).blocks["fc"].owned) == {"weight", "bias"}
    assert "fc_weight" not in main(window).blocks


@way("Drag a note's corner")
def _(window):
    go(window, FocusKind.NOTE, "n")
    press(window, Key.Key_Right, held=CONTROL | SHIFT)
    assert main(window).notes["n"].width == 210


@way("Drag from a port onto a block")
@way("Drag from a port")
def _(window):
    go(window, FocusKind.OUTPUT, "b.out")
    press(window, Key.Key_Space)
    go(window, FocusKind.BLOCK, "add1")
    press(window, Key.Key_Space)
    assert main(window).wires[PortName("add1", "a")] == PortName("b", "out")


@way("Drag from an output of several selected blocks onto a block")
def _(window):
    for source, target in (("a", "a"), ("b", "b")):
        go(window, FocusKind.OUTPUT, f"{source}.out")
        press(window, Key.Key_Space)
        go(window, FocusKind.INPUT, f"add1.{target}")
        press(window, Key.Key_Space)
    assert main(window).wires[PortName("add1", "a")] == PortName("a", "out")
    assert main(window).wires[PortName("add1", "b")] == PortName("b", "out")


@way("Drag from a port onto the background")
def _(window):
    go(window, FocusKind.OUTPUT, "b.out")
    press(window, Key.Key_Space, Key.Key_Tab)
    QTest.keyClicks(box(window).line, "relu")
    press(window, Key.Key_Return)
    assert main(window).wires[PortName("relu1", "x")] == PortName("b", "out")


@way("Drag a wire off its input, or the selected wire off its output")
def _(window):
    go(window, FocusKind.WIRE, "stop.x")
    press(window, Key.Key_Delete)
    go(window, FocusKind.OUTPUT, "mul1.out")
    press(window, Key.Key_Space)
    go(window, FocusKind.INPUT, "add1.a")
    press(window, Key.Key_Space)
    assert PortName("stop", "x") not in main(window).wires
    assert main(window).wires[PortName("add1", "a")] == PortName("mul1", "out")


@way("Drop a block on a wire")
def _(window):
    press(window, Key.Key_Tab)
    QTest.keyClicks(box(window).line, "tanh")
    press(window, Key.Key_Return)
    go(window, FocusKind.WIRE, "stop.x")
    press(window, Key.Key_I)
    assert main(window).wires[PortName("stop", "x")] == PortName("tanh1", "out")


@way("Ctrl + Shift + drag, right drag")
def _(window):
    before = window.document.diagram
    for wire in ("stop.x", "add1.b"):
        go(window, FocusKind.WIRE, wire)
        press(window, Key.Key_C)
    press(window, Key.Key_Delete)
    assert not {PortName.parse("stop.x"), PortName.parse("add1.b")} & main(window).wires.keys()
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram is before


@way("{canvas.preview_cuts} held, click on a wire")
def _(window):
    go(window, FocusKind.WIRE, "stop.x")
    press(window, Key.Key_T, held=CONTROL)
    assert window.trial.active


@way("Rest on a wire")
def _(window):
    go(window, FocusKind.WIRE, "stop.x")
    press(window, Key.Key_T)
    assert window.canvas.view.traced == "stop.x"


@way("Wheel")
def _(window):
    before = window.canvas.zoom()
    press(window, Key.Key_Plus, held=CONTROL)
    assert window.canvas.zoom() > before
    press(window, Key.Key_Minus, held=CONTROL)
    assert window.canvas.zoom() == pytest.approx(before)


@way("{canvas.space} + drag, middle drag")
def _(window):
    before = window.canvas.view.camera
    press(window, Key.Key_PageDown)
    press(window, Key.Key_PageDown, held=SHIFT)
    after = window.canvas.view.camera
    assert after.x < before.x
    assert after.y < before.y


@way("Click in the mini-map")
def _(window):
    window.canvas.set_zoom(3.0)
    press(window, Key.Key_End)
    assert window.canvas.rect().contains(window.canvas.block_rect("loss").center())
    press(window, Key.Key_Home)
    assert window.canvas.rect().contains(window.canvas.block_rect("b").center())


@way("Click on a page above the canvas")
def _(window):
    window.edit.change(group(window.document.diagram, "main", ["mul1"]))
    go(window, FocusKind.BLOCK, "group1")
    press(window, Key.Key_Return)
    assert window.navigation.page == "group1"
    press(window, Key.Key_Up, held=ALT)
    assert window.navigation.page == "main"


@way("Drag the legend")
def _(window):
    press(window, Key.Key_L, held=CONTROL)
    assert window.canvas.legend.isVisible()
    press(window, Key.Key_L, held=CONTROL)
    assert not window.canvas.legend.isVisible()


@way("Drag from the palette")
def _(window):
    press(window, Key.Key_Space, held=CONTROL)
    QTest.keyClicks(QApplication.focusWidget(), "tanh")
    press(window, Key.Key_Return)
    assert "tanh1" in main(window).blocks
    assert QApplication.focusWidget() is window.canvas


@way("Click on ★")
def _(window):
    press(window, Key.Key_Space, held=CONTROL)
    QTest.keyClicks(QApplication.focusWidget(), "tanh")
    press(window, Key.Key_B, held=CONTROL)
    assert window.windows.favourites.starred == ("Tanh",)


@way("Click on a page of the palette")
def _(window):
    window.actions_by_name["new_page"].trigger()
    press(window, Key.Key_Space, held=CONTROL)
    QTest.keyClicks(QApplication.focusWidget(), "page1")
    press(window, Key.Key_Return, held=CONTROL)
    assert window.navigation.page == "page1"


@way("Click into a panel")
def _(window):
    seen = [QApplication.focusWidget()]
    for _ in range(len(window.docks.by_name)):
        press(window, Key.Key_F6)
        seen.append(QApplication.focusWidget())
        if seen[-1] is window.canvas:
            break
    assert window.palette_panel.search_line in seen
    assert any(window.inspector.isAncestorOf(at) for at in seen[:-1])
    assert seen[-1] is window.canvas
    press(window, Key.Key_F6, held=SHIFT)
    assert QApplication.focusWidget() is seen[-2]


@way("Drag the edge of a panel")
def _(window):
    press(window, Key.Key_F6)
    before = window.docks.by_name["palette"].width()
    press(window, Key.Key_Right, Key.Key_Right, held=ALT | SHIFT)
    QApplication.processEvents()
    assert window.docks.by_name["palette"].width() > before
    press(window, Key.Key_Left, held=ALT | SHIFT)


@way("Drag the title of a panel")
def _(window):
    press(window, Key.Key_F6)
    at = QApplication.focusWidget()
    window.actions_by_name["move_panel"].trigger()
    dock = window.docks.by_name["palette"]
    assert window.dockWidgetArea(dock) == Qt.DockWidgetArea.BottomDockWidgetArea
    assert QApplication.focusWidget() is at
    window.actions_by_name["move_panel"].trigger()
    assert window.dockWidgetArea(dock) == Qt.DockWidgetArea.RightDockWidgetArea
