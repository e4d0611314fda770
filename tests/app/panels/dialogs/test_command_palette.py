"""Every action by a few letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

from gradwire.app.panels.dialogs import command_palette as fuzzy
from gradwire.app.panels.dialogs.command_palette import ActionRow, CommandPalette, plain, ranked
from gradwire.app.shell.actions.table import COMMANDS
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import AddBlock

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    return window


@pytest.fixture
def palette(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_P, CTRL_SHIFT)
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, CommandPalette)
    yield dialog
    if (still := QApplication.activeModalWidget()) is not None:
        still.reject()


def shown(palette):
    items = (palette.list.topLevelItem(i) for i in range(palette.list.topLevelItemCount()))
    return {item.text(0): item for item in items}


class TestFuzzy:
    def test_letters_must_come_in_order(self):
        assert fuzzy.score("vsa", "Save As") is None
        assert fuzzy.score("sas", "Save As") is not None

    def test_beginnings_of_words_and_runs_are_best(self):
        lines = ["View: Zoom In", "Edit: Undo", "View: Zoom Out", "File: Save As"]
        best = {
            sought: max(lines, key=lambda line: fuzzy.score(sought, line) or -1000)
            for sought in ("zi", "zo", "undo", "sa", "FSA")
        }
        assert best["zi"] == "View: Zoom In"
        assert best["undo"] == "Edit: Undo"
        assert best["sa"] == best["FSA"] == "File: Save As"

    def test_nothing_fits_everything(self):
        assert fuzzy.score("", "x") is not None
        assert fuzzy.score("x", "") is None


class Menus:
    """Rows as the palette has them, without menus."""

    def __init__(self, *texts):
        self.actions = [QAction(text.partition(": ")[2]) for text in texts]
        for action, text in zip(self.actions, texts, strict=True):
            action.setObjectName(text)

    def ranked(self, sought, recent=()):
        rows = [ActionRow(action.objectName(), action.text(), action) for action in self.actions]
        order = {key: place for place, key in enumerate(recent)}
        return [row.text for row in ranked(rows, sought, order)]


class TestRanking:
    def test_the_beginning_of_a_name_is_better_than_words_and_words_than_letters(self):
        menus = Menus("File: Reopen", "Edit: Undo Paste", "File: Open Recent", "File: Open")
        assert menus.ranked("open") == ["File: Open", "File: Open Recent", "File: Reopen"]
        assert menus.ranked("op")[:2] == ["File: Open Recent", "File: Open"]
        assert menus.ranked("paste") == ["Edit: Undo Paste"]

    def test_letters_begin_words_of_menu_and_name(self):
        menus = Menus("Theme: Half-Dark", "Theme: Dark", "Help: Third Ark")
        assert menus.ranked("th dark")[0] == "Theme: Half-Dark"
        assert menus.ranked("thd")[:2] == ["Theme: Half-Dark", "Theme: Dark"]
        assert set(menus.ranked("thdark")[:2]) == {"Theme: Half-Dark", "Theme: Dark"}

    def test_recent_ones_break_ties_and_nothing_else(self):
        menus = Menus("View: Zoom In", "View: Zoom Out", "Edit: Rezoom", "View: Zoom")
        recent = ["Edit: Rezoom", "View: Zoom Out"]
        assert menus.ranked("zo", recent) == [
            "View: Zoom Out", "View: Zoom In", "View: Zoom", "Edit: Rezoom"
        ]  # fmt: skip
        assert menus.ranked("zoom", recent)[0] == "View: Zoom"

    def test_rows_keep_the_order_of_the_menus(self):
        menus = Menus("File: B", "Edit: A", "File: C")
        assert menus.ranked("") == ["File: B", "Edit: A", "File: C"]

    @given(st.text("ab ", max_size=6), st.lists(st.text("ab", min_size=1), max_size=4))
    def test_what_begins_words_matches_by_its_letters_too(self, sought, words):
        text = " ".join(words)
        if fuzzy.match(sought, text, text) is not None:
            assert fuzzy.score(sought, text) is not None or not text


class TestPalette:
    def test_what_was_chosen_last_comes_first_next_time(self, palette, window, qtbot):
        qtbot.keyClicks(palette.line, "theme high")
        qtbot.keyClick(palette.line, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: window.settings.theme == "high contrast")
        window.actions_by_name["find_command"].trigger()
        again = QApplication.activeModalWidget()
        assert again.list.topLevelItem(0).text(0) == "Theme: High Contrast"

    def test_every_action_is_there_with_its_keys(self, palette, window):
        listed = shown(palette)
        for name in COMMANDS:
            text = plain(window.actions_by_name[name].text())
            row = next(item for title, item in listed.items() if title.endswith(f": {text}"))
            assert row.text(1) == window.actions_by_name[name].shortcut().toString()

    @pytest.mark.night
    def test_a_few_letters_and_enter_do_it(self, palette, window, qtbot):
        qtbot.keyClicks(palette.line, "thdark")
        qtbot.keyClick(palette.line, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: window.settings.theme == "dark")
        assert QApplication.activeModalWidget() is None

    def test_menus_that_are_filled_again_meanwhile_are_found_as_they_are(
        self, palette, window, qtbot
    ):
        window.menus.by_name["windows"].aboutToShow.emit()
        qtbot.keyClicks(palette.line, "windows untitled")
        assert [title.partition(":")[0] for title in shown(palette)] == ["Windows"]

    def test_it_opens_once(self, palette, window):
        window.actions_by_name["find_command"].trigger()
        assert QApplication.activeModalWidget() is palette
        palette.reject()
        assert QApplication.activeModalWidget() is None

    def test_arrows_move_and_a_click_chooses(self, palette, window, qtbot):
        qtbot.keyClicks(palette.line, "theme")
        first = palette.list.currentItem()
        qtbot.keyClick(palette.line, Qt.Key.Key_Down)
        assert palette.list.currentItem() is not first
        row = shown(palette)["Theme: High Contrast"]
        at = palette.list.visualItemRect(row).center()
        qtbot.mouseClick(palette.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
        qtbot.waitUntil(lambda: window.settings.theme == "high contrast")

    def test_what_can_not_be_done_is_not_chosen(self, palette, window, qtbot):
        qtbot.keyClicks(palette.line, "edit undo")
        assert shown(palette)["Edit: Undo"].isDisabled()
        before = window.document.diagram
        qtbot.keyClick(palette.line, Qt.Key.Key_Escape)
        assert window.document.diagram is before
        assert QApplication.activeModalWidget() is None

    def test_examples_are_found_too(self, palette, window):
        found = shown(palette)
        titles = [action.text() for action in window.menus.by_name["examples_basics"].actions()]
        assert f"Basics: {titles[0]}" in found

    def test_undo_from_it_takes_back_the_last_change(self, window, qtbot):
        window.edit.change(AddBlock("c", Add()))
        window.actions_by_name["find_command"].trigger()
        dialog = QApplication.activeModalWidget()
        qtbot.keyClicks(dialog.line, "undo")
        qtbot.keyClick(dialog.line, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: not window.document.diagram.main.blocks)
