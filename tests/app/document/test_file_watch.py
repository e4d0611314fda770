"""What other programs and full disks do to a file: noticed, asked about, and no reason to lose."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from gradwire.app.document.loading import stamp
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import AddBlock, Diagram, Page, load, save
from tests.app.mouse import LEFT

LARGE = 2000


def drawn(**blocks) -> Diagram:
    return Diagram({"main": Page(blocks)}, "Drawn")


@pytest.fixture
def path(window, tmp_path):
    """The file that is open in the window: one block ``a``."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "mine.gradwire.json"
    save(drawn(a=Add()), path)
    assert window.open_path(path)
    return path


def renamed_over(path, diagram) -> None:
    """Write a file as careful editors do."""
    save(diagram, path.with_name("other.gradwire.json"))
    os.replace(path.with_name("other.gradwire.json"), path)


def written_into(path, diagram) -> None:
    """Write a file as simple editors do: emptied, then filled."""
    save(diagram, path.with_name("other.gradwire.json"))
    shutil.copyfile(path.with_name("other.gradwire.json"), path)


def offered(window, qtbot, words="has changed"):
    qtbot.waitUntil(lambda: words in window.files.offer.text())
    return {button.text(): button for button in window.files.offer.buttons}


def answer(text):
    """Presses the button with this text of the question that is about to be asked."""

    def press():
        box = QApplication.activeModalWidget()
        next(button for button in box.buttons() if button.text() == text).click()

    QTimer.singleShot(0, press)


def names(window):
    return list(window.document.diagram.main.blocks)


class TestChangedByOthers:
    @pytest.mark.night
    @pytest.mark.parametrize("write", [renamed_over, written_into])
    def test_reload_takes_it_and_undo_leads_back(self, window, qtbot, path, write):
        for count, name in enumerate(("b", "c")):  # a second time: the watch survives a rename
            before = names(window)
            write(path, drawn(**{name: Mul()}))
            qtbot.mouseClick(offered(window, qtbot)["&Reload"], LEFT)
            assert names(window) == [name], count
            assert not window.files.offer.isVisible()
            assert not window.isWindowModified()
        window.actions_by_name["undo"].trigger()
        assert names(window) == before
        assert window.isWindowModified()

    @pytest.mark.night
    def test_keep_mine_lets_the_next_save_replace_it(self, window, qtbot, path):
        window.edit.change(AddBlock("mine", Add()))
        renamed_over(path, drawn(b=Mul()))
        qtbot.mouseClick(offered(window, qtbot)["&Keep Mine"], LEFT)
        assert window.isWindowModified()
        assert list(load(path).main.blocks) == ["b"]
        window.actions_by_name["save"].trigger()
        assert list(load(path).main.blocks) == ["a", "mine"]

    @pytest.mark.night
    def test_keep_mine_without_a_change_of_mine_asks_on_closing(self, window, qtbot, path):
        renamed_over(path, drawn(b=Mul()))
        qtbot.mouseClick(offered(window, qtbot)["&Keep Mine"], LEFT)
        assert not window.document.is_clean

    @pytest.mark.night
    @pytest.mark.parametrize(
        ("choice", "on_disk", "shown"),
        [
            ("&Replace", ["a", "mine"], ["a", "mine"]),
            ("Re&load", ["b"], ["b"]),
            ("Cancel", ["b"], ["a", "mine"]),
        ],
    )
    def test_saving_over_it_asks(self, window, path, choice, on_disk, shown):
        window.edit.change(AddBlock("mine", Add()))
        renamed_over(path, drawn(b=Mul()))
        answer(choice)
        window.actions_by_name["save"].trigger()
        assert list(load(path).main.blocks) == on_disk
        assert names(window) == shown

    def test_saving_elsewhere_keeps_both(self, window, path, monkeypatch):
        other = path.with_name("both.gradwire.json")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(other), ""))
        window.edit.change(AddBlock("mine", Add()))
        renamed_over(path, drawn(b=Mul()))
        answer("Save &As…")
        window.actions_by_name["save"].trigger()
        assert list(load(path).main.blocks) == ["b"]
        assert list(load(other).main.blocks) == ["a", "mine"]
        assert window.document.path == other

    def test_own_saves_and_the_same_diagram_again_are_no_change(self, window, qtbot, path):
        window.edit.change(AddBlock("mine", Add()))
        window.actions_by_name["save"].trigger()
        path.write_text(path.read_text() + "\n")
        qtbot.wait(600)
        assert not window.files.offer.isVisible()
        assert not window.document.changed_on_disk()

    def test_a_file_that_others_broke_is_not_reloaded(self, window, qtbot, path):
        path.write_text("{")
        qtbot.mouseClick(offered(window, qtbot)["&Reload"], LEFT)
        assert "was not reloaded" in window.notice.text()
        assert names(window) == ["a"]

    def test_arrays_beside_the_file_count_too(self, window, qtbot, path):
        save(drawn(w=Variable(value=np.zeros(LARGE))), path)
        (stored,) = path.parent.glob("*.safetensors")
        arrays = stored.rename(path.with_name("weights.safetensors"))  # which states no digest
        path.write_text(path.read_text().replace(stored.name, arrays.name))
        qtbot.mouseClick(offered(window, qtbot)["&Reload"], LEFT)
        other = path.parent / "elsewhere"
        other.mkdir()
        save(drawn(w=Variable(value=np.ones(LARGE))), other / path.name)
        os.replace(next(other.glob("*.safetensors")), arrays)
        qtbot.mouseClick(offered(window, qtbot)["&Reload"], LEFT)
        assert window.document.diagram.main.blocks["w"].value.array[0] == 1.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.gradwire.json")
    assert stamp(tmp_path / "pipe.gradwire.json") is None


class TestGone:
    def test_a_file_that_is_removed_is_written_again(self, window, qtbot, path):
        path.unlink()
        button = offered(window, qtbot, "no longer exists")["&Save Again"]
        assert window.isWindowModified()
        qtbot.mouseClick(button, LEFT)
        assert list(load(path).main.blocks) == ["a"]
        assert not window.isWindowModified()
        assert not window.files.offer.isVisible()

    def test_a_folder_that_is_gone_says_what_to_do(self, window, qtbot, path):
        shutil.rmtree(path.parent)
        offered(window, qtbot, "no longer exists")
        assert not window.files.save()
        assert "Nothing is lost" in window.notice.text()
        assert "Save As" in window.notice.text()
        assert names(window) == ["a"]

    def test_it_is_noticed_when_it_comes_back(self, window, qtbot, path):
        kept = path.read_bytes()
        path.unlink()
        offered(window, qtbot, "no longer exists")
        path.write_bytes(kept)
        qtbot.waitUntil(lambda: not window.files.offer.isVisible())
        assert not window.isWindowModified()


class TestNotWritable:
    """Large arrays too: they lie in a file that is written first."""

    @pytest.fixture
    def edited(self, window, path):
        assert window.edit.change(AddBlock("w", Variable(value=np.ones(LARGE))))
        assert window.files.save()
        assert window.edit.change(AddBlock("v", Variable(value=np.zeros(LARGE))))
        return window

    def refused(self, window, path):
        """Try to save; the file and its arrays must be as they were."""
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        assert not window.files.save()
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
        assert names(window) == ["a", "w", "v"]
        assert window.isWindowModified()
        assert "Nothing is lost" in window.notice.text()
        return window.notice.text()

    def test_a_full_disk(self, edited, path, monkeypatch):
        def full(descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("gradwire.runtime.diagram.files.storage.os.fsync", full)
        assert "No space left" in self.refused(edited, path)
        monkeypatch.undo()
        assert edited.files.save()
        assert list(load(path).main.blocks) == ["a", "w", "v"]

    def test_a_disk_that_fills_between_the_two_files(self, edited, path, monkeypatch):
        replace, calls = os.replace, []

        def full(source, target):
            if path.parent in Path(target).parents:  # the copies for recovery go elsewhere
                calls.append(target)
                if len(calls) == 2:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            replace(source, target)

        monkeypatch.setattr("gradwire.runtime.diagram.files.storage.os.replace", full)
        assert "No space left" in self.refused(edited, path)
        assert len(calls) == 2

    def test_a_file_that_is_read_only(self, edited, path, monkeypatch):
        monkeypatch.setattr(
            "gradwire.runtime.diagram.files.storage.os.access", lambda *a: False
        )  # even for root
        assert "read-only" in self.refused(edited, path)


@pytest.mark.parametrize(
    "name", [b"\0", b"\\u0000", b'a\\"b', b"\xff", b"../a.safetensors", b"x" * 9000]
)
def test_a_name_of_arrays_that_is_none_keeps_nobody_from_saving(window, path, qtbot, name):
    content = b'{"gradwire":1,"tensors":"' + name + b'","pages":{}}'
    other = path.with_name("other.gradwire.json")
    other.write_bytes(content)
    assert stamp(other).arrays is None
    assert not window.open_path(other)
    path.write_bytes(content)
    offered(window, qtbot)
    answer("&Replace")
    assert window.files.save()
    assert load(path) == window.document.diagram


def test_arrays_are_watched_however_the_diagram_is_spaced(path):
    arrays = path.with_name("a.safetensors")
    arrays.write_bytes(b"12345")
    for text in ('{"tensors":"a.safetensors"}', '{\n "tensors" :\n"a.safetensors"}'):
        path.write_text(text)
        assert stamp(path).arrays[1] == 5
