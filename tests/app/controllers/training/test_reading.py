"""The bar of progress while a large data file is read, and its button to cancel."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt

import gradwire.runtime.build as b
from gradwire.app.controllers.training import reading
from gradwire.blocks.errors import FileError
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data.progress import report
from gradwire.runtime.diagram import AddBlock, apply


@pytest.fixture
def window(opened, monkeypatch):
    monkeypatch.setattr(reading, "_AFTER", 0.0)
    monkeypatch.setattr(reading, "_EVERY", 0.0)
    diagram = b.build(b.loss(b.variable("w", 1.0), name="L"))
    block = Dataset(source="csv", path="data/rows.csv", columns={"x": {}})
    return opened(apply(diagram, AddBlock("data", block)).after)


class Reader(threading.Thread):
    """Reports as a reader does, one after the other when it is told to."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.file, self.turns, self.problem = name, threading.Semaphore(0), None

    def run(self):
        try:
            for fraction in (0.1, 0.4, 0.8, 1.0):
                assert self.turns.acquire(timeout=60)
                report(self.file, fraction)
        except FileError as error:
            self.problem = str(error)


def test_it_is_shown_until_the_file_is_read(window, qtbot):
    reader = Reader("rows.csv")
    reader.start()
    reader.turns.release(2)
    qtbot.waitUntil(window.progress.isVisible)
    assert window.progress.text() == "Reading rows.csv …"
    qtbot.waitUntil(lambda: window.progress.bar.value() == 40)
    reader.turns.release(2)
    qtbot.waitUntil(window.progress.isHidden)
    assert reader.problem is None


def test_it_is_cancelled(window, qtbot):
    reader = Reader("rows.csv")
    reader.start()
    reader.turns.release(2)
    qtbot.waitUntil(window.progress.isVisible)
    qtbot.mouseClick(window.progress.button, Qt.MouseButton.LeftButton)
    reader.turns.release(2)
    qtbot.waitUntil(window.progress.isHidden)
    assert "was cancelled" in reader.problem
    again = Reader("rows.csv")
    again.turns.release(4)
    again.start()
    again.join(60)
    assert again.problem is None


def test_files_of_other_windows_are_not_shown(window, qtbot):
    reader = Reader("other.csv")
    reader.start()
    reader.turns.release(4)
    reader.join(60)
    qtbot.wait(50)
    assert window.progress.isHidden()
