from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint.blocks import grids
from gradwire.app.canvas.paint.blocks.grids import draw_section
from gradwire.app.canvas.state.charts import HEIGHT, WIDTH, chart
from gradwire.app.canvas.state.formatting import FaceReadout, FaceSection
from gradwire.app.services.theme import LIGHT, SMALL, font
from gradwire.runtime.diagram.layout.measures import ROW
from tests.app.canvas.paint.recording import recorder

PLACE = QRectF(10.0, 20.0, 300.0, 2 * ROW)
GRID = FaceReadout((("1", "22"), ("333", "4")), bracketed=True)


@pytest.fixture(autouse=True)
def application(qapp):
    """Text is measured."""


def painted(monkeypatch, section, place=PLACE, *, zoom=1.0, stale=False):
    painter = recorder(monkeypatch)
    draw_section(painter, section, place, LIGHT, zoom=zoom, stale=stale)
    return painter


def wide(text: str) -> float:
    return QFontMetricsF(font(SMALL)).horizontalAdvance(text)


def test_cells_stand_in_columns_and_rows_flush_right(monkeypatch):
    painter = painted(monkeypatch, FaceSection("", GRID))
    texts = {each.arguments[2]: each.arguments[0] for each in painter.drawn("drawText")}
    first, second = wide("333"), wide("22")
    assert texts["1"] == QRectF(5.0, -ROW, first, ROW)
    assert texts["333"] == QRectF(5.0, 0.0, first, ROW)
    assert texts["22"] == QRectF(5.0 + first + 9.0, -ROW, second, ROW)
    assert texts["4"] == QRectF(5.0 + first + 9.0, 0.0, second, ROW)
    (left, middle), = painter.of("translate")  # fmt: skip
    assert left == pytest.approx(PLACE.right() - (first + second + 9.0 + 10.0))
    assert middle == PLACE.center().y()
    assert painter.of("scale") == [(1.0, 1.0)]


def test_brackets_stand_around_them_and_open_inwards(monkeypatch):
    lines = painted(monkeypatch, FaceSection("", GRID)).drawn("drawPolyline")
    opening, closing = ([at.toTuple() for at in each.arguments[0]] for each in lines)
    width = wide("333") + wide("22") + 9.0 + 10.0
    high, low = -ROW + 2.5, ROW - 2.5
    assert opening == [(2.5, high), (0.0, high), (0.0, low), (2.5, low)]
    assert closing == [(width - 2.5, high), (width, high), (width, low), (width - 2.5, low)]
    assert {each.pen.widthF() for each in lines} == {0.8}
    assert not painted(monkeypatch, FaceSection("", FaceReadout((("1",),)))).of("drawPolyline")


def test_the_mark_of_a_gradient_stands_before_it_in_its_colour(monkeypatch):
    mark, cell = painted(monkeypatch, FaceSection("∇", FaceReadout((("1",),)))).drawn("drawText")
    assert mark.arguments[0] == QRectF(0.0, -ROW / 2, wide("∇"), ROW)
    assert mark.arguments[2] == "∇"
    assert cell.arguments[0].left() == wide("∇") + 6.0
    assert mark.pen.color() == cell.pen.color() == QColor(LIGHT.accent)


@pytest.mark.parametrize(
    ("section", "stale", "colour"),
    [
        (FaceSection("", FaceReadout((("1",),))), False, LIGHT.ink),
        (FaceSection("", FaceReadout((("words",),), prose=True)), False, LIGHT.ink_soft),
        (FaceSection("", FaceReadout((("1",),))), True, LIGHT.ink_faint),
        (FaceSection("∇", FaceReadout((("1",),))), True, LIGHT.ink_faint),
    ],
)
def test_ink_tells_numbers_from_words_and_from_what_is_stale(monkeypatch, section, stale, colour):
    texts = painted(monkeypatch, section, stale=stale).drawn("drawText")
    assert {each.pen.color().name() for each in texts} == {QColor(colour).name()}


def test_where_there_is_little_room_gaps_shrink_then_digits_go_then_all_shrinks(monkeypatch):
    cells = (("1.234567", "2.345678"),)
    readout = FaceReadout(cells, fewer=(("1.2", "2.3"),))
    full, brief = sum(map(wide, cells[0])), sum(map(wide, readout.fewer[0]))

    def drawn(room):
        painter = painted(monkeypatch, FaceSection("", readout), QRectF(0.0, 0.0, room, ROW))
        boxes = {each.arguments[2]: each.arguments[0] for each in painter.drawn("drawText")}
        ((shrink, _),) = painter.of("scale")
        first, second = boxes.values()
        return next(iter(boxes)), second.left() - first.right(), shrink

    assert drawn(full + 9.0) == ("1.234567", pytest.approx(9.0), 1.0)
    assert drawn(0.9 * (full + 7.0)) == (
        "1.234567",
        pytest.approx(6.0),
        pytest.approx(0.9 * (full + 7.0) / (full + 6.0)),
    )
    assert drawn(brief + 6.0) == ("1.2", pytest.approx(6.0), 1.0)
    room = 0.85 * (brief + 6.0)
    assert drawn(room) == ("1.2", pytest.approx(6.0), pytest.approx(0.85))
    least = 9.0 / 11.0
    few = least * (wide("1.2") + wide("…") + 6.0)
    assert drawn(few) == ("1.2", pytest.approx(6.0), pytest.approx(least))


def test_where_no_number_is_legible_there_is_none(monkeypatch):
    readout = FaceReadout((("1.234567", "2.345678"),), fewer=(("1.2", "2.3"),))
    narrow = QRectF(0.0, 0.0, 15.0, ROW)
    assert not painted(monkeypatch, FaceSection("", readout), narrow).of("drawText")
    room = QRectF(0.0, 0.0, wide("1.234567") + wide("2.345678") + 9.0, ROW)
    near = painted(monkeypatch, FaceSection("", readout), room)
    far = painted(monkeypatch, FaceSection("", readout), room, zoom=0.6)
    assert [each.font.pixelSize() for each in near.drawn("drawText")] == [11, 11]
    assert {each.arguments[2] for each in near.drawn("drawText")} == {"1.234567", "2.345678"}
    assert {each.font.pixelSize() for each in far.drawn("drawText")} == {15}
    assert {each.arguments[2] for each in far.drawn("drawText")} == {"1.2", "2.3"}


def test_words_are_cut_between_phrases_and_never_within_a_number(monkeypatch):
    words = FaceSection("", FaceReadout((("rms 1.49 · −12.5…3.4",),), prose=True))
    for room, shown in ((wide("rms 1.49"), ["rms 1.49"]), (0.5 * wide("rms 1.49"), [])):
        place = QRectF(0.0, 0.0, room, ROW)
        drawn = painted(monkeypatch, words, place).drawn("drawText")
        assert [each.arguments[2] for each in drawn] == shown


def test_of_the_leaves_of_a_tree_all_are_named_or_none(monkeypatch):
    leaves = FaceSection(
        "", FaceReadout((("encoder/weight", "2 × 3"), ("head", "(1)")), prose=True)
    )
    room = QRectF(0.0, 0.0, wide("encoder/weight"), 2 * ROW)
    named = painted(monkeypatch, leaves, room, zoom=0.82).drawn("drawText")
    assert [each.arguments[2] for each in named] == ["encoder/weight", "head"]
    assert not painted(monkeypatch, leaves, room.adjusted(0, 0, -30, 0), zoom=0.82).of("drawText")


def test_a_chart_stands_at_the_left_in_the_middle_of_the_height(monkeypatch):
    charts = []
    monkeypatch.setattr(grids, "draw_chart", lambda *arguments: charts.append(arguments))
    line = chart(np.arange(9.0))
    room = QRectF(10.0, 20.0, WIDTH + 6.0 + wide("12345"), 60.0)
    painter = painted(monkeypatch, FaceSection("", FaceReadout((("12345",),)), line), room)
    ((_, shown, box, theme),) = charts
    assert (shown, theme) == (line, LIGHT)
    assert box == QRectF(10.0, 50.0 - HEIGHT / 2, WIDTH, HEIGHT)
    ((left, middle),) = painter.of("translate")
    assert (left, middle) == (pytest.approx(10.0 + WIDTH + 6.0), 50.0)
    assert painter.of("scale") == [(1.0, 1.0)]
