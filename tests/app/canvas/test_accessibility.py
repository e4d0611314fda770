from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.accessibility import Item
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.runtime.diagram import Note, Point, RemoveBlocks, SetNote
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow import Cutter, State, Verdict
from tests.app.canvas.pages import Shell, click, seed, seed_result

NAME = QAccessible.Text.Name


def tree(canvas):
    return QAccessible.queryAccessibleInterface(canvas)


def names(canvas) -> list[str]:
    found = tree(canvas)
    return [found.child(i).text(NAME) for i in range(found.childCount())]


def read(canvas, shell) -> None:
    base = seed_result(shell.diagram)

    def verdict(wire: str) -> Verdict:
        return Verdict(
            wire, "loss.out", State.STOPPED, "", (Cutter(InstancePath("stop1"), "x", "stop"),)
        )

    canvas.set_result(
        EvaluationResult(
            base.diagram, base.values, base.gradients, base.states, base.norms, verdict=verdict
        )
    )


def test_there_is_a_child_for_every_block_port_wire_and_note(canvas, shell):
    shell._apply(SetNote("n", Note("why", Point(0, 200))))
    assert tree(canvas).role() == QAccessible.Role.Canvas
    assert tree(canvas).childCount() == 6 + 12 + 5 + 1
    assert names(canvas)[-1] == "note why"
    assert tree(canvas).text(QAccessible.Text.Description) == "6 blocks, 5 wires"


def test_they_say_what_is_there(canvas, shell):
    read(canvas, shell)
    told = names(canvas)
    assert "wire mul1 to stop1.x, stopped by stop1" in told
    assert "wire a to add1.b, carries gradient" in told
    assert "wire stop1 to add1.a, no variable behind it" in told
    assert "input a of mul1, 3" in told
    assert "input b of mul1, from b" in told
    assert "output out of b, to 1 inputs" in told
    assert "output out of loss, not read" in told
    assert "b, Variable, value 0 1, gradient None" in told


def test_places_are_those_on_the_screen_and_lead_back(canvas, shell):
    found = tree(canvas)
    for i in range(found.childCount()):
        item = found.child(i)
        assert found.indexOfChild(item) == i
        assert not item.rect().isEmpty()
        assert item.parent() is found
    block = found.child(canvas.view.scene.index["loss"])
    assert block.rect().topLeft() == canvas.mapToGlobal(canvas.block_rect("loss").topLeft())
    for place, name in [
        (canvas.block_rect("loss").center(), "loss"),
        (canvas.port_position("add1", "a"), "input a of add1"),
        (canvas.wire_position("mul1.b"), "wire b to mul1.b"),
    ]:
        at = canvas.mapToGlobal(place)
        assert found.childAt(at.x(), at.y()).text(NAME).startswith(name)
    corner = canvas.mapToGlobal(QPoint(1, 1))
    assert found.childAt(corner.x(), corner.y()) is None
    assert found.child(-1) is None
    assert found.child(10_000) is None


def test_the_focus_of_the_keyboard_is_told(canvas, shell, monkeypatch):
    events = []
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(
        QAccessible, "updateAccessibility", lambda event: events.append(event.type())
    )
    canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, "loss.x"))
    assert events == [QAccessible.Event.Focus]
    child = tree(canvas).focusChild()
    assert child.text(NAME).startswith("wire add1 to loss.x")
    assert child.state().focused
    assert child.state().selected
    click(canvas, canvas.block_rect("b").center())
    assert tree(canvas).focusChild() is None
    assert not child.state().focused


@pytest.mark.filterwarnings("error")
def test_real_events_reach_qt(canvas, shell):
    QAccessible.setActive(True)
    try:
        canvas.keyboard_focus.focus_on(Focus(FocusKind.BLOCK, "b"))
        canvas.keyboard_focus.focus_on(Focus(FocusKind.INPUT, "mul1.a"))
        QApplication.processEvents()
    finally:
        QAccessible.setActive(False)


def test_what_is_removed_is_no_longer_valid(canvas, shell):
    item = tree(canvas).child(canvas.view.scene.index["loss"])
    assert item.isValid()
    shell._apply(RemoveBlocks(["loss"]))
    assert not item.isValid()
    assert item.text(NAME) == ""
    assert item.rect().isEmpty()
    assert item.state().invalid
    assert tree(canvas).indexOfChild(item) == -1


@pytest.mark.night
def test_canvases_come_and_go(qapp):
    for _ in range(20):
        canvas = CanvasView()
        shell = Shell(canvas, seed())
        assert isinstance(tree(canvas).child(3), Item)
        canvas.deleteLater()
        del canvas, shell
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
