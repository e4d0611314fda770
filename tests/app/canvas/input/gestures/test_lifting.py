from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.gestures.dragging import healing
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram import Batch, Point, PortName
from tests.app.canvas.pages import LEFT, Shell, block, diagram, drag

ALT = Qt.KeyboardModifier.AltModifier


def head(canvas, name) -> QPoint:
    rect = canvas.block_rect(name)
    return QPoint(rect.center().x(), rect.top() + 8)


def lift(canvas, name, down=120, *, release=True):
    start = head(canvas, name)
    drag(canvas, start, start + QPoint(0, down), modifiers=ALT, release=release)


def test_a_block_is_lifted_out_and_its_wires_are_healed(canvas, shell):
    at = shell.main.layout["stop1"]
    lift(canvas, "stop1")
    (change,) = shell.changes
    assert isinstance(change, Batch) and change.label == "Lift stop1 out"
    assert shell.main.wires[PortName("add1", "a")] == PortName("mul1", "out")
    assert PortName("stop1", "x") not in shell.main.wires
    assert shell.main.layout["stop1"].y > at.y
    assert canvas.selection() == {"stop1"}


def test_a_selection_is_lifted_as_one(canvas, shell):
    canvas.select(["mul1", "stop1"])
    lift(canvas, "mul1")
    wires = shell.main.wires
    assert wires[PortName("add1", "a")] == PortName("b", "out")
    assert wires[PortName("stop1", "x")] == PortName("mul1", "out")
    assert PortName("mul1", "b") not in wires


def test_a_block_without_inputs_leaves_its_wires_cut(canvas, shell):
    lift(canvas, "a")
    assert PortName("add1", "b") not in shell.main.wires


def test_what_would_be_is_shown_and_escape_keeps_the_wires(canvas, shell):
    lift(canvas, "stop1", release=False)
    assert dict(canvas.view.marks) == {"stop1.x": "error", "add1.a": "error"}
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert not canvas.view.marks
    QTest.mouseRelease(canvas, LEFT, ALT, head(canvas, "stop1"))
    assert not shell.changes


def test_the_wire_that_will_lead_past_is_drawn(canvas, shell):
    def between():
        start, end = canvas.port_position("mul1", "out"), canvas.port_position("add1", "a")
        return canvas.grab().toImage().pixelColor((start + end) / 2).name()

    canvas.select(["stop1"])
    lift(canvas, "stop1", release=False)
    assert between() == canvas.view.theme.accent.lower()
    QTest.keyClick(canvas, Qt.Key.Key_Escape)


def test_a_click_with_alt_changes_nothing(canvas, shell):
    start = head(canvas, "stop1")
    QTest.mouseClick(canvas, LEFT, ALT, start)
    lift(canvas, "stop1", 0)
    assert not shell.changes


def test_by_keyboard_the_block_stays_where_it_is(canvas, shell):
    at = shell.main.layout["stop1"]
    canvas.select(["stop1"])
    QTest.keyClick(canvas, Qt.Key.Key_L)
    assert shell.main.wires[PortName("add1", "a")] == PortName("mul1", "out")
    assert shell.main.layout["stop1"] == at
    QTest.keyClick(canvas, Qt.Key.Key_L)
    assert len(shell.changes) == 1


@pytest.mark.parametrize("literal", [False, True])
def test_the_first_input_that_is_wired_leads_on(canvas, literal):
    shown = diagram(
        {
            "a": block("Variable", value=1.0),
            "b": block("Variable", value=2.0),
            "mul": block("Mul", **({"a": 3} if literal else {})),
            "out": block("Tanh"),
        },
        {**({} if literal else {"mul.a": "a.out"}), "mul.b": "b.out", "out.x": "mul.out"},
        {"a": (0, 0), "b": (0, 100), "mul": (240, 0), "out": (480, 0)},
    )
    cut, (wire,) = healing(Scene(shown, "main"), ["mul"])
    assert wire.source == PortName("b" if literal else "a", "out")
    assert wire.target == PortName("out", "x")
    assert cut == (["mul.b"] if literal else ["mul.a", "mul.b"])


def test_terms_of_a_repeating_port_stay_in_order(canvas):
    shown = diagram(
        {
            "a": block("Variable", value=[1.0]),
            "neg": block("Neg"),
            "b": block("Variable", value=[2.0]),
            "c": block("Variable", value=[3.0]),
            "cat": block("Concat"),
        },
        {
            "neg.x": "a.out",
            "cat.parts.0": "b.out",
            "cat.parts.1": "neg.out",
            "cat.parts.2": "c.out",
        },
        {"a": (0, 0), "neg": (240, 0), "b": (240, 90), "c": (240, 180), "cat": (480, 0)},
    )
    shell = Shell(canvas, shown)
    canvas.select(["neg"])
    QTest.keyClick(canvas, Qt.Key.Key_L)
    ends = [str(shell.main.wires[PortName("cat", f"parts.{i}")]) for i in range(3)]
    assert ends == ["b.out", "a.out", "c.out"]
    canvas.select(["b"])
    QTest.keyClick(canvas, Qt.Key.Key_L)
    ends = [str(shell.main.wires[PortName("cat", f"parts.{i}")]) for i in range(2)]
    assert ends == ["a.out", "c.out"]


def test_alt_drag_on_the_background_still_draws_a_lasso(canvas, shell):
    rect = canvas.block_rect("a")
    far = [rect.bottomLeft(), rect.bottomRight(), rect.topRight()]
    around = [rect.topLeft() - QPoint(9, 9), *far]
    drag(canvas, around[0], around[2] + QPoint(9, 9), modifiers=ALT, release=False)
    assert not canvas.view.marks
    QTest.mouseRelease(canvas, LEFT, ALT, around[2])
    assert not shell.changes
    assert shell.main.layout["a"] == Point(480, 120)
