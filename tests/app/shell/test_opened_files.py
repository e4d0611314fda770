"""Files that the system asks the running editor to open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QFileOpenEvent

from gradwire.app.shell.opened_files import OpenedFiles
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import AddBlock, Diagram, Page, save


@pytest.fixture
def ask(window, qapp):
    """``ask(path)`` sends what the system sends, to an application whose files are opened."""
    opened = OpenedFiles(window.windows, qapp)
    yield lambda asked: QCoreApplication.sendEvent(qapp, QFileOpenEvent(asked))
    qapp.removeEventFilter(opened)
    opened.setParent(None)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "one ä.gradwire.json"
    save(Diagram({"main": Page({"one": Add()})}), path)
    return path


def titles(window):
    return [each.document.name for each in window.windows.listed]


def test_a_file_opens_in_the_empty_window(window, ask, file):
    assert ask(str(file))
    assert titles(window) == [file.name]


def test_a_file_opens_beside_a_diagram_that_is_being_drawn(window, ask, file):
    window.edit.change(AddBlock("mine", Add()))
    ask(QUrl.fromLocalFile(str(file)))
    assert titles(window) == ["Untitled", file.name]


def test_a_file_that_is_open_comes_to_the_front(window, ask, file):
    ask(str(file))
    ask(str(file))
    assert titles(window) == [file.name]


@pytest.mark.night
def test_a_file_that_is_gone_is_said(window, ask, tmp_path):
    ask(str(tmp_path / "gone.gradwire.json"))
    assert titles(window) == ["Untitled"] and window.notice.isVisible()


def test_an_address_opens_nothing(window, ask):
    ask(QUrl("https://example.org/one.gradwire.json"))
    assert titles(window) == ["Untitled"]
