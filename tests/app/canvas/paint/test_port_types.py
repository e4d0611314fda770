"""Shapes and dtypes beside the ports, once there is room."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect

from app.canvas.paint.port_types import MIN_ZOOM
from app.canvas.state.port_labels import value_type
from tests.app.canvas.pages import seed_result


@pytest.fixture
def read(canvas, shell):
    canvas.set_result(seed_result(shell.diagram))
    return canvas


def above_the_wire(canvas, name):
    """The pixels right of the output port of a block, above its wire."""
    at = canvas.port_position(name, "out")
    unit = canvas.zoom()
    box = QRect(at + QPoint(round(7 * unit), round(-12 * unit)), at + QPoint(round(30 * unit), -4))
    image = canvas.grab(box).toImage()
    return {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}


def test_they_say_shape_and_dtype(read):
    view = read.view
    block = view.scene.index["mul1"]
    value = view.annotations.page.value("mul1", "out")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    assert value_type(view.annotations.page, block, "out").endswith("f32")
    assert value_type(view.annotations.page, block, "gone") == ""


def test_what_the_face_says_is_not_said_again(read, shell):
    result = seed_result(shell.diagram)
    large = result.values | {"mul1.out": np.zeros((20, 30))}
    read.set_result(replace(result, values=large))
    assert value_type(read.view.annotations.page, read.view.scene.index["mul1"], "out") == ""


def test_they_come_with_the_zoom(read):
    read.select({"mul1"})
    read.zoom_to_selection()
    read.set_zoom(MIN_ZOOM - 0.1)
    assert len(above_the_wire(read, "mul1")) == 1
    read.set_zoom(MIN_ZOOM + 0.1)
    assert len(above_the_wire(read, "mul1")) > 3


def test_a_part_that_is_painted_anew_looks_the_same(read):
    read.select({"mul1"})
    read.zoom_to_selection()
    read.set_zoom(MIN_ZOOM + 0.3)
    before = read.grab().toImage()
    at = read.port_position("mul1", "out") + QPoint(30, -14)
    for left in (at.x(), at.x() + 20):
        part = QRect(left, at.y(), 12, 12)
        again, whole = read.grab(part).toImage(), before.copy(part)
        pixels = [(x, y) for x in range(12) for y in range(12)]
        shades = [
            (again.pixelColor(*p).lightness(), whole.pixelColor(*p).lightness()) for p in pixels
        ]
        assert max(abs(a - b) for a, b in shades) < 40  # letters are placed between pixels
