from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.camera import MAX_ZOOM, MIN_ZOOM, Camera

numbers = st.floats(-1e4, 1e4)
cameras = st.builds(Camera, st.floats(MIN_ZOOM, MAX_ZOOM), numbers, numbers)


@given(cameras, numbers, numbers)
def test_there_and_back(camera, x, y):
    point = np.array([x, y])
    assert camera.to_scene(camera.to_widget(point)) == pytest.approx(point, abs=1e-6)


@given(cameras, st.floats(1e-3, 1e3), numbers, numbers)
def test_zooming_keeps_the_point_under_the_pointer(camera, zoom, x, y):
    under = camera.to_scene(np.array([x, y]))
    zoomed = camera.zoomed(zoom, x, y)
    assert MIN_ZOOM <= zoomed.zoom <= MAX_ZOOM
    assert zoomed.to_widget(under) == pytest.approx([x, y], abs=1e-3)


def test_fitting_shows_all_of_it_in_the_middle():
    camera = Camera.fitting(np.array([-500.0, 0.0, 1500.0, 100.0]), 1000, 400)
    left, top, right, bottom = camera.rows_to_widget(np.array([[-500.0, 0.0, 1500.0, 100.0]]))[0]
    assert left == pytest.approx(40)
    assert right == pytest.approx(960)
    assert (top + bottom) / 2 == pytest.approx(200)


def test_fitting_enlarges_no_further_than_asked():
    bounds = np.array([0.0, 0.0, 10.0, 10.0])
    assert Camera.fitting(bounds, 1000, 400).zoom == 1.0
    assert Camera.fitting(bounds, 1000, 400, most=3.0).zoom == 3.0
    assert Camera.fitting(bounds, 1, 1).zoom >= MIN_ZOOM


def test_the_area_under_a_rectangle():
    assert Camera(2.0, 10.0, 20.0).area(10, 20, 200, 100).tolist() == [0, 0, 100, 50]
