"""Presets of parameters: saved from one block, given to others by the menu, renamed, deleted."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QInputDialog, QLineEdit, QMessageBox

from gradwire.app.panels.dialogs.command_palette import rows
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.diagram import AddBlock, Batch, Point
from gradwire.runtime.diagram.files.presets import PresetName

MARKUP = "<s>b</s> & c"
"""A name that Qt would take for markup and the mark of a key."""


@pytest.fixture
def window(window, qtbot):
    qtbot.waitUntil(window.isActiveWindow)
    blocks = {
        "a": Variable(scale=0.5, seed=3),
        "b": Variable(initialiser="zeros"),
        "c": Variable(trainable=False),
        "k": Constant(),
        "add": Add(),
    }
    changes = [AddBlock(n, each, Point(0, 100.0 * i)) for i, (n, each) in enumerate(blocks.items())]
    window.edit.change(Batch("Add", tuple(changes)))
    window.canvas.setFocus()
    return window


def then(act):
    """Do something in the dialog that opens next; an error in it is raised, not swallowed."""

    def do():
        dialog = QApplication.activeModalWidget()
        try:
            act(dialog)
        finally:
            if dialog.isVisible():
                dialog.reject()

    QTimer.singleShot(0, do)


def save(window, block, name):
    """Save a preset as a user does: select, choose, type a name and press Enter."""

    def type_name(dialog):
        assert isinstance(dialog, QInputDialog)
        line = dialog.findChild(QLineEdit)
        QTest.keyClicks(line, name)
        QTest.keyClick(line, Qt.Key.Key_Return)

    window.canvas.select([block])
    then(type_name)
    window.actions_by_name["save_preset"].trigger()


def offered(window):
    """The entries of the menu for the selected blocks, as they are spelled there."""
    menu = window.menus.by_name["presets"]
    menu.aboutToShow.emit()
    return {each.text(): each for each in menu.actions() if each.data() is not None}


def presets(window):
    return [tuple(preset) for preset in window.windows.presets.names()]


def blocks(window):
    return window.document.diagram.main.blocks


def status(window):
    return window.statusBar().currentMessage()


def test_several_blocks_get_it_as_one_undo(window, qtbot):
    save(window, "a", " half ")
    assert presets(window) == [("Variable", "half")]
    assert status(window) == "Preset “half” is saved."
    window.canvas.select(["b", "c"])
    before = window.document.diagram
    offered(window)["half"].trigger()
    assert blocks(window)["b"] == blocks(window)["c"] == Variable(scale=0.5, seed=3)
    assert window.document.undo_stack.undoText() == "Apply preset half"
    window.activateWindow()  # as a window manager does after a dialog
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert blocks(window) == before.main.blocks


def test_a_parameter_that_it_does_not_name_stays(window):
    window.windows.presets.put(PresetName("Variable", "wide"), {"scale": 9.0})
    window.canvas.select(["c"])
    offered(window)["wide"].trigger()
    assert blocks(window)["c"] == Variable(trainable=False, scale=9.0)
    before = window.document.undo_stack.index()
    offered(window)["wide"].trigger()
    assert window.document.undo_stack.index() == before
    assert status(window) == "The parameters are those of “wide”."


def test_it_is_chosen_by_keys_from_the_menu_of_the_block(window, qtbot):
    save(window, "a", "half")
    window.canvas.select(["b"])
    menu = window.menus.by_name["presets"]
    menu.popup(window.mapToGlobal(window.rect().center()))
    for _ in range(4):  # after those that save, rename and delete
        QTest.keyClick(menu, Qt.Key.Key_Down)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: blocks(window)["b"] == blocks(window)["a"])


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("chosen", "listed"),
    [(["b"], {"half"}), (["b", "c"], {"half"}), (["b", "k"], set()), (["add"], set()), ([], set())],
)
def test_it_is_offered_to_blocks_of_its_type_alone(window, chosen, listed):
    save(window, "a", "half")
    window.canvas.select(chosen)
    assert set(offered(window)) == listed


def test_every_window_and_the_command_palette_have_it(window):
    save(window, "a", "half")
    window.canvas.select(["b"])
    listed = {row.text: row.action for row in rows(window.menus.by_name)}
    listed["Presets: half"].trigger()
    assert blocks(window)["b"].scale == 0.5
    other = window.windows.new()
    other.edit.change(AddBlock("v", Variable()))
    other.canvas.select(["v"])
    assert set(offered(other)) == {"half"}


@pytest.mark.night
@pytest.mark.parametrize(("button", "scale"), [("No", 0.5), ("Yes", 1.0)])
def test_another_of_the_name_is_replaced_only_on_purpose(window, button, scale):
    save(window, "a", MARKUP)

    def answer(box):
        assert isinstance(box, QMessageBox)
        assert box.textFormat() == Qt.TextFormat.PlainText and MARKUP in box.text()
        box.button(getattr(QMessageBox.StandardButton, button)).click()

    def type_name(dialog):
        then(answer)
        dialog.setTextValue(MARKUP)
        dialog.accept()

    window.canvas.select(["b"])
    then(type_name)
    window.actions_by_name["save_preset"].trigger()
    assert window.windows.presets.values(PresetName("Variable", MARKUP))["scale"] == scale


def test_a_name_is_shown_as_it_is(window):
    save(window, "a", MARKUP)
    assert list(offered(window)) == [MARKUP.replace("&", "&&")]


@pytest.mark.night
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"scale": 2.0, "gone": 1}, "Variable has no parameter 'gone'."),
        ({"scale": 2.0, "initialiser": "magic"}, "initialiser"),
        ({"scale": 2.0, "bypassed": True}, "Variable has no parameter 'bypassed'."),
    ],
)
def test_one_that_no_longer_fits_says_why_and_changes_nothing(window, values, reason):
    window.windows.presets.put(PresetName("Variable", "old"), values)
    before = window.document.diagram
    window.canvas.select(["a", "b"])
    offered(window)["old"].trigger()
    assert window.document.diagram is before
    assert window.notice.text().startswith("Preset “old” was not applied. ")
    assert reason in window.notice.text()


def test_one_that_has_gone_since_says_so(window):
    save(window, "a", "half")
    window.canvas.select(["b"])
    entry = offered(window)["half"]
    window.settings.presets.unlink()
    entry.trigger()
    assert "Variable has no preset “half”." in window.notice.text()
    window.canvas.select(["k"])
    entry.trigger()
    assert status(window) == "Select blocks of type Variable."


def test_a_bad_file_is_said_and_kept(window):
    window.settings.presets.write_text('{"gradwire presets": 1,\n"presets": 3}', "utf-8")
    window.canvas.select(["a"])
    (entry,) = offered(window).values()
    assert not entry.isEnabled() and entry.text() == "The presets can't be read"
    assert "presets.json:2:1: 'presets' is not an object." in entry.statusTip()
    save(window, "a", "half")
    assert window.notice.text().startswith("Preset “half” was not saved. ")
    window.notice.dismiss()
    window.actions_by_name["delete_preset"].trigger()
    assert window.notice.text().startswith("No preset was deleted. ")
    window.notice.dismiss()
    window.actions_by_name["rename_preset"].trigger()
    assert window.notice.text().startswith("No preset was renamed. ")
    assert window.settings.presets.read_text("utf-8").endswith('"presets": 3}')


@pytest.mark.parametrize("chosen", [["add"], ["a", "b"]])
def test_what_can_not_be_saved_says_so(window, chosen):
    window.canvas.select(chosen)
    window.actions_by_name["save_preset"].trigger()
    assert status(window) == "Select one block that has parameters."


def test_without_a_name_or_on_cancel_nothing_is_saved(window):
    save(window, "a", "  ")
    window.canvas.select(["a"])
    then(lambda dialog: dialog.reject())
    window.actions_by_name["save_preset"].trigger()
    assert not window.settings.presets.exists()


def test_one_is_deleted_and_those_of_the_selected_type_come_first(window):
    save(window, "a", "half")
    save(window, "k", "zero")
    seen = []

    def choose(dialog):
        box = dialog.findChild(QComboBox)
        seen.extend(box.itemText(row) for row in range(box.count()))
        QTest.keyClick(box, Qt.Key.Key_Down)
        dialog.accept()

    window.canvas.select(["b"])
    then(choose)
    window.actions_by_name["delete_preset"].trigger()
    assert seen == ["Variable: half", "Constant: zero"]
    assert presets(window) == [("Variable", "half")]
    assert status(window) == "Preset “zero” is deleted."


def rename(window, line, name):
    """Rename a preset as a user does: choose it, type another name and press Enter."""

    def type_name(dialog):
        text = dialog.findChild(QLineEdit)
        text.selectAll()
        QTest.keyClicks(text, name)
        QTest.keyClick(text, Qt.Key.Key_Return)

    def choose(dialog):
        dialog.setTextValue(line)
        then(type_name)
        dialog.accept()

    then(choose)
    window.actions_by_name["rename_preset"].trigger()


def test_one_is_renamed_and_keeps_its_parameters(window):
    save(window, "a", "half")
    values = window.windows.presets.values(PresetName("Variable", "half"))
    rename(window, "Variable: half", f" {MARKUP} ")
    assert presets(window) == [("Variable", MARKUP)]
    assert window.windows.presets.values(PresetName("Variable", MARKUP)) == values
    assert status(window) == f"Preset “half” is called “{MARKUP}” now."


@pytest.mark.night
@pytest.mark.parametrize("name", ["other", "x" * 81])
def test_a_name_that_is_taken_or_too_long_is_refused_and_nothing_changes(window, name):
    save(window, "a", "half")
    save(window, "b", "other")
    before = window.settings.presets.read_bytes()
    rename(window, "Variable: half", name)
    assert window.notice.text().startswith("No preset was renamed. ")
    assert window.settings.presets.read_bytes() == before


def test_the_same_name_or_none_changes_nothing(window):
    save(window, "a", "half")
    for name in ("half", "  "):
        rename(window, "Variable: half", name)
    assert presets(window) == [("Variable", "half")]
    assert window.notice.isHidden()


@pytest.mark.parametrize("name", ["delete_preset", "rename_preset"])
def test_without_presets_none_is_chosen(window, name):
    window.actions_by_name[name].trigger()
    assert status(window) == "There are no presets."
