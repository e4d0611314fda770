"""Every action that writes says so, offers to open it, and clears the error before it."""

from __future__ import annotations

from html import escape

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

import gradwire.runtime.build as b
from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.panels.inspector.array_tools import ArrayTools


@pytest.fixture
def window(opened):
    made = opened(b.build(b.loss(b.mean(b.square(b.variable("w", [3.0, 1.0]))), name="L")))
    made.document.problem.emit("An older error.")
    assert made.notice.isVisible()
    return made


def choose(monkeypatch, path):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *args: (str(path), ""))


def export_picture(window, qtbot):
    window.actions_by_name["export"].trigger()
    window.findChild(ExportSheet).exportRequested.emit()


def by_action(name):
    return lambda window, qtbot: window.actions_by_name[name].trigger()


def curves(window, qtbot):
    window.actions_by_name["step"].trigger()
    qtbot.waitUntil(lambda: window.training.step_shown == 1 and not window.training.is_playing)
    window.training.curves.csvRequested.emit()


@pytest.mark.parametrize(
    ("write", "name", "opens"),
    [
        (by_action("save_as"), "d.gradwire.json", False),
        (by_action("publish"), "d & <e>.html", True),
        (by_action("export_numpy"), "d.py", True),
        (export_picture, "fig.svg", True),
        (curves, "curves.csv", True),
    ],
)
def test_what_writes_a_file_says_so(window, qtbot, monkeypatch, tmp_path, write, name, opens):
    asked = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: asked.append(url.toLocalFile()))
    choose(monkeypatch, tmp_path / name)
    write(window, qtbot)
    said = window.status.written
    qtbot.waitUntil(said.isVisible)
    assert (tmp_path / name).exists()
    assert not window.notice.isVisible()
    assert said.text().startswith(f"Saved {escape(name)} · ")
    assert (">Open<" in said.text()) == opens
    assert ">Show in folder<" in said.text()
    said.linkActivated.emit(str(tmp_path))
    assert asked == [str(tmp_path)]
    assert window.statusBar().currentMessage().startswith("Nothing here opens")


def test_what_fails_says_only_that(window, qtbot, monkeypatch, tmp_path):
    choose(monkeypatch, tmp_path / "missing" / "d.py")
    window.actions_by_name["export_numpy"].trigger()
    assert "was not written" in window.notice.text()
    assert not window.status.written.isVisible()


def test_what_is_said_goes_with_the_next_success_that_writes_nothing(window, monkeypatch, tmp_path):
    choose(monkeypatch, tmp_path / "d.gradwire.json")
    window.actions_by_name["save_as"].trigger()
    window.document.problem.emit("An error.")
    window.actions_by_name["copy_picture"].trigger()
    assert not window.status.written.isVisible()
    assert not window.notice.isVisible()
    assert window.statusBar().currentMessage() == "Copied as a picture."


def test_an_array_that_is_saved_says_so(window, qtbot, monkeypatch, tmp_path):
    window.canvas.select({"w"})
    tools = window.inspector.findChild(ArrayTools)
    choose(monkeypatch, tmp_path / "missing" / "w.npy")
    tools.save()
    choose(monkeypatch, tmp_path / "w.npy")
    tools.save()
    assert window.statusBar().currentMessage() == "Saved w.npy"
    assert (tmp_path / "w.npy").exists()
