"""The marks of a picture, read back from what Qt draws."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPen

from gradwire.app.pictures.marks import Ink, Outline, TextMark, marks_of
from gradwire.app.services.theme import font
from tests.app.pictures.conftest import STRANGE


class Drawing:
    """Stands for a picture, and paints what it is given."""

    size = QSizeF(200.0, 100.0)

    def __init__(self, paint):
        self.paint = lambda painter, progress=None: paint(painter)


def outlines(marks):
    return [mark for mark in marks if isinstance(mark, Outline)]


def test_every_mark_is_in_the_coordinates_of_the_picture(qapp):
    def paint(painter):
        painter.translate(10.0, 20.0)
        painter.scale(2.0, 2.0)
        painter.setPen(QPen(QColor("#102030"), 3.0))
        painter.setBrush(QColor("#405060"))
        painter.drawRect(QRectF(1.0, 2.0, 5.0, 6.0))

    (box,) = outlines(marks_of(Drawing(paint)))
    assert box.ink == Ink("#405060", 1.0, "#102030", 1.0, 6.0, "square", "bevel")
    corners = [(12.0, 24.0), (22.0, 24.0), (22.0, 36.0), (12.0, 36.0)]
    assert [point for letter, point in box.steps if letter != "Z"] == corners


def test_a_label_has_its_place_its_size_and_its_width(qapp):
    def paint(painter):
        painter.scale(2.0, 2.0)
        painter.setFont(font(11, bold=True))
        painter.setPen(QColor("#102030"))
        painter.drawText(QPointF(5.0, 15.0), "a < b")

    (label,) = marks_of(Drawing(paint))
    assert (label.text, label.x, label.y, label.size) == ("a < b", 10.0, 30.0, 22.0)
    assert label.bold
    assert (label.ink.fill, label.ink.stroke) == ("#102030", "")
    xs = [x for _, numbers in label.outline().steps for x in numbers[::2]]
    assert min(xs) >= label.x - 1.0
    assert max(xs) == pytest.approx(label.x + label.width, abs=3.0)


def test_a_text_in_two_fonts_is_one_label(qapp):
    def paint(painter):
        painter.setFont(font(11))
        painter.drawText(QPointF(5.0, 15.0), "x 日本 y")
        painter.drawText(QPointF(5.0, 35.0), "x")
        painter.drawText(QPointF(90.0, 35.0), "y")

    labels = marks_of(Drawing(paint))
    assert [label.text for label in labels] == ["x 日本 y", "x", "y"]
    whole = QFontMetricsF(font(11)).horizontalAdvance("x 日本 y")
    assert labels[0].width == pytest.approx(whole, abs=1.0)


def test_lines_that_overlap_on_a_curve_are_one_line(qapp):
    def paint(painter):
        painter.setPen(QPen(QColor("#102030"), 2.0))
        points = [QPointF(10 * i, 40 + 20 * math.sin(i / 3)) for i in range(12)]
        for start, end in pairwise(points):
            along = (end - start) / 20.0  # each line begins a little before its point
            painter.drawLine(start - along, end + along)
        painter.drawLine(QPointF(110, 90), QPointF(150, 90))  # elsewhere

    curve, apart = outlines(marks_of(Drawing(paint)))
    assert len(curve.steps) == 12
    assert curve.ink.join == "round"
    assert len(apart.steps) == 2


def test_a_corner_and_a_gap_are_no_curve(qapp):
    def paint(painter):
        painter.setPen(QPen(QColor("#102030"), 2.0))
        painter.drawLine(QPointF(0, 0), QPointF(20, 0))
        painter.drawLine(QPointF(20, 0), QPointF(0, 1))  # back
        painter.drawLine(QPointF(-1.2, 1), QPointF(-20, 1.2))  # past a gap, as in a dashed line

    assert len(outlines(marks_of(Drawing(paint)))) == 3


def test_pixels_are_rectangles_one_for_a_run_of_a_colour(qapp):
    image = QImage(3, 2, QImage.Format.Format_RGB32)
    image.fill(QColor("#ff0000"))
    image.setPixelColor(2, 0, QColor("#00ff00"))
    boxes = outlines(marks_of(Drawing(lambda p: p.drawImage(QRectF(10, 10, 30, 20), image))))
    assert [box.ink.fill for box in boxes] == ["#ff0000", "#00ff00", "#ff0000"]
    assert [box.steps[0][1] for box in boxes] == [(10.0, 10.0), (30.0, 10.0), (10.0, 20.0)]


def test_a_page_has_its_names(picture):
    assert STRANGE in {mark.text for mark in marks_of(picture()) if isinstance(mark, TextMark)}
