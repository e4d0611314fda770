"""File > Save Exercises for a Class, by mouse and keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMessageBox

from gradwire.app.panels.dialogs.class_sheet import ClassSheet
from gradwire.app.services.background import Cancelled
from gradwire.runtime.diagram import load
from gradwire.runtime.publish.living.publishing import publish
from tests.examples.gallery import path

LESSON = path("fan_out").parents[1] / "lessons" / "02_fan_out_adds.gradwire.json"


@pytest.fixture
def said(window):
    """What the editor says."""
    found = []
    window.document.problem.connect(found.append)
    yield found
    window.document.problem.disconnect(found.append)


@pytest.fixture
def sheet(window, qtbot, said):
    """The sheet of a lesson, opened by the menu entry."""
    window.document._begin(load(LESSON), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.actions_by_name["save_exercises"].trigger()
    made = window.findChild(ClassSheet)
    qtbot.waitExposed(made)
    return made


def click(qtbot, widget):
    place = QPoint(10, widget.height() // 2)
    qtbot.mouseMove(widget, place)
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=place)


def choose_file(monkeypatch, file):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(file), ""))


def paste(qtbot, sheet, text):
    QGuiApplication.clipboard().setText(text)
    click(qtbot, sheet.names.viewport())
    qtbot.keyClick(sheet.names, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


@pytest.mark.night
def test_one_page_asks_for_the_name(sheet, qtbot, monkeypatch, tmp_path, said):
    choose_file(monkeypatch, tmp_path / "fan")
    assert not sheet.save.isEnabled()
    paste(qtbot, sheet, "Ada\n\n Émilie ")
    assert "One page with 2 names" in sheet.outcome.text()
    click(qtbot, sheet.save)
    wanted = publish(load(LESSON), learners=["Ada", "Émilie"])
    assert (tmp_path / "fan.html").read_text(encoding="utf-8") == wanted
    assert said == []


@pytest.mark.night
def test_a_page_for_each_name_of_a_file(sheet, qtbot, monkeypatch, tmp_path, said):
    names, out = tmp_path / "class.txt", tmp_path / "out"
    names.write_text("Ada\nÉmilie\n", encoding="utf-8")
    out.mkdir()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(names), ""))
    click(qtbot, sheet.from_file)
    click(qtbot, sheet.each)
    assert "2 pages" in sheet.outcome.text()
    choose_file(monkeypatch, out / "fan.html")
    click(qtbot, sheet.save)
    assert sorted(file.name for file in out.iterdir()) == ["fan-1-Ada.html", "fan-2-Émilie.html"]
    page = (out / "fan-2-Émilie.html").read_text(encoding="utf-8")
    assert page == publish(load(LESSON), seed=2) and said == []


def test_as_many_pages_as_learners(sheet, qtbot, monkeypatch, tmp_path):
    click(qtbot, sheet.by_count)
    assert not sheet.shared.isEnabled() and not sheet.names.isEnabled()
    sheet.count.setFocus()
    sheet.count.selectAll()
    qtbot.keyClicks(sheet.count, "3")
    choose_file(monkeypatch, tmp_path / "fan.html")
    click(qtbot, sheet.save)
    assert {file.name for file in tmp_path.glob("*.html")} == {
        f"fan-{seed}.html" for seed in (1, 2, 3)
    }


def test_what_is_wrong_with_a_list_is_said_at_once(sheet, qtbot, monkeypatch, tmp_path):
    paste(qtbot, sheet, "Ada\nAda")
    assert "in the list twice" in sheet.trouble.text() and not sheet.save.isEnabled()
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(empty), ""))
    click(qtbot, sheet.from_file)
    assert "has no names" in sheet.trouble.text()


@pytest.mark.night
def test_files_are_replaced_only_on_request(sheet, qtbot, monkeypatch, tmp_path):
    (tmp_path / "fan-1-Ada.html").write_text("mine")
    choose_file(monkeypatch, tmp_path / "fan.html")
    asked = []
    monkeypatch.setattr(QMessageBox, "question", lambda *a: asked.append(a[-1]))
    paste(qtbot, sheet, "Ada\nGrace")
    click(qtbot, sheet.each)
    click(qtbot, sheet.save)
    assert asked == ["Replace fan-1-Ada.html?"] and sheet.isVisible()
    assert [file.name for file in tmp_path.glob("*.html")] == ["fan-1-Ada.html"]


def test_a_failure_and_a_cancelled_job_leave_nothing(
    sheet, qtbot, monkeypatch, tmp_path, said, window
):
    choose_file(monkeypatch, tmp_path / "missing" / "fan.html")
    paste(qtbot, sheet, "Ada")
    click(qtbot, sheet.save)
    assert "No page was written" in said[0] and not (tmp_path / "missing").exists()
    choose_file(monkeypatch, tmp_path / "fan.html")
    window.actions_by_name["save_exercises"].trigger()
    again = next(each for each in window.findChildren(ClassSheet) if each.isVisible())
    paste(qtbot, again, "Ada")

    def cancelled(text, job, *, pure=False):
        def pulse(share):
            raise Cancelled

        return job(pulse)

    monkeypatch.setattr(window.background, "run", cancelled)
    click(qtbot, again.save)
    assert not list(tmp_path.glob("*fan*")) and not list(tmp_path.glob(".gradwire*"))
    assert len(said) == 1


def test_without_a_lesson_that_varies_it_is_disabled_and_says_why(window):
    action, whole = window.actions_by_name["save_exercises"], load(LESSON)
    window.document._begin(whole, None)
    assert action.isEnabled() and whole.lesson is not None
    window.document._begin(
        replace(whole, lesson=whole.lesson.model_copy(update={"vary": {}})), None
    )
    assert not action.isEnabled() and "don't vary by a seed" in action.statusTip()
    window.document._begin(load(path("fan_out")), None)
    assert not action.isEnabled() and "has no lesson" in action.statusTip()
    action.trigger()
    assert window.findChild(ClassSheet) is None
