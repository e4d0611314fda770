"""Nothing is lost: the journal, what is left of editors that were killed, and its recovery."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from gradwire.app.document.autosave import DELAY
from gradwire.app.services import journal
from gradwire.app.services.journal import Journal
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.diagram import AddBlock, Diagram, Page, load, save
from tests.app.crashes import ROOT, Crashes
from tests.app.mouse import LEFT
from tests.app.services.test_background import Gate, meanwhile

KILLS = 20
DIES = """
import os, sys
from pathlib import Path
from gradwire.app.services.journal import Journal
from gradwire.runtime.diagram import load
journal = Journal(Path(sys.argv[1]))
for key, name in enumerate(sys.argv[2:]):
    source, _, path = name.partition("=")
    journal.write(key, load(source), Path(path) if path else None, print)
journal._thread.submit(os._exit, 0).result()
"""


def drawn(title: str, **blocks) -> Diagram:
    return Diagram({"main": Page(blocks)}, title)


def left_behind(folder, **entries):
    """Has a process write these diagrams, by path of their file or ``new``, and die."""
    arguments = []
    for number, (diagram, path) in enumerate(entries.values()):
        save(diagram, folder / f"source{number}.gradwire.json")
        arguments.append(f"{folder / f'source{number}.gradwire.json'}={path or ''}")
    subprocess.run(
        [sys.executable, "-c", DIES, str(folder / "recovery"), *arguments], cwd=ROOT, check=True
    )


def entries(folder) -> list[Diagram]:
    """The diagrams in the journals of all processes, dead and alive."""
    return [load(file) for file in entry_files(folder)]


def entry_files(folder) -> list[Path]:
    """Their files, which the window may be deleting just now."""
    return sorted((folder / "recovery").glob("*/*.gradwire.json"))


@pytest.fixture
def crashes():
    made = Crashes()
    yield made
    made.close()


class TestKilled:
    @pytest.mark.night
    def test_a_kill_costs_a_second_at_most_and_the_file_is_whole(self, crashes, tmp_path):
        def crash(seed):
            return crashes.crash(tmp_path / str(seed), seed)

        with ThreadPoolExecutor(5) as editors:
            losses = list(editors.map(crash, range(KILLS)))
        assert sum(loss.edits for loss in losses) > KILLS
        assert any(loss.saves for loss in losses)
        assert any(loss.from_journal for loss in losses)


class TestAutosave:
    def test_a_change_is_written_in_time_even_while_changes_go_on(self, window, qtbot, tmp_path):
        number = 0

        def add():
            nonlocal number
            number += 1
            window.edit.change(AddBlock(f"b{number}", Add()))

        timer = QTimer(interval=DELAY // 6)
        timer.timeout.connect(add)
        timer.start()
        qtbot.waitUntil(lambda: bool(entry_files(tmp_path)))
        timer.stop()
        kept = len(entries(tmp_path)[0].main.blocks)
        assert kept >= 1
        qtbot.waitUntil(lambda: len(entries(tmp_path)[0].main.blocks) == number)

    def test_what_is_saved_is_not_in_the_journal(self, window, qtbot, tmp_path):
        window.edit.change(AddBlock("a", Add()))
        qtbot.waitUntil(lambda: bool(entry_files(tmp_path)))
        assert window.document.save_as(tmp_path / "x.gradwire.json")
        qtbot.waitUntil(lambda: not entry_files(tmp_path))

    def test_what_is_undone_is_not_in_the_journal(self, window, qtbot, tmp_path):
        window.edit.change(AddBlock("a", Add()))
        qtbot.waitUntil(lambda: bool(entry_files(tmp_path)))
        window.actions_by_name["undo"].trigger()
        qtbot.waitUntil(lambda: not entry_files(tmp_path))

    def test_what_is_given_up_on_closing_leaves_nothing(self, window, qtbot, tmp_path):
        window.edit.change(AddBlock("a", Add()))
        qtbot.waitUntil(lambda: bool(entry_files(tmp_path)))
        discard = QMessageBox.StandardButton.Discard
        QTimer.singleShot(0, lambda: QApplication.activeModalWidget().button(discard).click())
        assert window.close()
        qtbot.waitUntil(lambda: not list((tmp_path / "recovery").iterdir()))

    def test_a_journal_that_can_not_be_written_is_told_once(self, window, qtbot, tmp_path):
        (tmp_path / "recovery").write_text("a file in the way")
        window.edit.change(AddBlock("a", Add()))
        qtbot.waitUntil(lambda: "lost in a crash" in window.notice.text())
        window.edit.change(AddBlock("b", Add()))
        qtbot.wait(3 * DELAY)
        assert not window.notice.isVisible()


class TestRecovery:
    def test_it_is_offered_recovered_and_undone_to_the_file(self, window, qtbot, tmp_path):
        path = tmp_path / "mine.gradwire.json"
        save(drawn("Mine", a=Add()), path)
        left_behind(tmp_path, mine=(drawn("Mine", a=Add(), b=Mul()), path))
        dialog = window.windows.offer_recovery()
        item = dialog.list.topLevelItem(0)
        assert (item.text(0), item.text(1)) == ("Mine", str(path))
        assert item.text(2)
        qtbot.mouseClick(dialog.recover_button, LEFT)
        assert not dialog.isVisible()
        document = window.document
        assert list(document.diagram.main.blocks) == ["a", "b"]
        assert document.path == path
        assert window.isWindowModified()
        journals = tmp_path / "recovery"
        own = str(os.getpid())
        qtbot.waitUntil(lambda: [x.name.split("-")[0] for x in journals.iterdir()] == [own])
        window.actions_by_name["undo"].trigger()
        assert list(document.diagram.main.blocks) == ["a"]
        assert not window.isWindowModified()
        assert list(load(path).main.blocks) == ["a"]

    def test_the_window_lives_on_while_a_huge_journal_is_read(self, window, tmp_path, monkeypatch):
        left_behind(tmp_path, one=(drawn("One", a=Add()), None))
        gate, seen = Gate(monkeypatch, journal, "_read"), []
        meanwhile(window, lambda: seen.append(window.progress.text()), gate.open)
        assert window.windows.offer_recovery().list.topLevelItemCount() == 1
        assert seen == ["Looking for unsaved diagrams …"]

    def test_several_are_recovered_into_windows_of_their_own(self, window, qtbot, tmp_path):
        left_behind(tmp_path, one=(drawn("One", a=Add()), None), two=(drawn("Two", b=Add()), None))
        dialog = window.windows.offer_recovery()
        assert dialog.list.topLevelItemCount() == 2
        qtbot.mouseClick(dialog.recover_button, LEFT)
        titles = {each.document.diagram.title for each in window.windows.listed}
        assert titles == {"One", "Two"}

    def test_what_is_discarded_is_gone_and_the_rest_is_offered_again(self, window, qtbot, tmp_path):
        left_behind(tmp_path, one=(drawn("One", a=Add()), None), two=(drawn("Two", b=Add()), None))
        dialog = window.windows.offer_recovery()
        gone = dialog.list.topLevelItem(0)
        kept = dialog.list.topLevelItem(1).text(0)
        dialog.list.clearSelection()
        assert not dialog.discard_button.isEnabled()
        at = dialog.list.visualItemRect(gone).center()
        qtbot.mouseClick(dialog.list.viewport(), LEFT, pos=at)
        qtbot.mouseClick(dialog.discard_button, LEFT)
        dialog.reject()
        qtbot.waitUntil(lambda: len(entry_files(tmp_path)) == 1)
        again = window.windows.offer_recovery()
        assert [again.list.topLevelItem(0).text(0)] == [kept]
        again.reject()

    def test_what_was_saved_all_the_same_is_not_offered(self, window, tmp_path):
        path = tmp_path / "mine.gradwire.json"
        save(drawn("Mine", a=Add()), path)
        left_behind(tmp_path, mine=(drawn("Mine", a=Add()), path))
        assert window.windows.offer_recovery() is None
        assert entries(tmp_path) == []

    def test_the_journal_of_a_living_process_is_let_be(self, window, qtbot, tmp_path):
        other = Journal(tmp_path / "recovery")
        other.write(other.key(), drawn("Alive", a=Add()), None, print)
        qtbot.waitUntil(lambda: bool(entry_files(tmp_path)))
        assert window.windows.offer_recovery() is None
        assert len(entries(tmp_path)) == 1
        other.close()

    def test_an_entry_that_can_not_be_read_is_kept(self, window, tmp_path):
        left_behind(tmp_path, mine=(drawn("Mine", a=Add()), None))
        (file,) = (tmp_path / "recovery").glob("*/*.gradwire.json")
        file.write_text("{")
        assert window.windows.offer_recovery() is None
        assert file.exists()

    @pytest.mark.sampled(one_in=7)
    @pytest.mark.parametrize("place", ["diagram", "origin"])
    @pytest.mark.parametrize("what", ["folder", "pipe", "zeros", "deep", "surrogate"])
    def test_no_entry_stops_the_start(self, window, tmp_path, place, what):
        left_behind(tmp_path, one=(drawn("One", a=Add()), None), two=(drawn("Two", b=Mul()), None))
        one, _ = sorted((tmp_path / "recovery").glob("*/*.gradwire.json"))
        broken = one if place == "diagram" else journal._origin(one)
        broken.unlink()
        match what:
            case "folder":
                broken.mkdir()
            case "pipe" if hasattr(os, "mkfifo"):
                os.mkfifo(broken)
            case "deep":
                broken.write_text("[" * 100_000)
            case "surrogate":
                broken.write_bytes(b"\x00\xed\xa0\x80\xff/" * 10)
            case _:
                broken.write_bytes(bytes(1000))
        dialog = window.windows.offer_recovery()
        titles = {
            dialog.list.topLevelItem(i).text(0) for i in range(dialog.list.topLevelItemCount())
        }
        assert "Two" in titles
        dialog.reject()

    def test_a_loader_that_fails_in_any_way_stops_no_start(self, window, tmp_path, monkeypatch):
        left_behind(tmp_path, mine=(drawn("Mine", a=Add()), None))

        def fail(*_):
            raise RecursionError

        monkeypatch.setattr(journal.files, "load", fail)
        assert window.windows.offer_recovery() is None

    def test_a_machine_that_was_renamed_gets_its_recovery(self, window, tmp_path):
        left_behind(tmp_path, mine=(drawn("Mine", a=Add()), None))
        (lock,) = (tmp_path / "recovery").glob("*/lock")
        lock.write_text("1\ngradwire\nanother-name\n\n\n")  # a process that runs, elsewhere
        assert window.windows.offer_recovery() is not None


def test_recovered_diagrams_find_their_data(tmp_path):
    """The journal is elsewhere, but paths are relative to the diagram's own file."""
    diagram = drawn("with data", data=Dataset(source="csv", path="tables/a.csv", columns={"x": {}}))
    left_behind(tmp_path, one=(diagram, tmp_path / "mine.gradwire.json"))
    (entry,) = Journal(tmp_path / "recovery").orphans()
    assert entry.diagram.folder == tmp_path
    assert entry.diagram.main.blocks["data"].path == "tables/a.csv"
