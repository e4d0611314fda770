"""The open diagram is compared with a file."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog

from gradwire.app.panels.dialogs.merging import ComparisonDialog
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.diagram import InsertPage, RemoveBlocks, SetParameters, save
from tests.app.document.test_diff import seed


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "before.gradwire.json"
    save(seed(), path)
    return path


@pytest.fixture
def compare(window, qtbot, monkeypatch, file):
    """Compares with a file by the action; the dialog that opens."""
    window.document._begin(seed(), None)

    def run(path=file):
        close()
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
        window.actions_by_name["compare"].trigger()
        dialogs = [w for w in QApplication.topLevelWidgets() if isinstance(w, ComparisonDialog)]
        shown = [dialog for dialog in dialogs if dialog.isVisible()]
        return next(iter(shown), None)

    def close():
        for each in QApplication.topLevelWidgets():
            if isinstance(each, ComparisonDialog):
                each.close()

    yield run
    close()


def drawn(dialog):
    image = dialog.preview.grab().toImage()
    return {image.pixel(x, y) for x in range(0, image.width(), 2) for y in range(image.height())}


def test_differences_are_told_and_drawn(window, compare):
    window.edit.change(SetParameters("stop", {"open": True}))
    dialog = compare()
    words = dialog.words.toPlainText()
    assert "stop: open" in words
    assert "gains a gradient" in words
    assert len(drawn(dialog)) > 10
    assert not dialog.isModal()
    assert dialog.words.isReadOnly()
    assert dialog.words.accessibleName() and dialog.preview.accessibleName()


@pytest.mark.night
def test_unsaved_changes_are_compared_not_the_file(window, compare):
    assert "No difference." in compare().words.toPlainText()
    window.edit.change(RemoveBlocks(["b"]))
    assert "−  b" in compare().words.toPlainText()


def test_of_several_pages_one_is_chosen(window, compare, qtbot):
    assert not compare().page.isVisible()
    window.edit.change(SetParameters("stop", {"open": True}))
    window.edit.change(InsertPage("inner", seed().main))
    dialog = compare()
    assert [dialog.page.itemText(i) for i in range(dialog.page.count())] == ["main", "inner"]
    before = dialog.preview.grab().toImage()
    dialog.page.setCurrentText("inner")
    assert dialog.preview.grab().toImage() != before


@pytest.mark.night
def test_the_picture_has_the_theme_of_the_window(window, compare):
    dialog = compare()
    before = dialog.preview.grab().toImage()
    window.actions_by_name["theme_dark"].trigger()
    after = dialog.preview.grab().toImage()
    places = [(x, y) for x in range(0, before.width(), 3) for y in range(0, before.height(), 3)]
    counts = [
        Counter(image.pixelColor(x, y).name() for x, y in places) for image in (before, after)
    ]
    assert counts[0][LIGHT.canvas] > counts[0][DARK.canvas]
    assert counts[1][DARK.canvas] > counts[1][LIGHT.canvas]


def test_a_file_that_is_none_is_refused(window, compare, tmp_path):
    wrong = tmp_path / "wrong.gradwire.json"
    wrong.write_text("{", encoding="utf-8")
    assert compare(wrong) is None
    assert "wrong.gradwire.json" in window.notice.text()


def test_nothing_happens_without_a_file(compare):
    assert compare("") is None
