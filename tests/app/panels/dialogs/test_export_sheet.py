"""The sheet of options of a picture, and its preview."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.dialogs.export_sheet import ExportSheet
from gradwire.app.pictures.options import PictureExtent, PictureOptions
from gradwire.app.pictures.page_picture import PagePicture
from gradwire.app.services.theme import DARK, LIGHT
from tests.app.canvas.pages import seed


@pytest.fixture
def sheet(qtbot):
    result = evaluate(seed())

    def pictures(extent, options):
        count = 3 if extent is PictureExtent.PAGES else 1
        return [PagePicture(seed(), "main", result, options=options)] * count

    parent = QWidget()
    qtbot.addWidget(parent)
    made = ExportSheet(pictures, PictureExtent, PictureOptions(), ".svg", parent)
    made.show()
    qtbot.waitExposed(made)
    yield made
    parent.close()


def shown(sheet):
    """What the preview shows."""
    return sheet.preview.grab().toImage()


def colours(image):
    places = product(range(image.width()), range(image.height()))
    return {image.pixelColor(x, y).name() for x, y in places}


def pick(qtbot, box, value):
    """Choose by keyboard, as in a closed box."""
    box.setFocus()
    box.setCurrentIndex(0)
    for _ in range(box.findData(str(value))):
        qtbot.keyClick(box, Qt.Key.Key_Down)
    assert box.currentData() == str(value)


@pytest.mark.night
def test_the_preview_follows_every_option(sheet, qtbot):
    seen = [shown(sheet)]
    assert LIGHT.canvas in colours(seen[0])
    for change in (
        lambda: pick(qtbot, sheet.legend, "all"),
        lambda: pick(qtbot, sheet.theme, "dark"),
        lambda: qtbot.keyClick(sheet.numbers, Qt.Key.Key_Space),
    ):
        change()
        qtbot.waitUntil(lambda: shown(sheet) != seen[-1])
        seen.append(shown(sheet))
    assert DARK.canvas in colours(seen[-1])
    assert not sheet.options.numbers


def test_the_size_on_paper_is_stated(sheet, qtbot):
    sheet.width_on_paper.setFocus()
    sheet.width_on_paper.selectAll()
    qtbot.keyClicks(sheet.width_on_paper.lineEdit(), "12")
    qtbot.keyClick(sheet.width_on_paper, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: sheet.caption.text().startswith("12.0 × "))
    assert sheet.options.width == 12.0


def test_fonts_are_offered_only_where_they_can_be_embedded(qtbot, monkeypatch):
    parent = QWidget()
    qtbot.addWidget(parent)
    picture = PagePicture(seed(), "main", evaluate(seed()))
    for possible in (True, False):
        monkeypatch.setattr(
            "gradwire.app.panels.dialogs.export_sheet.can_embed", lambda can=possible: can
        )
        made = ExportSheet(lambda *_: [picture], PictureExtent, PictureOptions(), ".svg", parent)
        assert (made.lettering.findData("embedded") >= 0) is possible
        made.close()


def test_text_is_a_choice_of_svg_alone(sheet, qtbot):
    assert sheet.lettering.isEnabled()
    pick(qtbot, sheet.kind, ".pdf")
    qtbot.waitUntil(lambda: not sheet.lettering.isEnabled())


def test_of_several_pages_the_first_is_shown(sheet, qtbot):
    pick(qtbot, sheet.extent, "pages")
    qtbot.waitUntil(lambda: sheet.caption.text().startswith("Page 1 of 3: "))


def test_every_field_has_a_name_for_a_screen_reader(sheet):
    fields = (sheet.extent, sheet.kind, sheet.legend, sheet.theme, sheet.numbers, sheet.lettering,
              sheet.width_on_paper, sheet.preview)  # fmt: skip
    assert all(field.accessibleName() for field in fields)


def test_enter_exports_and_escape_closes(sheet, qtbot):
    with qtbot.waitSignal(sheet.exportRequested):
        qtbot.keyClick(sheet, Qt.Key.Key_Return)
    assert sheet.isVisible()
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()


def test_a_slow_preview_stays_incomplete(sheet, monkeypatch):
    monkeypatch.setattr("gradwire.app.panels.dialogs.export_sheet._PATIENCE", -1.0)
    whole = shown(sheet)
    sheet.preview.show_picture(sheet._pictures(PictureExtent.PAGE, sheet.options)[0])
    assert shown(sheet) != whole
