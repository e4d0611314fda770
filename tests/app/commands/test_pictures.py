"""Pictures of the page and of the selection: files, the clipboard, paper."""

import re
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QDialog, QFileDialog

from runtime.build import build, loss, stop_gradient, variable


@pytest.fixture
def window(qtbot, window):
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    window.document._begin(build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed"), None)
    qtbot.waitUntil(lambda: window.isActiveWindow() and not window.evaluator.busy)
    return window


@pytest.fixture
def export(window, monkeypatch, tmp_path, qtbot):
    """Exports to a file of this name by the keys of the action."""

    def run(name, modifiers=Qt.KeyboardModifier.ControlModifier):
        path = tmp_path / name
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), "x (*.png)")
        )
        qtbot.keyClick(window, Qt.Key.Key_E, modifiers)
        return path

    return run


SELECTION = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def colours(image):
    steps = range(0, image.width(), 5), range(0, image.height(), 5)
    return {image.pixel(x, y) for x in steps[0] for y in steps[1]}


def svg_width(path):
    return QSvgRenderer(str(path)).viewBoxF().width()


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


def test_a_name_without_an_ending_gets_that_of_the_kind(export, tmp_path):
    export("page")
    assert (tmp_path / "page.png").exists()


def test_the_selection_is_less_than_the_page(window, export):
    assert not window.actions_by_name["export_selection"].isEnabled()
    window.canvas.select({"a", "add1"})
    part = export("part.svg", SELECTION)
    whole = export("whole.svg")
    assert svg_width(part) < svg_width(whole)
    texts = part.read_text(encoding="utf-8"), whole.read_text(encoding="utf-8")
    assert texts[0].count("<path") < texts[1].count("<path")


def test_the_legend_can_be_left_out_and_that_is_remembered(window, export, settings):
    action = window.actions_by_name["picture_legend"]
    assert action.isChecked()
    before = svg_width(export("with.svg"))
    action.trigger()
    assert svg_width(export("without.svg")) < before - 100
    assert not settings.picture_legend


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
