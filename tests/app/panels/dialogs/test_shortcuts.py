"""The sheet of shortcuts: searched, changed and shared, while the diagram stays in use."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.input.bindings import KEYS, MOUSE
from gradwire.app.panels.dialogs.command_palette import plain, rows
from gradwire.app.panels.dialogs.shortcuts import ShortcutSheet
from gradwire.app.services.plain_text import tooltip
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import AddBlock

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    window.canvas.setFocus()
    return window


@pytest.fixture
def sheet(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_F1)
    (found,) = window.findChildren(ShortcutSheet)
    qtbot.waitUntil(found.line.hasFocus)
    yield found
    found.close()


def all_items(item):
    for number in range(item.childCount()):
        child = item.child(number)
        yield child
        yield from all_items(child)


def text_of(sheet):
    items = all_items(sheet.list.invisibleRootItem())
    return "\n".join(f"{item.text(0)}\t{item.text(1)}" for item in items)


def shown(sheet):
    return [line.text(0) for line in sheet.lines() if not line.isHidden()]


def choose(sheet, text, under=""):
    """Make the line with that text the current one, as a click does."""
    items = all_items(sheet.list.invisibleRootItem())
    fitting = (item for item in items if item.text(0) == text)
    sheet.list.setCurrentItem(next(item for item in fitting if under in item.parent().text(0)))


def press_new_key(sheet, qtbot, key, held=Qt.KeyboardModifier.NoModifier):
    sheet.editor.field.setFocus()
    qtbot.keyClick(sheet.editor.field, key, held)


def click(button, qtbot):
    assert button.isEnabled()
    qtbot.mouseMove(button)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.mark.night
@pytest.mark.parametrize("key", [Qt.Key.Key_F1, "?"])
def test_it_has_every_key_and_is_not_modal(window, qtbot, key):
    if key == "?":
        qtbot.keyClicks(window.canvas, "?")
    else:
        qtbot.keyClick(window, key)
    (sheet,) = window.findChildren(ShortcutSheet)
    assert sheet.isVisible()
    assert QApplication.activeModalWidget() is None
    text, keymap = text_of(sheet), window.windows.keymap
    for name, action in window.actions_by_name.items():
        assert action.shortcut().toString() in text, name
        if name not in ("undo", "redo"):
            assert plain(action.text()) in text
    assert all(keymap.spell(row.text) in text for row in KEYS if not row.action)
    assert all(keymap.spell(part) in text for way in MOUSE for part in (way.mouse, way.keys))
    sheet.close()


def test_typing_narrows_it_to_actions_or_keys(sheet, qtbot):
    qtbot.keyClicks(sheet.line, "training step")
    assert shown(sheet) == ["Training Step"]
    sheet.line.clear()
    qtbot.keyClicks(sheet.line, "ctrl+g")
    assert shown(sheet) == ["Group into Page"]
    sheet.line.clear()
    qtbot.keyClicks(sheet.line, "nothing of the sort")
    assert shown(sheet) == []


def test_the_diagram_is_edited_meanwhile(sheet, window, qtbot):
    window.edit.change(AddBlock("c", Add()))
    window.activateWindow()
    qtbot.keyClick(window.canvas, Qt.Key.Key_A, CONTROL)
    assert window.canvas.selection() == {"c"}
    assert sheet.isVisible()


def test_a_new_key_is_pressed_and_shows_everywhere(sheet, window, qtbot):
    choose(sheet, "Learning Rate")
    press_new_key(sheet, qtbot, Qt.Key.Key_R, CONTROL)
    click(sheet.editor.assign, qtbot)
    action = window.actions_by_name["rate"]
    assert action.shortcut().toString() == "Ctrl+R"
    assert action.toolTip() == tooltip("Learning Rate (Ctrl+R)")
    assert "Learning Rate\tCtrl+R" in text_of(sheet)
    listed = {row.text: row.action for row in rows(window.menus.by_name)}
    assert listed["Run: Learning Rate"].shortcut().toString() == "Ctrl+R"
    other = window.windows.new()
    assert other.actions_by_name["rate"].shortcut().toString() == "Ctrl+R"
    other.close()


def test_the_tool_bar_shows_the_key_too(window):
    button = window.toolbar.buttons["step"]
    assert "F10" in button.toolTip()
    window.windows.keymap.assign("step", 0, "Ctrl+F7")
    assert "Ctrl+F7" in button.toolTip() and "F10" not in button.toolTip()


def test_a_key_in_use_says_whose_it_is_and_is_taken_on_purpose(sheet, window, qtbot):
    choose(sheet, "Learning Rate")
    press_new_key(sheet, qtbot, Qt.Key.Key_D, CONTROL)
    assert sheet.editor.label.text() == "Ctrl+D is in use: Duplicate"
    assert sheet.editor.assign.text() == "Take It"
    assert window.actions_by_name["duplicate"].shortcut().toString() == "Ctrl+D"  # not yet
    click(sheet.editor.assign, qtbot)
    assert window.actions_by_name["duplicate"].shortcut().isEmpty()
    choose(sheet, "Duplicate")
    click(sheet.editor.reset, qtbot)  # its own key is in use now: asks
    assert sheet.editor.label.text() == "Ctrl+D is in use: Learning Rate"
    click(sheet.editor.assign, qtbot)
    assert window.actions_by_name["duplicate"].shortcut().toString() == "Ctrl+D"
    assert window.actions_by_name["rate"].shortcut().isEmpty()


def test_a_key_is_removed_and_comes_back(sheet, window, qtbot):
    choose(sheet, "Training Step")
    click(sheet.editor.remove, qtbot)
    assert window.actions_by_name["step"].shortcut().isEmpty()
    click(sheet.editor.reset, qtbot)
    assert window.actions_by_name["step"].shortcut().toString() == "F10"


@pytest.mark.night
def test_a_key_of_the_canvas_is_changed_and_its_text_with_it(sheet, window, qtbot):
    window.edit.change(AddBlock("c", Add()))
    window.edit.change(AddBlock("d", Add()))
    choose(sheet, "Show the selected wire from end to end and dim the rest, or stop")
    press_new_key(sheet, qtbot, Qt.Key.Key_J)
    click(sheet.editor.assign, qtbot)
    assert "Rest on a wire: Show it from end to end and dim the rest\tJ" in text_of(sheet)
    choose(sheet, "Right", under="from block to port")
    press_new_key(sheet, qtbot, Qt.Key.Key_K)
    click(sheet.editor.assign, qtbot)
    canvas = window.canvas
    canvas.select(["c"])
    before = window.document.diagram.main.layout["c"]
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert window.document.diagram.main.layout["c"] == before
    qtbot.keyClick(canvas, Qt.Key.Key_K)
    assert window.document.diagram.main.layout["c"].x > before.x


def test_a_held_key_of_the_canvas_ends_when_it_goes_up(sheet, window, qtbot):
    window.windows.keymap.assign("canvas.space", 0, "G")
    canvas = window.canvas
    qtbot.keyPress(canvas, Qt.Key.Key_G)
    assert canvas.cursor().shape() == Qt.CursorShape.OpenHandCursor
    qtbot.keyRelease(canvas, Qt.Key.Key_G)
    assert canvas.cursor().shape() == Qt.CursorShape.ArrowCursor


def test_an_action_and_its_key_on_the_canvas_change_together(window, qtbot):
    window.edit.change(AddBlock("c", Add()))
    window.windows.keymap.assign("select_all", 0, "Ctrl+U")
    qtbot.keyClick(window.canvas, Qt.Key.Key_A, CONTROL)
    assert not window.canvas.selection()
    qtbot.keyClick(window.canvas, Qt.Key.Key_U, CONTROL)
    assert window.canvas.selection() == {"c"}


def test_the_key_that_leaves_stays(sheet, qtbot):
    choose(sheet, next(row.text for row in KEYS if row.method == "leave"))
    assert not sheet.editor.field.isEnabled()
    choose(sheet, "Learning Rate")
    assert sheet.editor.field.isEnabled()


def test_a_file_brings_them_to_another_user(sheet, window, qtbot, tmp_path):
    keymap = window.windows.keymap
    keymap.assign("rate", 0, "Ctrl+R")
    sheet.export(tmp_path / "mine.shortcuts.json")
    click(next(b for b in sheet.findChildren(type(sheet.editor.reset)) if b.text() == "Reset All"),
          qtbot)  # fmt: skip
    assert window.actions_by_name["rate"].shortcut().isEmpty()
    sheet.take(tmp_path / "mine.shortcuts.json")
    assert window.actions_by_name["rate"].shortcut().toString() == "Ctrl+R"
    assert "mine.shortcuts.json" in sheet.message.text()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{}", None])
def test_a_file_that_is_none_says_why(sheet, window, tmp_path, content):
    path = tmp_path / "theirs.json"
    if content is not None:
        path.write_bytes(content)
    before = window.windows.keymap.to_text()
    sheet.take(path)
    assert "theirs.json was not taken" in sheet.message.text()
    assert window.windows.keymap.to_text() == before


def test_arrows_go_from_the_search_to_the_list(sheet, qtbot):
    qtbot.keyClicks(sheet.line, "learning")
    qtbot.keyClick(sheet.line, Qt.Key.Key_Down)
    assert sheet.list.hasFocus()
    assert sheet.list.currentItem().text(0) == "Learning Rate"
    assert sheet.list.accessibleName() == "Shortcuts"


def test_the_action_of_the_menu_shows_it_again(sheet, window):
    sheet.close()
    window.actions_by_name["shortcuts"].trigger()
    assert sheet.isVisible()
    assert len(window.findChildren(ShortcutSheet)) == 1


def test_escape_closes_it(sheet, qtbot):
    qtbot.keyClick(sheet.line, Qt.Key.Key_Escape)
    assert not sheet.isVisible()
