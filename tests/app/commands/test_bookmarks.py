"""Bookmarks: what is in view gets a name, and comes back by menu, key or list."""

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit

from gradwire.app.panels.dialogs.command_palette import rows
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import (
    AddBlock,
    InsertPage,
    Page,
    Point,
    RenamePage,
    SetViews,
    View,
    dumps,
    loads,
)

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier
VIEWS = (
    View("left", "main", Point(0.0, 0.0), 1.0),
    View("inside", "inner", Point(300.0, 200.0), 0.5),
    View("right", "main", Point(900.0, 100.0), 2.0),
)
NAMES = ["left", "inside", "right"]


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    window.edit.change(AddBlock("far", Add(), Point(900.0, 100.0)))
    window.edit.change(InsertPage("inner", Page({"in": Add()})))
    window.canvas.setFocus()
    return window


@pytest.fixture
def marked(window):
    window.edit.change(SetViews(VIEWS))
    return window


def names(window):
    return [view.name for view in window.document.diagram.views]


def is_shown(window, name):
    view = VIEWS[NAMES.index(name)]
    at = window.canvas.middle()
    return (
        window.navigation.page == view.page
        and at == pytest.approx(view.at, abs=2.0)
        and window.canvas.zoom() == pytest.approx(view.zoom * window.canvas.actual_zoom())
    )


def answer(text):
    """Type a name into the dialog that opens next, and press Enter."""

    def type_name():
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, QInputDialog)
        if text is not None:
            dialog.setTextValue(text)
        dialog.accept()

    QTimer.singleShot(0, type_name)


def test_what_is_in_view_gets_a_name_by_key(window, qtbot):
    window.canvas.show_at(Point(900.0, 100.0), 2.0 * window.canvas.actual_zoom())
    answer("the loss")
    qtbot.keyClick(window.canvas, Qt.Key.Key_B, CTRL_SHIFT)
    (view,) = window.document.diagram.views
    assert (view.name, view.page, view.zoom) == ("the loss", "main", pytest.approx(2.0))
    assert view.at == pytest.approx((900.0, 100.0), abs=2.0)
    assert loads(dumps(window.document.diagram)).views == window.document.diagram.views
    assert window.document.undo_stack.undoText() == "Bookmark the loss"
    window.document.undo_stack.undo()
    assert names(window) == []


def test_the_selected_block_is_the_suggested_name(window):
    window.canvas.select(["far"])
    answer(None)
    window.actions_by_name["bookmark_view"].trigger()
    assert names(window) == ["far"]


@pytest.mark.night
def test_a_known_name_gets_the_new_view(marked):
    marked.canvas.show_at(Point(50.0, 60.0), marked.canvas.actual_zoom())
    answer("left")
    marked.actions_by_name["bookmark_view"].trigger()
    assert names(marked) == NAMES
    assert marked.document.diagram.views[0].at == pytest.approx((50.0, 60.0), abs=2.0)


def test_a_name_that_can_not_be_is_refused_with_a_reason(window):
    answer("a/b")
    window.actions_by_name["bookmark_view"].trigger()
    assert names(window) == []
    assert "not a valid bookmark name" in window.notice.text()


@pytest.mark.night
@pytest.mark.parametrize(("key", "name"), [(1, "left"), (2, "inside"), (3, "right")])
def test_a_key_goes_there_on_whatever_page(marked, qtbot, key, name):
    qtbot.keyClick(marked.canvas, Qt.Key(Qt.Key.Key_0 + key), ALT)
    assert is_shown(marked, name)


def test_a_number_without_a_bookmark_says_so(marked, qtbot):
    qtbot.keyClick(marked.canvas, Qt.Key.Key_9, ALT)
    assert marked.statusBar().currentMessage() == "There is no bookmark 9."


@pytest.mark.night
def test_the_menu_and_the_command_palette_list_them_with_their_keys(marked):
    listed = {row.text: row.action for row in rows(marked.menus.by_name)}
    assert listed["Bookmarks: inside"].shortcut().toString() == "Alt+2"
    listed["Bookmarks: inside"].trigger()
    assert is_shown(marked, "inside")
    marked.edit.change(SetViews(()))
    marked.menus.by_name["bookmarks"].aboutToShow.emit()
    texts = [action.text() for action in marked.menus.by_name["bookmarks"].actions()]
    assert [text for text in texts if text] == ["&Bookmark View…", "&Edit Bookmarks…"]


def test_they_follow_the_name_of_their_page(marked):
    marked.edit.change(RenamePage("inner", "encoder"))
    marked.bookmarks.go_to_number(2)
    assert marked.navigation.page == "encoder"


class TestList:
    @pytest.fixture
    def dialog(self, marked, qtbot):
        marked.actions_by_name["edit_bookmarks"].trigger()
        dialog = marked.bookmarks.dialog
        qtbot.waitUntil(dialog.list.hasFocus)
        yield dialog
        dialog.close()

    def test_enter_goes_there(self, dialog, marked, qtbot):
        qtbot.keyClick(dialog.list, Qt.Key.Key_Down)
        qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
        assert is_shown(marked, "inside")

    def test_f2_renames(self, dialog, marked, qtbot):
        qtbot.keyClick(dialog.list, Qt.Key.Key_F2)
        field = dialog.list.findChild(QLineEdit)
        field.setText("start")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: names(marked) == ["start", "inside", "right"])
        assert marked.document.undo_stack.undoText() == "Rename bookmark left to start"

    def test_a_name_in_use_stays_as_it_was(self, dialog, marked):
        dialog.list.item(0).setText("right")
        assert names(marked) == NAMES
        assert [dialog.list.item(i).text() for i in range(3)] == NAMES

    @pytest.mark.night
    def test_an_invalid_name_stays_as_it_was(self, dialog, marked):
        dialog.list.item(0).setText("a/b")
        assert names(marked) == NAMES
        assert dialog.list.item(0).text() == "left"

    def test_delete_removes_and_undo_brings_back(self, dialog, marked, qtbot):
        qtbot.keyClick(dialog.list, Qt.Key.Key_Delete)
        assert names(marked) == ["inside", "right"]
        marked.document.undo_stack.undo()
        assert [dialog.list.item(i).text() for i in range(3)] == NAMES

    def test_alt_and_an_arrow_orders_them(self, dialog, marked, qtbot):
        qtbot.keyClick(dialog.list, Qt.Key.Key_Down, ALT)
        assert names(marked) == ["inside", "left", "right"]
        qtbot.keyClick(dialog.list, Qt.Key.Key_Up, ALT)
        qtbot.keyClick(dialog.list, Qt.Key.Key_Up, ALT)  # the first stays first
        assert names(marked) == NAMES

    def test_without_bookmarks_nothing_can_be_done(self, dialog, marked):
        marked.edit.change(SetViews(()))
        assert not any(button.isEnabled() for button in dialog.buttons)
        assert dialog.list.accessibleName() == "Bookmarks"


@pytest.mark.night
def test_without_bookmarks_the_list_says_how_to_make_one(window):
    window.actions_by_name["edit_bookmarks"].trigger()
    dialog = window.bookmarks.dialog
    assert dialog.empty.isVisible()
    assert "Bookmark View" in dialog.empty.text()
    assert not dialog.list.isVisible()
    dialog.show_views((View("here", "main", Point(0.0, 0.0), 1.0),))
    assert dialog.list.isVisible()
    assert not dialog.empty.isVisible()
    dialog.close()
