from itertools import combinations

import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.glyphs import SHAPES, SIZE
from gradwire.runtime.flow.words.states import STATES
from tests.app.canvas.paint.recording import recorder

BOX = QRectF(20.0, 30.0, SIZE, SIZE)


def test_what_is_drawn_as_lines_fills_its_place_and_stays_inside():
    for glyph, shape in SHAPES.items():
        bounds = shape.boundingRect()
        assert QRectF(-SIZE / 2, -SIZE / 2, SIZE, SIZE).contains(bounds), glyph
        assert min(bounds.width(), bounds.height()) >= 0.5 * SIZE, glyph
        assert bounds.center().manhattanLength() <= 2.0, glyph


def test_no_two_shapes_are_alike():
    for one, other in combinations(SHAPES.values(), 2):
        assert one != other


def test_a_snowflake_has_six_like_arms():
    flake = SHAPES["❄"]
    ends = [flake.elementAt(i) for i in range(flake.elementCount())]
    tips = [at for at in ends if abs(complex(at.x, at.y)) == pytest.approx(5.4)]
    assert len(tips) == 6
    assert sum(at.x for at in tips) == pytest.approx(0.0, abs=1e-9)
    assert sum(at.y for at in ends) == pytest.approx(0.0, abs=1e-9)
    barbs = [at for at in ends if abs(complex(at.x, at.y)) > 3.5]
    assert len(barbs) == 6 + 12


def test_every_sign_of_a_state_that_fonts_may_lack_is_a_shape():
    signs = {sign for row in STATES.values() for sign in (row.glyph, row.cut) if sign}
    assert {sign for sign in signs if not sign.isascii()} <= set(SHAPES)


@pytest.mark.parametrize("glyph", SHAPES)
def test_a_shape_is_stroked_in_the_middle_of_its_box(monkeypatch, glyph):
    painter = recorder(monkeypatch)
    glyphs.draw(painter, glyph, BOX, "#123456")
    (shape,) = painter.drawn("drawPath")
    assert shape.arguments == (SHAPES[glyph],)
    assert shape.pen.color() == QColor("#123456")
    assert shape.pen.capStyle() == Qt.PenCapStyle.RoundCap
    assert shape.brush.style() == Qt.BrushStyle.NoBrush
    assert painter.of("translate") == [(QPointF(26.0, 36.0),)]
    assert [name for name, _ in painter.calls].count("save") == 1
    assert painter.calls[-1][0] == "restore"
    assert not painter.of("drawRoundedRect")


def test_text_is_bold_in_the_middle_and_on_its_ground(qapp, monkeypatch):
    painter = recorder(monkeypatch)
    glyphs.draw(painter, "12", BOX, "#123456", "#fedcba")
    (ground,) = painter.drawn("drawRoundedRect")
    assert ground.arguments == (BOX, SIZE / 2, SIZE / 2)
    assert ground.brush.color() == QColor("#fedcba")
    assert ground.pen.style() == Qt.PenStyle.NoPen
    (text,) = painter.drawn("drawText")
    assert text.arguments == (BOX, int(Qt.AlignmentFlag.AlignCenter), "12")
    assert text.pen.color() == QColor("#123456")
    assert text.font.bold()
    assert painter.calls.index(("drawRoundedRect", ground.arguments)) < painter.calls.index(
        ("drawText", text.arguments)
    )


def test_text_has_room_at_both_sides_and_never_less_than_a_glyph(qapp):
    assert glyphs.width("⊣") == SIZE
    assert glyphs.width("") == SIZE
    assert glyphs.width("100 %") > SIZE


@pytest.mark.parametrize(("unit", "ratio"), [(1.0, 1.0), (2.0, 1.0), (1.0, 1.5)])
def test_a_picture_is_as_large_as_it_is_shown(qapp, unit, ratio):
    made = glyphs.picture("⊣", "#000000", "", unit, ratio)
    assert made.deviceIndependentSize().width() == pytest.approx(SIZE * unit)
    assert made.height() == SIZE * unit * ratio
    assert made.toImage().pixelColor(0, 0).alpha() == 0
