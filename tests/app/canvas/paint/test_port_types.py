"""Shapes and dtypes beside the ports, once there is room."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, QRectF
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint import highlights
from gradwire.app.canvas.paint.highlights import MIN_ZOOM, paint_port_types
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.port_labels import value_type
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.services.theme import LIGHT, SMALL, font
from tests.app.canvas.pages import block, diagram, seed_result
from tests.app.canvas.paint.recording import recorder


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


class TestPlaces:
    """Where they stand, call by call, at twice the size."""

    def paint(self, monkeypatch, label="(2, 3) f32", *, rising=False):
        shown = diagram(
            {"w": block("Variable", value=1.0), "t": block("Tanh")},
            {"t.x": "w.out"},
            {"w": (0, 0), "t": (400, -200 if rising else 0)},
        )
        scene = Scene(shown, "main")
        monkeypatch.setattr(
            highlights, "value_type", lambda page, at, port: label if at == 0 else ""
        )
        view = ViewState(scene, resolve(scene, None), Camera(2.0, 10.0, 20.0), LIGHT)
        painter = recorder(monkeypatch)
        paint_port_types(painter, view, np.array([-1e4, -1e4, 1e4, 1e4]))
        at = view.camera.to_widget(scene.port_points(np.array([scene.port("w", "out")])))[0]
        return painter, tuple(at.tolist())

    def test_they_stand_above_the_wire_on_a_ground_of_the_canvas(self, qapp, monkeypatch):
        painter, at = self.paint(monkeypatch)
        assert painter.of("translate") == [at]
        assert painter.of("scale") == [(1.5, 1.5)]
        (text,) = painter.drawn("drawText")
        wide = QFontMetricsF(font(SMALL)).horizontalAdvance("(2, 3) f32")
        assert text.arguments[0] == QRectF(8.0, -16.0, wide, 14.0)
        assert text.arguments[2] == "(2, 3) f32"
        assert text.pen.color() == QColor(LIGHT.ink_faint)
        ((ground, colour),) = painter.of("fillRect")
        assert ground == QRectF(6.0, -16.0, wide + 4.0, 14.0)
        assert colour == QColor(LIGHT.canvas)

    def test_below_a_wire_that_rises(self, qapp, monkeypatch):
        painter, _ = self.paint(monkeypatch, rising=True)
        assert painter.of("drawText")[0][0].top() == 14.0

    @pytest.mark.parametrize(("rising", "shown"), [((True, True), 1), ((True, False), 0)])
    def test_none_beside_wires_that_rise_and_fall(self, qapp, monkeypatch, rising, shown):
        assert len(self.labels(monkeypatch, "Variable", rising)) == shown

    def test_none_beside_a_wire_that_rises_from_one_of_several_ports(self, qapp, monkeypatch):
        assert len(self.labels(monkeypatch, "Unpack", (True,))) == 1  # that of the other port
        assert len(self.labels(monkeypatch, "Unpack", (False,))) == 2

    def test_none_where_a_loss_ends_the_page(self, qapp, monkeypatch):
        assert not self.labels(monkeypatch, "Loss", ())
        assert self.labels(monkeypatch, "Loss", (False,))
        assert self.labels(monkeypatch, "Variable", ())

    def labels(self, monkeypatch, kind, rising):
        """The labels of a block that others read, each above it or below."""
        readers = {f"t{i}": block("Tanh") for i in range(len(rising))}
        more = {"paths": ("a", "b")} if kind == "Unpack" else {}
        port = "a" if more else "out"
        shown = diagram(
            {"w": block(kind, **more), **readers},
            {f"{name}.x": f"w.{port}" for name in readers},
            {"w": (0, 0)} | {f"t{i}": (400, -300 if up else 300) for i, up in enumerate(rising)},
        )
        scene = Scene(shown, "main")
        monkeypatch.setattr(
            highlights, "value_type", lambda page, at, port: "f32" if at == 0 else ""
        )
        view = ViewState(scene, resolve(scene, None), Camera(2.0), LIGHT)
        painter = recorder(monkeypatch)
        paint_port_types(painter, view, np.array([-1e4, -1e4, 1e4, 1e4]))
        return painter.of("drawText")

    def test_a_long_one_is_cut(self, qapp, monkeypatch):
        painter, _ = self.paint(monkeypatch, "(1000, " * 20)
        place, _, text = painter.of("drawText")[0]
        assert text.endswith("…")
        assert place.right() <= 60.0 / 0.75


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
