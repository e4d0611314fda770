from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.panels.inspector.selection_form import SelectionForm
from runtime.diagram import SetParameters
from tests.app.document.test_diff import seed


@pytest.fixture
def form(window):
    window.document._begin(seed(), None)
    window.canvas.select({"mul1", "stop", "add1"})
    inner = window.inspector.widget()
    assert isinstance(inner, SelectionForm)
    return inner


def test_the_selection_is_written_as_formula_and_as_python(form):
    assert form.text.toPlainText() == "stop = stop_gradient(3 * b)\nadd1 = stop + a"
    form.language.setCurrentIndex(1)
    assert form.text.toPlainText().startswith("import gradwire as gw\n")
    assert "stop = gw.stop_gradient(3 * b, name='stop')" in form.text.toPlainText()


def test_copy_takes_what_is_shown(form, qtbot):
    qtbot.mouseClick(form.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == form.text.toPlainText()


def test_an_edit_is_written_at_once_and_the_language_stays(form, window):
    form.language.setCurrentIndex(1)
    assert window.document.apply(SetParameters("mul1", {"a": 5}))
    assert window.inspector.widget() is form
    assert "5 * b" in form.text.toPlainText()


def test_many_blocks_are_not_written(qtbot, monkeypatch):
    monkeypatch.setattr("app.panels.inspector.selection_form._MOST_WRITTEN", 1)
    form = SelectionForm(seed(), "main", ["a", "b"])
    qtbot.addWidget(form)
    assert "Too many blocks" in form.text.toPlainText() and not form.copy.isEnabled()
