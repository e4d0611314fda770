from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest

from gradwire.runtime.diagram import Batch, PortName
from tests.app.canvas.pages import LEFT, PLAIN, Shell, block, diagram, drag


@pytest.fixture
def shell(canvas):
    blocks = {
        "a": block("Variable", value=[1.0]),
        "b": block("Variable", value=[2.0]),
        "c": block("Variable", value=[3.0]),
        "cat": block("Concat"),
        "mul": block("Mul"),
        "open": block("Unpack"),
    }
    places = {
        "c": (0, 0),
        "a": (0, 100),
        "b": (0, 200),
        "cat": (400, 0),
        "mul": (400, 150),
        "open": (0, 300),
    }
    return Shell(canvas, diagram(blocks, {}, places))


def pull(canvas, start, end, *, release=True):
    drag(canvas, canvas.port_position(start, "out"), end, release=release)


def head(canvas, name) -> QPoint:
    rect = canvas.block_rect(name)
    return QPoint(rect.center().x(), rect.top() + 8)


def sources(shell, *targets):
    return [str(shell.main.wires.get(PortName.parse(target))) for target in targets]


def test_outputs_are_wired_from_top_to_bottom_as_one_change(canvas, shell):
    canvas.select(["a", "b", "c"])
    pull(canvas, "b", head(canvas, "cat"))
    (change,) = shell.changes
    assert isinstance(change, Batch) and change.label == "Connect 3 outputs to cat"
    assert sources(shell, "cat.parts.0", "cat.parts.1", "cat.parts.2") == [
        "c.out",
        "a.out",
        "b.out",
    ]
    assert canvas.selection() == {"a", "b", "c"}


def test_outputs_without_a_free_input_are_named(canvas, shell):
    canvas.select(["a", "b", "c"])
    pull(canvas, "a", head(canvas, "mul"))
    assert sources(shell, "mul.a", "mul.b") == ["c.out", "a.out"]
    assert shell.messages[-1] == "mul has no free input that fits b.out."


def test_a_drop_on_a_port_begins_there(canvas, shell):
    canvas.select(["b", "c"])
    pull(canvas, "c", canvas.port_position("mul", "b"))
    assert sources(shell, "mul.a", "mul.b") == ["None", "c.out"]


def test_blocks_that_are_not_selected_are_left_alone(canvas, shell):
    canvas.select(["a", "b"])
    pull(canvas, "c", head(canvas, "mul"))
    assert sources(shell, "mul.a", "mul.b") == ["c.out", "None"]
    canvas.select(["a"])
    pull(canvas, "a", head(canvas, "mul"))
    assert sources(shell, "mul.a", "mul.b") == ["c.out", "a.out"]


def test_blocks_without_outputs_are_passed_over(canvas, shell):
    canvas.select(["a", "open", "c"])
    pull(canvas, "a", head(canvas, "mul"))
    assert sources(shell, "mul.a", "mul.b") == ["c.out", "a.out"]


def test_the_inputs_light_up_and_the_wires_snap_to_them(canvas, shell):
    canvas.select(["a", "c"])
    pull(canvas, "a", head(canvas, "mul"), release=False)
    scene = canvas.view.scene
    lit = [str(scene.port_name(port)) for port in canvas.view.fitting_ports]
    assert lit == ["mul.a", "mul.b"]
    near = canvas.port_position("mul", "b") - QPoint(6, 0)
    image = canvas.grab(QRect(near - QPoint(4, 4), QSize(8, 8))).toImage()
    seen = {image.pixelColor(x, y).name() for x in range(8) for y in range(8)}
    assert canvas.view.theme.accent.lower() in seen
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert not canvas.view.fitting_ports
    assert shell.messages[-1] == ""
    QTest.mouseRelease(canvas, LEFT, PLAIN, near)
    assert not shell.changes


def test_a_drop_on_nothing_does_nothing(canvas, shell):
    canvas.select(["a", "c"])
    pull(canvas, "a", QPoint(canvas.width() - 10, canvas.height() - 10))
    assert not shell.changes
    assert shell.messages[-1].startswith("Drop on a block to connect 2 outputs")


def test_a_cycle_is_not_wired(canvas, shell):
    canvas.select(["mul", "a"])
    pull(canvas, "mul", head(canvas, "mul"))
    assert sources(shell, "mul.a", "mul.b") == ["a.out", "None"]
    assert shell.messages[-1] == "mul has no free input that fits mul.out."
