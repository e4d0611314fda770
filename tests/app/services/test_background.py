"""Files, layouts and pictures that take long: the window lives on, and cancelling loses nothing."""

import os
import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from gradwire.app.commands import clipboard
from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.services.background import Background, Cancelled, Occupied
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import AddBlock, Arrange, Diagram, MoveBlocks, Page, Point
from gradwire.runtime.diagram.edits import applying
from gradwire.runtime.diagram.files.storage import load, save
from tests.app.mouse import LEFT, drop_file

CTRL = Qt.KeyboardModifier.ControlModifier


class Gate:
    """Stands in a function of a module and holds whoever calls it, until it is opened."""

    def __init__(self, monkeypatch, module, name):
        passed, is_open = getattr(module, name), threading.Event()
        self.open = is_open.set

        def wait(*arguments, **options):  # a plain function, so that it can be a method too
            assert is_open.wait(20)
            return passed(*arguments, **options)

        monkeypatch.setattr(module, name, wait)


@pytest.fixture
def slow_disk(monkeypatch):
    """A disk that takes as long as the test wants to write a file."""
    gate = Gate(monkeypatch, os, "fsync")
    yield gate
    gate.open()


@pytest.fixture
def path(window, tmp_path):
    """The open file: a variable with an array that lies beside it; its place was changed."""
    path = tmp_path / "folder" / "mine.gradwire.json"
    path.parent.mkdir()
    save(build(loss(variable("w", np.zeros(2000, np.float32)))), path)
    assert window.open_path(path)
    new = AddBlock("v", Variable(value=np.ones(3000, np.float32)), Point(0, 200))
    assert window.document.apply(new)
    return path


def meanwhile(window, *acts):
    """Do one thing after the other once the line that tells of the work is there."""
    waiting = list(acts)

    def look():
        if window.progress.isVisible() and waiting:
            waiting.pop(0)()
        if waiting:
            QTimer.singleShot(20, window, look)

    look()


def saved(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_S, CTRL)
    qtbot.waitUntil(lambda: not window.background.busy)


def contents(path):
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def open_sheet():
    """The sheet of options of a picture."""
    sheets = [each for each in QApplication.topLevelWidgets() if isinstance(each, ExportSheet)]
    return next(sheet for sheet in sheets if sheet.isVisible())


def cancel(window, qtbot):
    return lambda: qtbot.mouseClick(window.progress.button, LEFT)


class TestSaving:
    def test_the_window_lives_on_and_tells_of_it(self, window, qtbot, path, slow_disk):
        seen, zoom = [], window.canvas.zoom()

        def look():
            qtbot.keyClick(window.canvas, Qt.Key.Key_Plus, CTRL)
            bar = window.progress
            seen.append((bar.text(), window.isWindowModified(), window.canvas.zoom() > zoom))

        meanwhile(window, look, slow_disk.open)
        saved(window, qtbot)
        assert seen == [("Saving mine.gradwire.json …", True, True)]
        assert not window.progress.isVisible()
        assert not window.isWindowModified()
        assert load(path) == window.document.diagram

    def test_cancelled_it_leaves_the_old_files_and_the_change(self, window, qtbot, path, slow_disk):
        before = contents(path)
        meanwhile(window, cancel(window, qtbot), slow_disk.open)
        saved(window, qtbot)
        assert contents(path) == before
        assert window.isWindowModified()
        assert not window.notice.isVisible()

    def test_what_can_not_be_taken_back_any_more_is_saved(self, window, qtbot, path, slow_disk):
        window.document.undo_stack.undo()
        window.document.apply(MoveBlocks({"w": Point(7, 7)}))  # its array is on disk already
        meanwhile(window, cancel(window, qtbot), slow_disk.open)
        saved(window, qtbot)
        assert load(path) == window.document.diagram
        assert not window.isWindowModified()

    def test_failing_it_leaves_the_old_files_and_says_so(
        self, window, qtbot, path, slow_disk, monkeypatch
    ):
        before = contents(path)

        def full(source, target):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        meanwhile(window, slow_disk.open)
        saved(window, qtbot)
        assert contents(path) == before
        assert window.isWindowModified()
        assert "No space left" in window.notice.text()

    def test_an_edit_meanwhile_is_not_taken_for_saved(self, window, qtbot, path, slow_disk):
        document = window.document
        written = document.diagram
        nudge = MoveBlocks({"w": Point(50, 60)})
        meanwhile(window, lambda: document.apply(nudge), slow_disk.open)
        saved(window, qtbot)
        assert load(path) == written != document.diagram
        assert window.isWindowModified()
        assert not window.files.offer.isVisible()
        document.undo_stack.undo()
        document.undo_stack.undo()
        assert not document.is_clean  # what was clean before is not what the file holds now
        document.undo_stack.setIndex(2)
        saved(window, qtbot)
        assert not window.isWindowModified()

    def test_the_watch_of_the_disk_takes_it_for_its_own(self, window, qtbot, path, slow_disk):
        meanwhile(window, window.files.watch.check, slow_disk.open)
        saved(window, qtbot)
        qtbot.wait(600)
        assert not window.files.offer.isVisible()

    def test_another_save_meanwhile_is_refused(self, window, qtbot, path, slow_disk):
        told = []
        window.document.problem.connect(told.append)
        again = window.actions_by_name["save"].trigger
        meanwhile(window, again, window.files.new, slow_disk.open)
        saved(window, qtbot)
        assert len(told) == 2
        assert all("Saving mine.gradwire.json: this is still under way" in text for text in told)
        assert not window.isWindowModified()

    def test_closing_waits_for_it(self, window, qtbot, path, slow_disk):
        seen = []

        def close():
            window.close()
            seen.append(window.isVisible())

        meanwhile(window, close, slow_disk.open)
        with qtbot.waitSignal(window.closed):
            qtbot.keyClick(window, Qt.Key.Key_S, CTRL)
        assert seen == [True]
        assert len(load(path).main.blocks) == 3

    def test_closing_asks_when_it_was_cancelled(self, window, qtbot, path, slow_disk):
        asked = []

        def answer():
            box = QApplication.activeModalWidget()
            if box is None:
                QTimer.singleShot(20, answer)
            else:
                asked.append(box.text())
                box.button(box.StandardButton.Cancel).click()

        meanwhile(window, window.close, cancel(window, qtbot), answer, slow_disk.open)
        saved(window, qtbot)
        qtbot.waitUntil(lambda: len(asked) == 1)
        assert window.isVisible()

    def test_quitting_waits_for_it(self, window, qtbot, path, slow_disk):
        window.windows.new()
        meanwhile(window, window.windows.close_all, slow_disk.open)
        with qtbot.waitSignal(window.closed):
            qtbot.keyClick(window, Qt.Key.Key_S, CTRL)
        assert window.windows.listed == ()

    def test_leaving_with_save_closes_once_it_is_saved(self, window, qtbot, path, slow_disk):
        def answer():
            box = QApplication.activeModalWidget()
            box.button(box.StandardButton.Save).click()

        QTimer.singleShot(0, answer)
        meanwhile(window, slow_disk.open)
        assert window.close()
        assert len(load(path).main.blocks) == 3


class TestOpening:
    @pytest.fixture
    def slow_reading(self, monkeypatch, path, window):
        saved_as = window.document.save_as(path)
        assert saved_as
        from gradwire.runtime.diagram.files import storage

        gate = Gate(monkeypatch, storage, "text_of")
        yield gate
        gate.open()

    def test_the_window_lives_on(self, window, qtbot, path, slow_reading):
        window.document.new()
        texts = []
        meanwhile(window, lambda: texts.append(window.progress.text()), slow_reading.open)
        drop_file(window, path)
        qtbot.waitUntil(lambda: window.document.path == path)
        assert texts == ["Opening mine.gradwire.json …"]

    def test_cancelled_it_leaves_what_is_open(self, window, qtbot, tmp_path, path, slow_reading):
        many = {f"a{i}": Add() for i in range(200)}
        save(Diagram({"main": Page(many)}), tmp_path / "many.gradwire.json")
        shown = window.document.diagram
        meanwhile(window, cancel(window, qtbot), slow_reading.open)
        assert not window.open_path(tmp_path / "many.gradwire.json")
        assert window.document.diagram is shown
        assert window.windows.listed == (window,)
        assert not window.notice.isVisible()

    def test_what_never_answers_is_left_at_once(self, window, qtbot, path, slow_reading):
        meanwhile(window, cancel(window, qtbot))  # the reading itself goes on
        assert not window.document.open(path)
        assert not window.background.busy
        meanwhile(window, cancel(window, qtbot))
        assert not window.document.reload()
        assert not window.background.busy
        assert window.close()

    def test_saving_does_not_wait_for_it(self, window, qtbot, path, slow_reading):
        window.document.apply(AddBlock("mine", Add()))
        kept = []
        meanwhile(
            window,
            lambda: kept.append(window.files.save()),
            lambda: kept.append(window.progress.isVisible()),
            cancel(window, qtbot),
        )
        assert not window.document.open(path)
        assert kept == [True, True]
        assert window.document.is_clean
        slow_reading.open()
        assert load(path) == window.document.diagram
        assert "mine" in load(path).main.blocks

    def test_a_broken_file_is_told(self, window, qtbot, tmp_path, slow_reading):
        broken = tmp_path / "broken.gradwire.json"
        broken.write_text("{")
        meanwhile(window, slow_reading.open)
        assert not window.open_path(broken)
        assert "broken.gradwire.json was not opened" in window.notice.text()


class TestArranging:
    @pytest.fixture
    def slow_layout(self, monkeypatch, window):
        window.document._begin(Diagram({"main": Page({f"a{i}": Add() for i in range(1000)})}), None)
        gate = Gate(monkeypatch, applying, "arrange_blocks")
        yield gate
        gate.open()

    def arrange(self, window, qtbot):
        qtbot.keyClick(window, Qt.Key.Key_L, CTRL | Qt.KeyboardModifier.ShiftModifier)

    def test_the_window_lives_on_and_it_is_one_undo(self, window, qtbot, slow_layout):
        before, texts = window.document.diagram, []
        meanwhile(window, lambda: texts.append(window.progress.text()), slow_layout.open)
        self.arrange(window, qtbot)
        assert texts == ["Arranging …"]
        assert len(set(window.document.diagram.main.layout.values())) > 500
        window.document.undo_stack.undo()
        assert window.document.diagram is before

    def test_cancelled_it_changes_nothing_and_is_left_at_once(self, window, qtbot, slow_layout):
        before = window.document.diagram
        meanwhile(window, cancel(window, qtbot))  # the layout itself goes on
        self.arrange(window, qtbot)
        assert window.document.diagram is before
        assert not window.background.busy

    def test_a_change_meanwhile_stands(self, window, qtbot, slow_layout):
        nudge = MoveBlocks({"a0": Point(-500, -500)})
        meanwhile(window, lambda: window.document.apply(nudge), slow_layout.open)
        self.arrange(window, qtbot)
        assert window.document.diagram.main.layout == {"a0": Point(-500, -500)}
        assert "the diagram changed meanwhile" in window.notice.text()


class TestPictures:
    @pytest.mark.night
    def test_a_large_page_is_drawn_aside_and_can_be_stopped(
        self, window, qtbot, monkeypatch, tmp_path
    ):
        window.document._begin(Diagram({"main": Page({f"a{i}": Add() for i in range(200)})}), None)
        window.document.apply(Arrange())
        path = tmp_path / "page.svg"
        path.write_text("the old one")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
        from gradwire.app.canvas.paint import painter

        qtbot.keyClick(window, Qt.Key.Key_E, CTRL)
        gate = Gate(monkeypatch, painter, "draw_face")
        meanwhile(window, cancel(window, qtbot), gate.open)
        qtbot.mouseClick(open_sheet().export, LEFT)
        assert [file.name for file in tmp_path.glob("page*")] == ["page.svg"]
        assert path.read_text() == "the old one"
        assert not window.notice.isVisible()
        window.actions_by_name["export"].trigger()
        qtbot.mouseClick(open_sheet().export, LEFT)
        assert path.read_text().startswith("<?xml")


class TestWork:
    def test_what_is_done_at_once_lets_no_event_in(self, qapp, window):
        let_in = []
        QTimer.singleShot(0, window, lambda: let_in.append(1))
        assert Background(window).run("x", lambda pulse: 7) == 7
        assert not let_in

    def test_it_raises_what_the_work_raises(self, window):
        def job(pulse):
            raise ValueError("why")

        with pytest.raises(ValueError, match="why"):
            Background(window).run("x", job)

    def test_one_thing_at_a_time(self, window):
        waiting, gate = Background(window), threading.Event()

        def second():
            with pytest.raises(Occupied):
                waiting.run("y", lambda pulse: 1)
            gate.set()

        QTimer.singleShot(150, window, second)
        assert waiting.run("x", lambda pulse: gate.wait(10))

    def test_the_share_that_is_done_is_shown(self, window, qtbot):
        waiting, gate, seen = window.background, threading.Event(), []

        def job(pulse):
            pulse(0.25)
            return gate.wait(10)

        meanwhile(window, lambda: seen.append(window.progress.bar.value()), gate.set)
        assert waiting.run("x", job)
        assert seen == [25]

    def test_a_pulse_after_cancelling_ends_it(self, window, qtbot):
        gate, done = threading.Event(), []

        def job(pulse):
            gate.wait(10)
            pulse(0.5)
            done.append(1)

        meanwhile(window, cancel(window, qtbot), gate.set)
        with pytest.raises(Cancelled):
            window.background.run("x", job)
        assert not done


def test_a_long_text_is_pasted_while_the_window_lives_on(window, qtbot, monkeypatch):
    page = Diagram({"main": Page({f"a{i}": Add() for i in range(1500)})})
    window.document._begin(page, None)
    monkeypatch.setattr(clipboard, "LONG", 1000)
    gate = Gate(monkeypatch, clipboard, "pasted")
    window.canvas.select_all()
    window.clipboard.copy()
    meanwhile(window, cancel(window, qtbot))
    window.clipboard.paste()
    assert window.document.diagram is page
    gate.open()
    window.clipboard.paste()
    assert len(window.document.diagram.main.blocks) == 3000
    assert len(window.canvas.selection()) == 1500
