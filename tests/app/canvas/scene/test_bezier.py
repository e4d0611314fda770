from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.curves import CORNER, Courses, controls, flatten

numbers = st.integers(-600, 600).map(float)


@st.composite
def bent(draw: st.DrawFn) -> np.ndarray:
    """Courses (m, 2 p) of wires with some bends, no two points of a wire in one place."""
    bends = draw(st.integers(1, 4))
    points = st.lists(st.tuples(numbers, numbers), min_size=bends + 2, max_size=bends + 2)
    alone = points.filter(lambda p: all(a != b for a, b in pairwise(p)))
    return np.array(draw(st.lists(alone, min_size=1, max_size=3))).reshape(-1, 2 * bends + 4)


@pytest.mark.parametrize("end", [(200, 0), (200, 90), (-150, 40), (5, 300)])
def test_wires_leave_to_the_right_and_arrive_from_the_left(end):
    (curve,) = controls(np.array([[0.0, 0.0, *end]]))
    assert tuple(curve[0]) == (0, 0)
    assert tuple(curve[3]) == end
    assert curve[1, 0] > 0
    assert curve[2, 0] < end[0]
    if end[0] > 0:
        assert curve[1, 1] == 0
        assert curve[2, 1] == end[1]


def test_a_wire_back_to_the_same_height_passes_below():
    points = flatten(np.array([[300.0, 50.0, 0.0, 50.0]]), 20)[0]
    assert points[:, 1].max() > 50 + 60
    assert points[:, 1].min() >= 50


def test_a_row_of_points_stays_a_line():
    points = flatten(np.array([[0.0, 5.0, 60.0, 5.0, 200.0, 5.0]]), 16)[0]
    assert points.shape == (33, 2)
    assert np.allclose(points[:, 1], 5.0)
    assert (np.diff(points[:, 0]) > 0).all()


def test_bends_on_each_other_are_passed_like_one():
    course = [0.0, 0.0, *[50.0, 50.0] * 3, 200.0, 0.0]
    points = flatten(np.array([course]), 16)[0]
    assert np.isfinite(points).all()
    assert (np.abs(points - 50.0).max(axis=1) < 1e-9).any()
    assert np.isfinite(flatten(np.zeros((1, 10)), 16)).all()


@given(bent())
def test_a_course_passes_its_bends(courses):
    points = flatten(courses, 12)
    through = courses.reshape(len(courses), -1, 2)
    assert np.allclose(points[:, ::12], through)


@given(bent())
def test_it_is_smooth_there_and_level_at_the_ports(courses):
    corners = controls(courses)
    before = corners[:, 3:-1:3] - corners[:, 2:-2:3]
    after = corners[:, 4::3] - corners[:, 3:-1:3]
    turn = before[..., 0] * after[..., 1] - before[..., 1] * after[..., 0]
    size = np.hypot(*np.moveaxis(before, 2, 0)) * np.hypot(*np.moveaxis(after, 2, 0))
    assert (np.abs(turn) <= 1e-6 * size + 1e-6).all()
    assert ((before * after).sum(axis=2) > -1e-6).all()
    for end, inner in ((0, 1), (-1, -2)):
        level = corners[:, inner] - corners[:, end]
        assert np.allclose(level[:, 1], 0.0)


@given(bent())
def test_it_lies_within_its_control_points(courses):
    corners, points = controls(courses), flatten(courses, 20)
    assert (points >= corners.min(axis=1)[:, None] - 1e-6).all()
    assert (points <= corners.max(axis=1)[:, None] + 1e-6).all()


def test_a_wire_without_bends_is_drawn_as_ever():
    ends = np.array([[0.0, 0.0, 200.0, 90.0], [0.0, 0.0, -150.0, 40.0]])
    assert controls(ends).shape == (2, 4, 2)
    assert flatten(ends, 8).shape == (2, 9, 2)


@pytest.mark.parametrize("zoom", [0.5, 1.0, 2.5, 6.0])
def test_a_corner_is_round_at_every_zoom(zoom):
    side = 100.0 * zoom
    square = Courses(np.array([[0.0, 0.0, side, 0.0, side, side]]), CORNER * zoom)
    drawn, exact = square.flatten(32)[0], square.flatten(3200)[0]
    middles = (drawn[1:-2] + drawn[2:-1]) / 2.0  # those of its segments lie furthest off
    off = np.linalg.norm(middles[:, None] - exact[None], axis=2).min(axis=1)
    assert off.max() < 0.4


@pytest.mark.parametrize("zoom", [0.35, 1.0, 2.5])
@pytest.mark.parametrize("end", [(0.0, 140.0), (-300.0, 20.0), (90.0, 400.0)])
def test_a_curve_has_the_same_form_at_every_zoom(zoom, end):
    course, camera = Courses(np.array([[0.0, 0.0, *end]])), Camera(zoom, 7.0, -3.0)
    shown = camera.to_widget(course.flatten(16)[0])
    np.testing.assert_allclose(course.to_widget(camera).flatten(16)[0], shown)
    np.testing.assert_allclose(
        course.to_widget(camera).hull()[0], camera.to_widget(course.hull()[0])
    )
