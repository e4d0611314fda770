"""Several windows: opened, listed, dressed alike and closed."""

import os
import threading

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer, QUrl
from PySide6.QtWidgets import QApplication, QMessageBox

from gradwire.app.document.loading import FileWatch
from gradwire.app.panels.start.welcome import Welcome
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import AddBlock, Diagram, Page, save
from gradwire.runtime.diagram.files import regular
from tests.app.mouse import drop, drop_file

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def files(tmp_path):
    """Two files, ``one`` and ``two``, each with a block of its name."""
    paths = [tmp_path / f"{name}.gradwire.json" for name in ("one", "two")]
    for path in paths:
        save(Diagram({"main": Page({path.name.partition(".")[0]: Add()})}), path)
    return paths


def titles(window):
    return [each.document.name for each in window.windows.listed]


def entries(window, menu):
    window.menus.by_name[menu].aboutToShow.emit()
    return {action.text(): action for action in window.menus.by_name[menu].actions()}


def answer(button):
    QTimer.singleShot(0, lambda: QApplication.activeModalWidget().button(button).click())


def test_a_new_window_comes_by_its_keys_and_is_empty(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_N, CTRL_SHIFT)
    assert titles(window) == ["Untitled", "Untitled"]
    other = window.windows.listed[1]
    assert other.isVisible()
    qtbot.waitUntil(lambda: window.windows.active() is other)
    assert other.document is not window.document


def test_a_window_with_a_file_has_no_start_page_even_at_first(window, files, monkeypatch):
    shown = []
    monkeypatch.setattr(Welcome, "show_recent", lambda *given, **named: shown.append(given))
    other = window.windows.new(files[0])
    assert other.document.name == files[0].name
    assert not shown and not other.welcome.isVisible()


def test_a_window_whose_file_cannot_be_read_has_the_start_page(window, tmp_path):
    other = window.windows.new(tmp_path / "missing.gradwire.json")
    assert other.welcome.isVisible() and other.notice.isVisible()


@pytest.mark.night
def test_new_windows_stand_a_step_further_right_and_down_each(window):
    offsets = []
    for other in (window.windows.new(), window.windows.new()):
        offset = other.pos() - window.pos()
        offsets.append((offset.x(), offset.y()))
    (x, y), further = offsets
    assert (x > 0, y > 0) == (True, True)
    assert further == (2 * x, 2 * y)


def test_a_window_that_is_opened_again_and_again_stands_where_it_stood(window):
    places = []
    for _ in range(4):
        other = window.windows.new()
        places.append(other.geometry())
        other.close()
    assert places == places[:1] * 4
    assert places[0].topLeft() != window.geometry().topLeft()


def test_new_windows_end_within_the_screen(window):
    room = window.screen().availableGeometry()
    for _ in range(3):
        other = window.windows.new()
        end = other.pos() + QPoint(other.width(), other.height())
        least = other.minimumSizeHint()
        assert end.x() <= room.right() or other.width() == least.width()
        assert end.y() <= room.bottom() or other.height() == least.height()


def test_a_file_that_is_opened_is_remembered_and_a_copy_is_not(window, files):
    window.windows.open(files[0], window)
    window.windows.open_copy(files[1], window)
    assert window.settings.recent == [files[0]]
    assert [each.document.path for each in window.windows.listed] == [files[0], None]


def test_a_file_that_cannot_be_read_is_neither_opened_nor_copied(window, tmp_path):
    gone = tmp_path / "gone.gradwire.json"
    assert window.windows.open(gone, window) is False
    assert window.windows.open_copy(gone, window) is False
    assert window.settings.remembered == []
    assert window.document.is_untouched


def test_a_file_comes_into_an_empty_window_else_into_a_new_one(window, files):
    for path in files:
        assert window.open_path(path)
    assert titles(window) == ["one.gradwire.json", "two.gradwire.json"]
    assert list(window.document.diagram.main.blocks) == ["one"]


def test_a_changed_diagram_is_not_given_up_for_a_file(window, files):
    window.edit.change(AddBlock("mine", Add()))
    assert window.open_path(files[0])
    assert list(window.document.diagram.main.blocks) == ["mine"]
    assert titles(window) == ["Untitled", "one.gradwire.json"]


def test_a_file_that_is_open_is_shown_where_it_is(window, files, qtbot):
    window.open_path(files[0])
    window.open_path(files[1])
    assert window.windows.listed[1].open_path(files[0])
    assert len(window.windows.listed) == 2
    qtbot.waitUntil(window.isActiveWindow)


def test_examples_come_into_windows_of_their_own(window):
    menu = window.menus.by_name["examples_basics"]
    menu.aboutToShow.emit()
    example, *_ = menu.actions()
    example.trigger()
    example.trigger()
    assert [each.document.path for each in window.windows.listed] == [None, None]
    assert len({each.document.diagram.title for each in window.windows.listed}) == 1


def test_all_windows_are_in_the_menu_of_each(window, files, qtbot):
    window.open_path(files[0])
    window.open_path(files[1])
    other = window.windows.listed[1]
    other.edit.change(AddBlock("x", Add()))
    listed = entries(window, "windows")
    assert list(listed) == ["one.gradwire.json", "two.gradwire.json*"]
    assert [action.isChecked() for action in listed.values()] == [True, False]
    listed["two.gradwire.json*"].trigger()
    qtbot.waitUntil(other.isActiveWindow)


def test_recent_files_that_are_gone_are_marked(window, files):
    for path in files:
        window.settings.remember(path)
    files[0].unlink()
    listed = entries(window, "recent")
    assert list(listed) == ["two.gradwire.json", "one.gradwire.json (missing)"]
    assert not listed["one.gradwire.json (missing)"].isEnabled()
    listed["two.gradwire.json"].trigger()
    assert titles(window) == ["two.gradwire.json"]


def test_several_files_are_dropped(window, files, qtbot):
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in files])
    assert drop(window, mime, QPoint(300, 300))
    qtbot.waitUntil(lambda: titles(window) == ["one.gradwire.json", "two.gradwire.json"])


def test_a_file_dropped_on_a_full_window_opens_another(window, files, qtbot):
    window.open_path(files[0])
    assert drop_file(window, files[1])
    qtbot.waitUntil(lambda: titles(window) == ["one.gradwire.json", "two.gradwire.json"])


def test_a_theme_dresses_all_windows(window):
    window.windows.new()
    window.actions_by_name["theme_dark"].trigger()
    grounds = {
        each.canvas.grab().toImage().pixelColor(3, 3).name() for each in window.windows.listed
    }
    assert len(grounds) == 1
    assert all(each.actions_by_name["theme_dark"].isChecked() for each in window.windows.listed)


def test_reduced_motion_stops_the_chevrons_of_all_windows_and_is_remembered(window, qtbot):
    a, b = variable("a", [1.0]), variable("b", [2.0])
    window.document._begin(build(loss(a * b)), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    other = window.windows.new()
    window.canvas.select_wire("loss.x")
    qtbot.waitUntil(lambda: window.canvas.view.phase > 0.0)
    other.actions_by_name["reduced_motion"].trigger()
    assert window.canvas.view.phase == 0.0
    qtbot.wait(150)
    assert window.canvas.view.phase == 0.0
    assert window.settings.reduced_motion
    assert window.actions_by_name["reduced_motion"].isChecked()
    assert not window.isAnimated()
    window.actions_by_name["reduced_motion"].trigger()
    qtbot.waitUntil(lambda: window.canvas.view.phase > 0.0)


def test_closing_one_leaves_the_others(window, qtbot):
    other = window.windows.new()
    qtbot.waitUntil(other.isActiveWindow)
    qtbot.keyClick(other, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert window.windows.listed == (window,)
    assert window.isVisible()


def test_quitting_closes_all_but_stops_at_one_that_is_not_given_up(window):
    windows = window.windows
    windows.new()
    window.edit.change(AddBlock("mine", Add()))
    answer(QMessageBox.StandardButton.Cancel)
    window.actions_by_name["quit"].trigger()
    assert windows.listed == (window,)
    answer(QMessageBox.StandardButton.Discard)
    window.actions_by_name["quit"].trigger()
    assert windows.listed == ()


def test_a_panel_of_another_window_is_not_resized(window, qtbot):
    other = window.windows.new()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    other.inspector.widget().title_line.setFocus()
    window.actions_by_name["larger_panel"].trigger()
    assert "Next Panel" in window.statusBar().currentMessage()


def test_a_window_waits_for_no_drive_that_does_not_answer(
    window, files, tmp_path, monkeypatch, qtbot
):
    assert window.open_path(files[0])
    back, usual = threading.Event(), {name: getattr(os, name) for name in ("stat", "listdir")}
    links, gone, frozen = os.path.realpath, tmp_path / "gone", []

    def at_window():
        return threading.current_thread() is threading.main_thread()

    def silent(look):
        def asked(place, *rest, **named):
            if str(place).startswith(str(gone)):
                frozen.append(place) if at_window() else back.wait(20)
            return look(place, *rest, **named)

        return asked

    for name, look in usual.items():
        monkeypatch.setattr(os, name, silent(look))
    monkeypatch.setattr(os.path, "realpath", silent(links))
    monkeypatch.setattr(regular, "PATIENCE", 0.1)
    said = []
    window.document.problem.connect(said.append)
    assert not window.open_path(gone / "net.gradwire.json")  # is it open already?
    assert "does not answer" in said[-1]
    window.windows.library.choose(gone)
    assert window.windows.library.names() == []
    monkeypatch.setattr(type(window.document), "path", gone / "mine.gradwire.json")
    window.findChild(FileWatch).check()
    back.set()
    assert not frozen
