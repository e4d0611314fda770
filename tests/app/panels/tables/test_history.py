"""The history lists every change in words, and goes to any of them."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication

from gradwire.app.document import document as documents
from gradwire.app.document.document import Document
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import AddBlock, Diagram

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
NAMES = ("first", "second", "third")


@pytest.fixture
def history(window, qtbot):
    """The list of a window in which three blocks were added, opened by its key."""
    qtbot.waitUntil(window.isActiveWindow)
    for name in NAMES:
        window.edit.change(AddBlock(name, Add()))
    qtbot.keyClick(window.canvas, Qt.Key.Key_H, CTRL_SHIFT)
    qtbot.waitUntil(window.history.hasFocus)
    return window.history


def blocks(window):
    return set(window.document.diagram.main.blocks)


def lines(history):
    table = history.table
    return [
        tuple(table.index(row, column).data() for column in range(3))
        for row in range(table.rowCount())
    ]


def spoken(history, row):
    return history.table.index(row, 1).data(Qt.ItemDataRole.AccessibleTextRole)


def click(history, row, qtbot):
    at = history.visualRect(history.table.index(row, 1)).center()
    qtbot.mouseMove(history.viewport(), at)
    qtbot.mouseClick(history.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_it_leaves_the_canvas_its_room_until_it_is_wanted(window):
    assert not window.docks.by_name["history"].isVisible()


def test_each_change_has_a_line_in_words_and_the_current_one_a_mark(history, window):
    texts = [text for _, text, _ in lines(history)]
    assert texts[0] == "As opened"
    assert all(name in text for name, text in zip(NAMES, texts[1:], strict=True))
    assert [mark for mark, _, _ in lines(history)] == ["", "", "", "▸"]
    window.document.undo_stack.undo()
    assert [mark for mark, _, _ in lines(history)] == ["", "", "▸", ""]
    assert history.currentIndex().row() == 2


def test_the_state_of_the_file_is_marked(history, window, tmp_path):
    assert [saved for _, _, saved in lines(history)] == ["saved", "", "", ""]
    assert window.document.save_as(tmp_path / "saved.gradwire.json")
    assert [saved for _, _, saved in lines(history)] == ["", "", "", "saved"]


def test_a_click_goes_there_and_nothing_between_is_shown(history, window, qtbot):
    shown = QSignalSpy(window.document.diagramChanged)
    click(history, 1, qtbot)
    assert blocks(window) == {"first"}
    assert shown.count() == 1
    click(history, 3, qtbot)
    assert blocks(window) == set(NAMES)
    assert shown.count() == 2
    assert window.canvas.selection() == {"second", "third"}  # what has come back


def test_the_keyboard_goes_there_and_back(history, window, qtbot):
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Return):
        qtbot.keyClick(history, key)
    assert blocks(window) == {"first"}
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_End)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Down)
    assert blocks(window) == {"first"}  # only Enter goes


def test_a_change_after_a_jump_forgets_what_was_undone(history, window, qtbot):
    click(history, 1, qtbot)
    window.edit.change(AddBlock("other", Add()))
    assert len(lines(history)) == 3
    assert blocks(window) == {"first", "other"}


def test_a_screen_reader_hears_where_it_is(history, window):
    window.document.undo_stack.undo()
    assert history.accessibleName() == "Undo history"
    assert spoken(history, 0) == "0, As opened, saved"
    assert spoken(history, 2).endswith("current")
    assert spoken(history, 3).endswith("undone")


def test_another_file_has_another_history(history, window):
    window.document.new()
    assert lines(history) == [("▸", "As opened", "saved")]


def test_a_text_is_no_markup(history):
    tip = history.table.index(1, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("<div")
    assert history.viewport().rect().contains(QPoint(1, 1))


def test_the_history_is_bounded(monkeypatch):
    monkeypatch.setattr(documents, "UNDO_LIMIT", 2)
    document = Document()
    for name in NAMES:
        document.apply(AddBlock(name, Add()))
    document.jump(0)
    assert set(document.diagram.main.blocks) == {"first"}
    document.jump(2)
    assert set(document.diagram.main.blocks) == set(NAMES)


def test_a_jump_to_where_one_is_shows_nothing():
    document = Document()
    shown = QSignalSpy(document.diagramChanged)
    document.jump(0)
    assert shown.count() == 0
    assert document.diagram == Diagram()
