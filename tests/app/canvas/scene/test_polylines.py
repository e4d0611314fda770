from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from gradwire.app.canvas.paint.drawing import draw_lines, draw_rects
from gradwire.app.canvas.scene.curves import Polylines, flatten, offset, strokes, touching

LINE = np.array([[0.0, 0.0, 100.0, 0.0]])
BENT = np.array([[0.0, 0.0, 100.0, 60.0]])


def test_a_flattened_curve_begins_and_ends_at_its_ends():
    points = flatten(np.vstack([LINE, BENT]), 8)
    assert points.shape == (2, 9, 2)
    assert points[1, 0].tolist() == [0, 0]
    assert points[1, -1].tolist() == [100, 60]


def test_no_curve_is_no_points():
    assert flatten(np.empty((0, 4)), 8).shape == (0, 9, 2)
    assert strokes(np.empty((0, 9, 2))).shape == (0, 4)


def test_beside_is_on_the_right_hand():
    moved = offset(flatten(LINE, 8), 5.0)
    assert moved[0, :, 1] == pytest.approx(5.0)


class TestStrokes:
    def test_a_straight_curve_is_one_line(self):
        assert strokes(flatten(LINE, 8)).tolist() == [[0, 0, 100, 0]]

    def test_lines_of_a_bent_one_overlap(self):
        lines = strokes(flatten(BENT, 8))
        assert len(lines) == 8
        for one, next_one in itertools.pairwise(lines):
            along = one[2:] - one[:2]
            assert (one[2:] - next_one[:2]) @ along > 0


class TestTracks:
    def test_lengths_and_places(self):
        tracks = Polylines(flatten(np.vstack([LINE, LINE + np.array([0, 50, 0, 50])]), 10))
        assert tracks.lengths == pytest.approx([100, 100])
        at = tracks.at(np.array([0, 1, 1]), np.array([25.0, 0.0, 500.0]))
        assert at == pytest.approx(np.array([[25.0, 0.0], [0.0, 50.0], [100.0, 50.0]]))
        assert tracks.direction(np.array([0]), np.array([50.0]))[0] == pytest.approx([1.0, 0.0])

    def test_marks_keep_from_the_ends(self):
        tracks = Polylines(flatten(np.vstack([LINE, LINE / 10]), 10))
        curve, at = tracks.marks(30.0, 10.0, 15.0)
        assert curve.tolist() == [0, 0, 0]
        assert at.tolist() == [10.0, 40.0, 70.0]

    def test_dashes_follow_the_pattern(self):
        lines = Polylines(flatten(LINE, 10)).dashes((20.0, 30.0))
        assert lines[:, [0, 2]] == pytest.approx(np.array([[0.0, 20.0], [50.0, 70.0], [100, 100]]))

    def test_dots_between_dashes(self):
        lines = Polylines(flatten(LINE, 10)).dashes((40.0, 20.0, 10.0, 30.0))
        assert lines[:, [0, 2]] == pytest.approx(np.array([[0.0, 40.0], [100, 100], [60.0, 70.0]]))

    def test_a_curve_of_no_length_is_harmless(self):
        tracks = Polylines(np.zeros((1, 5, 2)))
        assert np.isfinite(tracks.at(np.array([0]), np.array([3.0]))).all()
        assert np.isfinite(tracks.direction(np.array([0]), np.array([0.0]))).all()


def test_lines_and_rectangles_are_drawn_from_memory(qapp):
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    with QPainter(image) as painter:
        painter.setPen(QColor("black"))
        draw_lines(painter, np.array([[0, 5, 39, 5], [0, 30, 39, 30]]))
        draw_lines(painter, np.empty((0, 4)))
        painter.fillRect(0, 0, 0, 0, QColor("red"))
        painter.setPen(QColor("white"))
        painter.setBrush(QColor("blue"))
        draw_rects(painter, np.array([[10.0, 10.0, 10.0, 10.0]]))
    assert image.pixelColor(20, 5) == QColor("black")
    assert image.pixelColor(20, 30) == QColor("black")
    assert image.pixelColor(15, 15) == QColor("blue")
    assert image.pixelColor(35, 15) == QColor("white")


class TestBox:
    """What lies outside a box is left out, and nothing that lies inside."""

    BOX = np.array([-50.0, -20.0, 80.0, 60.0])

    @staticmethod
    def curves() -> np.ndarray:
        random = np.random.default_rng(3)
        return np.vstack([LINE, BENT, random.uniform(-300.0, 300.0, (200, 4))])

    def test_marks_in_a_box_are_those_of_the_whole_curves(self):
        points = flatten(self.curves(), 12)
        whole, part = Polylines(points), Polylines(points, self.BOX)
        first = np.random.default_rng(4).uniform(0.0, 40.0, len(points))
        curve, at = whole.marks(7.0, first, 11.0)
        place = whole.at(curve, at)
        inside = ((place > self.BOX[:2]) & (place < self.BOX[2:])).all(axis=1)
        expected = set(zip(curve[inside].tolist(), at[inside].round(6).tolist(), strict=True))
        assert len(expected) > 100
        curve, at = part.marks(7.0, first, 11.0)
        marks = list(zip(curve.tolist(), at.round(6).tolist(), strict=True))
        assert len(marks) == len(set(marks)), "a mark is made once"
        assert expected <= set(marks)
        place = part.at(curve, at)
        assert ((place >= self.BOX[:2] - 1e-6) & (place <= self.BOX[2:] + 1e-6)).all()

    def test_a_segment_through_the_box_touches_it_and_one_beyond_does_not(self):
        points = np.array(
            [
                [[-200.0, 10.0], [200.0, 12.0]],  # across
                [[-200.0, 70.0], [200.0, 61.0]],  # below
                [[90.0, -90.0], [81.0, 90.0]],  # right of it
                [[0.0, 0.0], [1.0, 1.0]],  # within
                [[0.0, 60.0], [10.0, 60.0]],  # along its edge
            ]
        )
        assert touching(points, self.BOX)[:, 0].tolist() == [True, False, False, True, True]

    def test_no_curve_is_no_mark(self):
        curve, at = Polylines(np.empty((0, 9, 2)), self.BOX).marks(5.0, 1.0)
        assert len(curve) == len(at) == 0
