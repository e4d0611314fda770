from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.input.changes import free_ports, wire_under
from gradwire.app.canvas.input.dropping import BLOCK_MIME
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram import AddBlock, Batch, Point, PortName, apply
from tests.app.canvas.pages import block, diagram, drag
from tests.app.mouse import drop


def _with(shell, kind: str, name: str, **parameters) -> None:
    shell._apply(AddBlock(name, block(kind, **parameters), Point(240, 200)))
    shell.changes.clear()
    shell.canvas.zoom_to_fit()


def _onto(canvas, name: str, wire: str, **more) -> None:
    middle = canvas.wire_position(wire)
    drag(canvas, canvas.block_rect(name).center() - QPoint(0, 8), middle - QPoint(0, 8), **more)


def test_a_block_dropped_onto_a_wire_is_put_into_it(canvas, shell):
    _with(shell, "Tanh", "t")
    _onto(canvas, "t", "loss.x")
    (change,) = shell.changes
    assert isinstance(change, Batch)
    assert shell.main.wires[PortName("loss", "x")] == PortName("t", "out")
    assert shell.main.wires[PortName("t", "x")] == PortName("add1", "out")
    assert shell.main.layout["t"] != Point(240, 200)


def test_the_wire_lights_up_before_and_escape_keeps_it(canvas, shell):
    _with(shell, "Tanh", "t")
    _onto(canvas, "t", "loss.x", release=False)
    assert dict(canvas.view.marks) == {"loss.x": "accent"}
    canvas.context.mouse.cancel()
    assert not canvas.view.marks
    assert not shell.changes


@pytest.mark.parametrize("name", ["mul1", "a"])
def test_a_block_that_is_wired_or_has_no_input_is_only_moved(canvas, shell, name):
    _onto(canvas, name, "loss.x")
    assert PortName("loss", "x") in shell.main.wires
    assert shell.main.wires[PortName("loss", "x")] == PortName("add1", "out")


def test_a_block_from_the_palette_is_put_into_the_wire_it_falls_on(canvas, shell):
    canvas.set_zoom(1.0)
    canvas.zoom_to_fit()
    mime = QMimeData()
    mime.setData(BLOCK_MIME, QByteArray(b"Relu"))
    rect = canvas.block_rect("loss")
    at = canvas.wire_position("loss.x") - QPoint(rect.width() // 2, rect.height() // 2)
    assert drop(canvas, mime, at)
    assert shell.main.wires[PortName("loss", "x")] == PortName("relu1", "out")
    assert not canvas.view.marks
    QApplication.processEvents()


def test_a_wire_that_only_brushes_the_block_is_not_under_it():
    shown = diagram(
        {"a": block("Variable"), "r": block("Relu"), "t": block("Tanh")},
        {"r.x": "a.out"},
        {"a": (0, 0), "r": (600, 0), "t": (300, 300)},
    )
    scene = Scene(shown, "main")
    there = scene.rects[2].copy()
    there[1] = 30.0
    assert wire_under(scene, there, "t") is None
    there[1] = 10.0
    assert wire_under(scene, there, "t") == "r.x"
    assert wire_under(scene, there, "r") is None


def test_free_ports_are_those_of_a_block_without_wires():
    shown = diagram(
        {"a": block("Variable"), "r": block("Relu"), "t": block("Mul", a=3)}, {"r.x": "a.out"}
    )
    scene = Scene(shown, "main")
    assert free_ports(scene, "t") == ("b", "out")
    assert free_ports(scene, "r") == ("", "")
    assert apply(shown, AddBlock("u", block("Tanh"))).after
