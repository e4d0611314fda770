"""Models are imported by menu, by dropping them and by opening them; remarks lead to blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel

from gradwire.app.panels.dialogs.import_sheet import ImportReport, ImportSheet
from gradwire.runtime.diagram.model import Diagram
from gradwire.runtime.interchange.importing import process
from gradwire.runtime.interchange.importing.imported import Imported, Remark
from tests.app.mouse import drop_file

SEED = Path(__file__).parents[3] / "assets/models/mxnet_seed.json"


def ask(window, monkeypatch, path=SEED):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
    window.actions_by_name["import"].trigger()
    return window.imports.sheet


def test_a_model_is_imported_by_the_menu_and_has_no_file(window, qtbot, monkeypatch):
    sheet = ask(window, monkeypatch)
    assert SEED.name in sheet.windowTitle()
    sheet.accept()
    assert "stop_gradient0" in window.document.diagram.main.blocks
    assert window.document.path is None  # saving must not replace the model
    assert SEED not in window.settings.recent
    assert window.imports.sheet is None


def test_cancelling_the_sheet_imports_nothing(window, monkeypatch):
    ask(window, monkeypatch).reject()
    assert window.document.is_untouched and window.imports.report is None


def test_shapes_that_are_none_stay_on_the_sheet(window, monkeypatch):
    sheet = ask(window, monkeypatch)
    sheet.shapes.setPlainText("a = 2, 3\nb = two")
    sheet.accept()
    assert sheet.isVisible() and "b = two" in sheet.mistake.text()
    sheet.shapes.setPlainText("a = 1, 2\n\nb = 1, 2,")
    assert dict(sheet.options.shapes) == {"a": (1, 2), "b": (1, 2)}
    sheet.loss.setText(" nowhere ")
    sheet.accept()
    assert "no output 'nowhere'" in window.notice.text()
    assert window.document.is_untouched


def test_a_dropped_model_is_imported_and_its_remarks_lead_to_blocks(window, qtbot):
    assert drop_file(window, SEED)
    qtbot.waitUntil(window.imports.offer.isVisible)
    assert "stops gradient: 1, note: 1" in window.imports.offer.text()
    qtbot.mouseClick(window.imports.offer.buttons[0], Qt.MouseButton.LeftButton)
    report = window.imports.report
    assert report.isVisible() and not report.isModal()
    assert "Blocks: 6. Pages: 1. Parameters: 2. Loss: loss." in report.summary.text()
    cell = report.table.item(0, 1)
    assert cell.text() == "stop_gradient0"
    at = report.table.visualItemRect(cell).center()
    qtbot.mouseMove(report.table.viewport(), at)
    qtbot.mouseClick(report.table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert window.canvas.selection() == {"stop_gradient0"}


@pytest.mark.night
def test_another_diagram_closes_the_report_and_the_offer(window):
    window.open_path(SEED)
    window.imports.offer.buttons[0].click()
    assert window.imports.report is not None
    window.document.new()
    assert window.imports.report is None

    window.open_path(SEED)
    assert window.imports.offer.isVisible()
    window.document.new()
    assert not window.imports.offer.isVisible()


def test_what_is_no_model_is_said_and_changes_nothing(window, tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x08\x07 no model")
    assert not window.open_path(path)
    assert "broken.onnx was not opened" in window.notice.text()
    assert window.document.is_untouched


def test_text_of_a_model_is_shown_as_plain_text(qtbot):
    remark = Remark("cut", "<b>text</b>", "<i>block</i>", "<u>net</u>.py:1")
    report = ImportReport("<h1>net</h1>", Imported(Diagram(), (remark,)), None)
    qtbot.addWidget(report)
    formats = {label.textFormat() for label in report.findChildren(QLabel)}
    assert formats == {Qt.TextFormat.PlainText}
    assert report.table.item(0, 3).text() == "<b>text</b>"
    assert "<b>" not in report.table.item(0, 3).toolTip()


@pytest.mark.parametrize("width", [320, 760])
def test_the_sheet_can_be_used_by_keyboard(qtbot, width):
    sheet = ImportSheet(SEED, None)
    qtbot.addWidget(sheet)
    sheet.resize(width, 200)
    sheet.show()
    sheet.loss.setFocus()
    qtbot.keyClicks(sheet.loss, "total")
    qtbot.keyClick(sheet.loss, Qt.Key.Key_Tab)
    assert sheet.focusWidget() is sheet.training
    qtbot.keyClick(sheet.training, Qt.Key.Key_Space)
    assert sheet.options.loss == "total" and sheet.options.training


def test_an_import_that_says_nothing_can_be_cancelled(window, monkeypatch, tmp_path):
    (tmp_path / "silent.py").write_text("def main():\n    import time; time.sleep(1000)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(process, "_CHILD", "silent")
    window.background.progressed.connect(lambda text, share: window.background.cancel())
    assert not window.open_path(SEED)
    assert window.document.is_untouched and not window.background.busy
