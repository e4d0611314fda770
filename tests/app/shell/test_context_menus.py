"""Context menus: each target has its own, by a right click and by keys, and its actions work."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gradwire.app.canvas.input.changes import MenuTarget, target_of
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.shell.menus import CONTEXT_MENUS
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import AddBlock, Note, Point, SetNote

RIGHT, LEFT = Qt.MouseButton.RightButton, Qt.MouseButton.LeftButton


@pytest.fixture
def window(opened, qtbot):
    made = opened(build(loss(stop_gradient(variable("w", [1.0]) * 3.0, name="sg"), name="loss")))
    made.edit.change(SetNote("frame", Note("Parts", Point(-40.0, 300.0), 300.0, 120.0, True)))
    made.edit.change(SetNote("note", Note("Text", Point(400.0, 300.0))))
    made.edit.change(AddBlock("use", PageBlock(page="p"), Point(800.0, 300.0)))
    made.canvas.set_selection(Selection())
    made.canvas.zoom_to_fit()
    made.canvas.setFocus()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def shown():
    """The names in the menu that is open, and the menu, which is then closed."""
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.close()
    return {action.objectName() for action in menu.actions()} - {""}


def click(window, at):
    QTest.mouseMove(window.canvas, at)
    QTest.mouseClick(window.canvas, RIGHT, Qt.KeyboardModifier.NoModifier, at)
    return shown()


def note_at(window, name):
    x, y = window.document.diagram.main.notes[name].at
    camera = window.canvas.view.camera
    return QPoint(round(x * camera.zoom + camera.x) + 12, round(y * camera.zoom + camera.y) + 8)


def face(window, name):
    box = window.canvas.block_rect(name)
    return QPoint(box.center().x(), box.top() + 8)


PLACES = {
    MenuTarget.CANVAS: lambda w: QPoint(w.canvas.width() // 2, 4),
    MenuTarget.BLOCK: lambda w: face(w, "mul1"),
    MenuTarget.PAGE: lambda w: face(w, "use"),
    MenuTarget.STOP: lambda w: face(w, "sg"),
    MenuTarget.PORT: lambda w: w.canvas.port_position("sg", "x"),
    MenuTarget.WIRE: lambda w: w.canvas.wire_position("loss.x"),
    MenuTarget.FRAME: lambda w: note_at(w, "frame"),
    MenuTarget.NOTE: lambda w: note_at(w, "note"),
}


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("target", PLACES, ids=lambda target: target.name)
def test_a_right_click_shows_the_menu_of_what_is_there(window, target):
    names = click(window, PLACES[target](window))
    assert target_of(window.canvas.view) is target
    assert names == {name for name in CONTEXT_MENUS[target] if name}


def test_several_items_have_a_menu_with_submenus(window):
    window.canvas.select({"w", "mul1"})
    at = face(window, "w")
    QTest.mouseClick(window.canvas, RIGHT, Qt.KeyboardModifier.NoModifier, at)
    menu = QApplication.activePopupWidget()
    inner = [action.menu() for action in menu.actions() if action.menu() is not None]
    menu.close()
    assert inner == [window.menus.by_name[name] for name in ("align", "colour", "presets")]
    assert window.canvas.selection() == {"w", "mul1"}


def test_a_submenu_outlives_the_context_menu(window, qtbot):
    window.canvas.select({"w", "mul1"})
    QTest.mouseClick(window.canvas, RIGHT, Qt.KeyboardModifier.NoModifier, face(window, "w"))
    menu = QApplication.activePopupWidget()
    with qtbot.waitSignal(menu.destroyed):
        menu.close()
    assert window.menus.by_name["align"].actions()


def test_a_right_click_on_the_page_is_about_the_page(window):
    window.canvas.select({"w"})
    assert "select_all" in click(window, PLACES[MenuTarget.CANVAS](window))
    assert window.canvas.selection() == frozenset()


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("way", ["key M", "menu key"])
@pytest.mark.parametrize(
    "target", [MenuTarget.BLOCK, MenuTarget.WIRE, MenuTarget.NOTE, MenuTarget.PORT]
)
def test_keys_show_the_menu_of_the_focus_beside_it(window, target, way):
    focus = {
        MenuTarget.BLOCK: Focus(FocusKind.BLOCK, "mul1"),
        MenuTarget.WIRE: Focus(FocusKind.WIRE, "loss.x"),
        MenuTarget.NOTE: Focus(FocusKind.NOTE, "note"),
        MenuTarget.PORT: Focus(FocusKind.INPUT, "sg.x"),
    }[target]
    window.canvas.keyboard_focus.focus_on(focus)
    if way == "key M":
        QTest.keyClick(window.canvas, Qt.Key.Key_M)
    else:
        reason = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(window.canvas, QContextMenuEvent(reason, QPoint(), QPoint()))
    menu = QApplication.activePopupWidget()
    place = window.canvas.mapFromGlobal(menu.pos())
    names = shown()
    assert names == {name for name in CONTEXT_MENUS[target] if name}
    assert (place - window.canvas.keyboard_focus.centre().toPoint()).manhattanLength() < 400
    assert target_of(window.canvas.view) is target


def test_every_name_is_an_action_or_a_menu(window):
    for names in CONTEXT_MENUS.values():
        assert set(names) - {""} <= window.actions_by_name.keys() | window.menus.by_name.keys()
        assert names[0] and names[-1]


def do(window, name):
    window.actions_by_name[name].trigger()


def wires(window):
    return {str(a): str(b) for a, b in window.document.diagram.main.wires.items()}


def test_a_wire_is_stopped_in_one_action_and_one_undo(window, qtbot):
    before = window.document.diagram
    window.canvas.select_wire("sg.x")
    do(window, "stop_wire")
    (name,) = window.canvas.selection()
    assert isinstance(window.document.diagram.main.blocks[name], StopGradient)
    assert wires(window)["sg.x"] == f"{name}.out"
    assert wires(window)[f"{name}.x"] == "mul1.out"
    window.document.undo_stack.undo()
    assert window.document.diagram is before


def test_without_a_wire_nothing_is_stopped(window):
    before = window.document.diagram
    do(window, "stop_wire")
    assert "Select a wire" in window.actions_by_name["stop_wire"].statusTip()
    assert window.document.diagram is before


def test_a_stop_is_opened_and_closed(window):
    window.canvas.select({"sg"})
    do(window, "switch_stop")
    assert window.document.diagram.main.blocks["sg"].open
    do(window, "switch_stop")
    assert not window.document.diagram.main.blocks["sg"].open


def focus_port(window, name, kind=FocusKind.INPUT):
    window.canvas.keyboard_focus.focus_on(Focus(kind, name))


def test_a_port_is_disconnected(window):
    focus_port(window, "mul1.out", FocusKind.OUTPUT)
    do(window, "disconnect_port")
    assert "sg.x" not in wires(window)
    assert "loss.x" in wires(window)


def test_a_wire_begins_at_a_port(window):
    focus_port(window, "mul1.out", FocusKind.OUTPUT)
    do(window, "wire_port")
    assert window.canvas.keyboard_focus.wire is not None


def test_a_block_is_added_at_a_port(window, qtbot):
    focus_port(window, "mul1.out", FocusKind.OUTPUT)
    do(window, "add_at_port")
    QTest.keyClicks(QApplication.focusWidget(), "tanh")
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert wires(window)["tanh1.x"] == "mul1.out"


def test_why_explains_what_is_selected(window):
    window.canvas.select_wire("sg.x")
    do(window, "explain")
    assert window.canvas.route() is not None
    window.canvas.show_route(None)
    window.canvas.set_selection(Selection(blocks=frozenset({"w"})))
    do(window, "explain")
    assert window.canvas.route() is not None
    window.canvas.show_route(None)
    focus_port(window, "sg.x")
    do(window, "explain")
    assert window.canvas.route() is not None


def test_a_block_is_inspected_and_a_page_entered(window, qtbot):
    window.docks.by_name["inspector"].hide()
    window.canvas.select({"mul1"})
    do(window, "inspect")
    assert window.docks.by_name["inspector"].isVisible()
    do(window, "new_page")
    do(window, "enter_page")
    assert window.navigation.page == "page1"
