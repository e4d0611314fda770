"""Pictures of the page and of the selection: files, the clipboard, paper."""

import re
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMessageBox

from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import Note, SetNote, group
from tests.app.mouse import LEFT

CONTROL = Qt.KeyboardModifier.ControlModifier
SELECTION = CONTROL | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(qtbot, window):
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    window.document._begin(build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed"), None)
    qtbot.waitUntil(lambda: window.isActiveWindow() and not window.evaluator.busy)
    return window


def open_sheets():
    sheets = [each for each in QApplication.topLevelWidgets() if isinstance(each, ExportSheet)]
    return [sheet for sheet in sheets if sheet.isVisible()]


@pytest.fixture
def sheet(window, qtbot):
    """Opens the sheet by the keys of the action."""

    def run(modifiers=CONTROL):
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        qtbot.keyClick(window, Qt.Key.Key_E, modifiers)
        (opened,) = open_sheets()
        return opened

    return run


def choose(box, value):
    box.setCurrentIndex(box.findData(str(value)))


@pytest.fixture
def export(sheet, monkeypatch, tmp_path, qtbot):
    """Exports to a file of this name by the keys of the action and the button of the sheet."""

    def run(name, modifiers=CONTROL, **chosen):
        path = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
        opened = sheet(modifiers)
        for field, value in chosen.items():
            choose(getattr(opened, field), value)
        qtbot.mouseClick(opened.export, LEFT)
        qtbot.waitUntil(lambda: not open_sheets())
        return path

    return run


def colours(image):
    steps = range(0, image.width(), 5), range(0, image.height(), 5)
    return {image.pixel(x, y) for x in steps[0] for y in steps[1]}


def svg_area(path):
    box = QSvgRenderer(str(path)).viewBoxF()
    return box.width() * box.height()


@pytest.mark.night
def test_a_page_becomes_a_file_of_each_kind(export):
    image = QImage(str(export("page.png")))
    assert image.width() > 1000
    assert len(colours(image)) > 5
    svg = export("page.svg")
    assert QSvgRenderer(str(svg)).isValid()
    assert svg.read_text(encoding="utf-8").count("<path") > 20
    pdf = export("page.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type */Page\b", pdf)) == 1
    assert export("page.tex").read_text(encoding="ascii").count("\\path") > 20


def test_a_name_without_an_ending_gets_that_of_the_kind(export, tmp_path):
    export("page", kind=".pdf")
    assert (tmp_path / "page.pdf").exists()


def test_the_selection_is_less_than_the_page(window, export):
    assert not window.actions_by_name["export_selection"].isEnabled()
    window.canvas.select({"a", "add1"})
    part = export("part.svg", SELECTION, legend="none")
    whole = export("whole.svg", legend="none")
    assert svg_area(part) < svg_area(whole)
    texts = part.read_text(encoding="utf-8"), whole.read_text(encoding="utf-8")
    assert texts[0].count("<path") < texts[1].count("<path")


def test_a_selected_note_is_part_of_the_selection(window, export):
    window.edit.change(SetNote("n", Note("seen", width=90.0)))
    window.canvas.select({"a"}, {"n"})
    both = export("both.svg", SELECTION, lettering="text").read_text(encoding="utf-8")
    assert ">seen<" in both


@pytest.mark.night
def test_options_are_remembered_once_they_were_used(window, sheet, export, settings):
    opened = sheet()
    choose(opened.legend, "all")
    opened.reject()
    assert settings.picture == {}
    large = export("all.svg", legend="all", theme="dark")
    assert svg_area(large) > svg_area(export("none.svg", legend="none"))
    opened = sheet()
    assert opened.legend.currentData() == "none"
    assert opened.theme.currentData() == "dark"
    assert opened.kind.currentData() == ".svg"


def test_the_loss_that_is_shown_is_exported(window, qtbot, export):
    """Not the sum of all losses while another is chosen."""
    a = variable("a", [1.0])
    window.document._begin(build(loss(a, name="L1"), loss(2 * a, name="L2")), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    texts = []
    for chosen in ("L1.out", "L2.out"):
        window.losses.choose(chosen)
        texts.append(export("x.svg", lettering="text").read_text(encoding="utf-8"))
    assert texts[0] != texts[1]


def test_all_pages_are_files_or_sheets(window, export, tmp_path, monkeypatch, sheet):
    assert sheet().extent.findData("pages") < 0
    open_sheets()[0].reject()
    window.edit.change(group(window.document.diagram, "main", ["mul1"]))
    page = list(window.document.diagram.pages)[1]
    pdf = export("all.pdf", extent="pages").read_bytes()
    assert len(re.findall(rb"/Type */Page\b", pdf)) == 2
    export("all.svg", extent="pages")
    first, second = tmp_path / "all-main.svg", tmp_path / f"all-{page}.svg"
    assert first.exists() and second.exists()
    asked = []

    def refuse(*arguments):
        asked.append(arguments[-1])
        return QMessageBox.StandardButton.No

    monkeypatch.setattr(QMessageBox, "question", refuse)
    second.write_text("mine", encoding="utf-8")
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *a, **k: (str(tmp_path / "all.svg"), "")
    )
    opened = sheet()
    choose(opened.extent, "pages")
    opened.export.click()
    assert len(asked) == 1
    assert second.name in asked[0]
    assert second.read_text(encoding="utf-8") == "mine"
    assert open_sheets() == [opened]
    opened.reject()


def test_only_one_sheet_opens(window, sheet):
    sheet()
    window.actions_by_name["export"].trigger()
    assert len(open_sheets()) == 1
    open_sheets()[0].reject()


def test_the_selection_or_the_page_is_copied(window, qtbot):
    sizes = []
    for names in ({"a"}, ()):
        window.canvas.select(names)
        qtbot.keyClick(window, Qt.Key.Key_C, SELECTION)
        image = QGuiApplication.clipboard().image()
        assert len(colours(image)) > 3
        sizes.append(image.width())
    assert sizes[0] < sizes[1]


def test_a_page_is_printed_on_one_sheet(window, qtbot, monkeypatch, tmp_path):
    path = tmp_path / "paper.pdf"

    def accept(dialog):
        dialog.printer().setOutputFileName(str(path))
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(QPrintDialog, "exec", accept)
    window.actions_by_name["print_page"].trigger()
    pdf = path.read_bytes()
    assert len(re.findall(rb"/Type */Page\b", pdf)) == 1
    assert len(pdf) > 3000


def test_a_page_that_goes_nowhere_is_told(window, export):
    export("no/such/folder/page.pdf")
    assert "was not written" in window.notice.text()


def test_an_empty_page_is_a_picture_too(window, export):
    window.document.new()
    assert not QImage(str(export("empty.png"))).isNull()


def test_a_picture_is_xml_for_any_name_of_a_diagram(window, export, monkeypatch):
    monkeypatch.setattr(type(window.document), "name", "a<&\x1b\ufffe")
    title = ElementTree.parse(export("page.svg")).find("{http://www.w3.org/2000/svg}title")
    assert title is not None and title.text == "a<&␛\ufffd"
