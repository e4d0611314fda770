"""Faces of views: what is painted is what the picture says, in every theme."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from gradwire.app.canvas.paint.blocks.face_cache import draw_picture
from gradwire.app.canvas.paint.views.faces import draw_marks, draw_view
from gradwire.app.canvas.paint.views.lines import ValueFrame, class_colour, image_of, table_of
from gradwire.app.canvas.state.looks import Look
from gradwire.app.services.colours import contrast
from gradwire.app.services.theme import DARK, HIGH_CONTRAST, LIGHT, THEMES
from gradwire.runtime.diagram.model import Size
from gradwire.runtime.flow.words.states import ColourRole
from gradwire.runtime.views.axes import Axis
from gradwire.runtime.views.colours import FIRST, LAST, NOT_FINITE
from gradwire.runtime.views.pictures import (
    FieldPicture,
    HistogramPicture,
    ImagePicture,
    Line,
    NoPicture,
    PlotPicture,
    PointMarks,
    ScatterPicture,
)

UNIT = Axis(0.0, 1.0)
SIZE = 300
themes = pytest.mark.parametrize("theme", [LIGHT, DARK, HIGH_CONTRAST], ids=lambda t: t.name)


def painted(picture: Any, theme: Any = LIGHT, *, zoom: float = 0.5) -> QImage:
    """A picture on the canvas's ground; from afar by default, where it fills its box."""
    image = QImage(SIZE, SIZE, QImage.Format.Format_RGB32)
    image.fill(QColor(theme.canvas))
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_view(painter, picture, QRectF(0, 0, SIZE, SIZE), theme, zoom, stale=False)
    return image


def near(found: QColor, wanted: QColor, most: int = 30) -> bool:
    pairs = zip(found.getRgb()[:3], wanted.getRgb()[:3], strict=True)
    return all(abs(one - other) <= most for one, other in pairs)


def colours(image: QImage) -> set[str]:
    return {image.pixelColor(x, y).name() for x in range(0, SIZE, 2) for y in range(0, SIZE, 2)}


def field(levels: Any, scale: Any = "diverging", **more: Any) -> FieldPicture:
    array = np.array(levels, np.uint8)
    return FieldPicture(x=UNIT, y=UNIT, levels=array, scale=scale, low=-1.0, high=1.0, centre=0.0,
                        **more)  # fmt: skip


@themes
def test_a_field_has_the_colours_of_its_values_where_they_are(theme):
    levels = np.full((20, 20), FIRST, np.uint8)
    levels[:10, 10:] = LAST
    image, table = painted(field(levels), theme), table_of("diverging", theme)
    assert near(image.pixelColor(70, 230), QColor(*table[FIRST]), 4)
    assert near(image.pixelColor(230, 70), QColor(*table[LAST]), 4)
    assert not near(QColor(*table[FIRST]), QColor(*table[LAST]), 60)


@themes
def test_the_middle_of_a_diverging_field_is_the_canvas(theme):
    image = painted(field(np.full((4, 4), 128)), theme)
    assert near(image.pixelColor(150, 150), QColor(theme.canvas), 3)


@themes
@pytest.mark.parametrize("scale", ["sequential", "diverging", "classes", "grey"])
def test_what_is_not_finite_looks_like_nothing_else(theme, scale):
    table = table_of(scale, theme).astype(int)
    assert QColor(*table[NOT_FINITE]).name() == theme.lanes[ColourRole.BROKEN]
    assert np.abs(table[FIRST:] - table[NOT_FINITE]).sum(axis=1).min() > 60


def test_the_line_of_a_field_is_drawn_where_it_is():
    picture = field(np.full((4, 4), 128), lines=np.array([[0.25, 0.0, 0.25, 1.0]]))
    image = painted(picture)
    assert near(image.pixelColor(75, 150), QColor(LIGHT.ink), 90)
    assert near(image.pixelColor(150, 150), QColor(LIGHT.canvas), 3)


@themes
def test_points_have_the_colour_of_their_class(theme):
    points = np.array([[0.25, 0.25], [0.75, 0.75]])
    marks = PointMarks(points, np.array([FIRST, FIRST + 1], np.uint8))
    image = painted(ScatterPicture(x=UNIT, y=UNIT, marks=(marks,)), theme)
    assert near(image.pixelColor(75, 225), class_colour(0, theme))
    assert near(image.pixelColor(225, 75), class_colour(1, theme))


@themes
def test_points_over_a_field_have_the_hue_of_their_side_and_stand_out(theme):
    levels = np.full((20, 20), FIRST, np.uint8)
    levels[:, 10:] = LAST
    points = np.array([[0.25, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.75]])
    marks = PointMarks(points, np.array([FIRST, FIRST + 1, FIRST, FIRST + 1], np.uint8))
    image = painted(field(levels, marks=(marks,)), theme)
    sides = [image.pixelColor(x, 150) for x in (75, 225)]
    for x, y, own in ((75, 225, 0), (75, 75, 1), (225, 225, 0), (225, 75, 1)):
        point = image.pixelColor(x, y)
        assert _apart(point, sides[own]) < 25 < _apart(point, sides[1 - own])
        assert not near(point, sides[own], 20), "as strong as the field beneath it"


def _apart(one: QColor, other: QColor) -> int:
    """Degrees between two hues."""
    turn = abs(one.hue() - other.hue()) % 360
    return min(turn, 360 - turn)


def test_every_class_has_a_form_of_its_own():
    shapes = []
    for number in range(4):
        marks = PointMarks(np.array([[0.5, 0.5]]), np.array([FIRST + number], np.uint8))
        image = QImage(64, 64, QImage.Format.Format_RGB32)
        image.fill(QColor(LIGHT.canvas))
        with QPainter(image) as painter:
            painter.scale(8.0, 8.0)
            draw_marks(painter, (marks,), ValueFrame(QRectF(0, 0, 8, 8), UNIT, UNIT), LIGHT)
        ink = class_colour(number, LIGHT)
        shapes.append(
            tuple(near(image.pixelColor(x, y), ink, 50) for x in range(64) for y in range(64))
        )
    assert len(set(shapes)) == 4 and all(any(shape) for shape in shapes)


def test_points_beyond_the_axes_are_not_drawn_elsewhere():
    marks = PointMarks(np.array([[5.0, 0.5], [np.nan, 0.5], [0.5, -3.0]]))
    image = painted(ScatterPicture(x=UNIT, y=UNIT, marks=(marks,)))
    assert class_colour(0, LIGHT).name() not in colours(image)


def test_pixels_are_sharp_and_gaps_are_clear():
    pixels = np.array([[FIRST, 0, LAST], [LAST, 0, FIRST]], np.uint8)
    gaps = np.array([[False, True, False], [False, True, False]])
    image = painted(ImagePicture(pixels=pixels, scale="grey", gaps=gaps), DARK)
    for x, y, wanted in ((50, 100, "black"), (250, 100, "white"), (50, 200, "white")):
        assert image.pixelColor(x, y) == QColor(wanted)
    assert image.pixelColor(150, 100) == QColor(DARK.canvas)
    assert image.pixelColor(98, 100) == QColor("black"), "no pixel runs into the next"


def test_an_image_in_colour():
    pixels = np.array([[[255, 0, 0], [0, 0, 255]]], np.uint8)
    image = painted(ImagePicture(pixels=pixels, scale="grey"))
    assert image.pixelColor(70, 150) == QColor("red")
    assert image.pixelColor(230, 150) == QColor("blue")


def test_bars_are_as_high_as_their_counts():
    picture = HistogramPicture(
        x=UNIT, y=Axis(0.0, 4.0), counts=np.array([4, 1]), edges=np.array([0.0, 0.5, 1.0])
    )
    image, ink = painted(picture), class_colour(0, LIGHT)
    assert near(image.pixelColor(70, 20), ink) and not near(image.pixelColor(220, 20), ink)
    assert near(image.pixelColor(220, 240), ink) and not near(image.pixelColor(220, 210), ink)


def test_lines_break_where_a_value_is_not_finite():
    values = np.array([0.5, 0.5, np.nan, 0.5, 0.5])
    line = Line("loss", np.arange(5.0), values)
    image = painted(PlotPicture(x=Axis(0.0, 4.0), y=UNIT, lines=(line,)))
    ink = class_colour(0, LIGHT)
    assert near(image.pixelColor(40, 150), ink, 60) and near(image.pixelColor(260, 150), ink, 60)
    assert not near(image.pixelColor(150, 150), ink, 60)


@pytest.mark.night
@themes
def test_a_grid_is_fainter_than_what_it_is_for(theme):
    """A line at the bottom leaves the middle to the grid."""
    line = Line("loss", np.arange(5.0), np.full(5, 0.01))
    image = painted(PlotPicture(x=Axis(0.0, 4.0), y=UNIT, lines=(line,)), theme, zoom=1.0)
    seen = [image.pixelColor(x, y).name() for x in range(60, 280) for y in range(60, 240)]
    assert 1.05 < max(contrast(colour, theme.canvas) for colour in seen) < 3.0


def test_remarks_and_axes_take_room_only_near():
    line = Line("loss", np.arange(3.0), np.array([0.2, 0.5, 0.8]))
    shown = PlotPicture(x=Axis(0.0, 2.0), y=UNIT, lines=(line,), notes=("3 not finite",))
    far, close = painted(shown, zoom=0.5), painted(shown, zoom=1.0)

    def has_text(image: QImage) -> bool:
        warning = QColor(LIGHT.warning)
        below = [image.pixelColor(x, y) for x in range(0, 90) for y in range(280, SIZE)]
        return any(near(each, warning, 40) for each in below)

    assert has_text(close) and not has_text(far)


def test_what_cannot_be_shown_is_a_sentence():
    image = painted(NoPicture(summary="choose a page"), zoom=1.0)
    assert len(colours(image)) > 1
    assert len(colours(painted(NoPicture(summary="choose a page"), zoom=0.5))) == 1


def test_a_stale_picture_is_faint():
    picture = HistogramPicture(x=UNIT, y=UNIT, counts=np.array([1]), edges=np.array([0.0, 1.0]))
    image = QImage(SIZE, SIZE, QImage.Format.Format_RGB32)
    image.fill(QColor(LIGHT.canvas))
    with QPainter(image) as painter:
        draw_view(painter, picture, QRectF(0, 0, SIZE, SIZE), LIGHT, 0.5, stale=True)
    found, ink = image.pixelColor(150, 150), class_colour(0, LIGHT)
    assert found.lightness() > ink.lightness() + 40


@pytest.mark.parametrize("zoom", [0.35, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("name", THEMES)
def test_a_face_is_as_large_as_its_view_at_every_zoom(zoom, name):
    look = Look("views", "▧", "f", size=Size(300.0, 180.0), view=field(np.full((8, 8), LAST)))
    theme = THEMES[name]
    pixmap = draw_picture(look, zoom, 1.0, theme)
    assert pixmap.width() >= 300 * zoom and pixmap.height() >= 180 * zoom
    middle = pixmap.toImage().pixelColor(pixmap.width() // 2, pixmap.height() // 2)
    assert near(middle, QColor(*table_of("diverging", theme)[LAST]), 6)


def test_levels_become_an_image_once():
    picture = field(np.full((200, 200), LAST))
    assert image_of(picture, "light") is image_of(picture, "light")
    assert image_of(picture, "light").size().toTuple() == (200, 200)
    assert image_of(picture, "dark") is not image_of(picture, "light")
