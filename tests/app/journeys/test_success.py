"""Every action that writes says so, offers to open it, and clears the error before it."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest
from PySide6.QtGui import QDesktopServices, QFontMetrics
from PySide6.QtWidgets import QFileDialog, QInputDialog

import gradwire.runtime.build as b
from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.panels.inspector.array_tools import ArrayTools
from gradwire.app.services.examples import lessons
from gradwire.runtime.diagram import SetLesson, load, save
from tests.app.closing import give_up


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
    room = QFontMetrics(said.font()).horizontalAdvance(f"Saved {name} · Show in folder")
    qtbot.waitUntil(lambda: said.visibleRegion().boundingRect().width() >= room)
    assert (tmp_path / name).exists()
    assert not window.notice.isVisible()
    assert said.text().startswith(f"Saved {escape(name)} · ")
    assert (">Open<" in said.text()) == opens
    assert ">Show in folder<" in said.text()
    said.linkActivated.emit(str(tmp_path))
    assert asked == [str(tmp_path)]
    assert window.statusBar().currentMessage().startswith("Nothing here opens")


@pytest.mark.parametrize(
    ("write", "name", "is_whole"),
    [
        (by_action("save_as"), "d.gradwire.json", True),
        (by_action("publish"), "d.html", True),
        (export_picture, "fig.svg", False),
    ],
)
def test_what_a_captured_program_gives_away_is_said(
    opened, qtbot, monkeypatch, tmp_path, write, name, is_whole
):
    x = b.input("x", [1.0, 2.0], written="train.py:3: model(x)")
    window = opened(b.build(b.loss(b.mean(x * b.variable("w", [3.0, 1.0])), name="L")))
    choose(monkeypatch, tmp_path / name)
    write(window, qtbot)
    said = window.status.written
    qtbot.waitUntil(said.isVisible)
    told = "It includes the numbers of x, and 1 line of source."
    assert said.text().endswith(told) == is_whole and (told in said.text()) == is_whole


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


def test_what_was_saved_before_is_not_said_of_a_new_diagram(window, monkeypatch, tmp_path):
    choose(monkeypatch, tmp_path / "d.gradwire.json")
    window.actions_by_name["save_as"].trigger()
    assert window.status.written.isVisible()
    window.document.new()
    assert not window.status.written.isVisible()


def test_what_fails_is_not_said_beside_an_older_success(window, monkeypatch, tmp_path):
    choose(monkeypatch, tmp_path / "d.gradwire.json")
    window.actions_by_name["save_as"].trigger()
    assert window.status.written.isVisible()
    assert not window.document.save_as(tmp_path / "missing" / "d.gradwire.json")
    assert window.notice.isVisible()
    assert not window.status.written.isVisible()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("copy", "Copied."),
        ("copy_formula", "Copied as a formula."),
        ("copy_python", "Copied as a Python program."),
        ("check_gradients", "Gradient check: 2 blocks agree, 0 disagree, 1 are exempt."),
        ("library_folder", "The library is in {0}."),
        ("costs", ""),
        ("timeline", ""),
        ("compare", ""),
    ],
)
def test_what_writes_no_file_clears_the_error_before_it(
    window, qtbot, monkeypatch, tmp_path, name, said
):
    window.canvas.select_all()
    path = window.document.path
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: str(tmp_path))
    window.actions_by_name[name].trigger()
    qtbot.waitUntil(lambda: not window.notice.isVisible())
    assert said.format(tmp_path) in window.statusBar().currentMessage()


def test_presets_that_are_renamed_or_deleted_clear_the_error_before(window, monkeypatch):
    window.canvas.select({"w"})
    names = iter(["one", "two"])
    monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: (next(names), True))
    monkeypatch.setattr(QInputDialog, "getItem", lambda *args: (args[3][0], True))
    for name, said in (("save", "saved"), ("rename", "called “two”"), ("delete", "deleted")):
        window.document.problem.emit("An older error.")
        window.actions_by_name[f"{name}_preset"].trigger()
        assert said in window.statusBar().currentMessage()
        assert not window.notice.isVisible()


def test_what_opens_in_another_window_clears_the_error_of_this_one(window, tmp_path):
    (tmp_path / "bad.gradwire.json").write_text("{")
    assert not window.open_path(tmp_path / "bad.gradwire.json")
    assert window.notice.isVisible()
    save(window.document.diagram, tmp_path / "good.gradwire.json")
    assert window.open_path(tmp_path / "good.gradwire.json")
    assert len(window.windows.listed) == 2
    assert not window.notice.isVisible()
    give_up(window.windows.listed[1])


def test_a_run_that_works_again_clears_what_the_run_before_said(window):
    result, shown = window.evaluator.result, window.presenter.resultShown
    use, wrong = window.navigation.use, replace(result, error="The file is missing.")
    shown.emit(wrong, use)
    assert window.notice.text() == "The file is missing."
    shown.emit(result, use)
    assert not window.notice.isVisible()
    window.document.problem.emit("Nothing was pasted.")
    shown.emit(result, use)
    assert window.notice.text() == "Nothing was pasted."


def test_answers_of_a_lesson_say_where_they_are(window, monkeypatch, tmp_path):
    monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: ("Ada", True))
    choose(monkeypatch, tmp_path / "ada.json")
    window.edit.change(SetLesson(load(lessons()[0].path).lesson))
    window.lazy.player.start()
    window.document.problem.emit("An older error.")
    window.lazy.player.panel.saveRequested.emit()
    assert window.status.written.text().startswith("Saved ada.json · ")
    assert not window.notice.isVisible()
    choose(monkeypatch, tmp_path / "missing" / "ada.json")
    window.lazy.player.panel.saveRequested.emit()
    assert window.notice.text().startswith("ada.json was not written.")
    assert not window.status.written.isVisible()


def test_an_array_that_is_saved_says_so(window, qtbot, monkeypatch, tmp_path):
    window.canvas.select({"w"})
    tools = window.inspector.findChild(ArrayTools)
    choose(monkeypatch, tmp_path / "missing" / "w.npy")
    tools.save()
    choose(monkeypatch, tmp_path / "w.npy")
    tools.save()
    assert window.statusBar().currentMessage() == "Saved w.npy"
    assert (tmp_path / "w.npy").exists()
