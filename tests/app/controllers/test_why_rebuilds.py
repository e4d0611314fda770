"""How often the Why panel is built anew: at most once an edit, and once a click."""

import numpy as np
import pytest

from gradwire.app.panels.why.why import Why
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import MoveBlocks, Point, SetParameters, group
from tests.app.mouse import LEFT


@pytest.fixture
def rebuilds(window, qtbot, monkeypatch):
    """A window on a stopped wire; the list grows with every rebuild of its panel from now on."""
    w, v = variable("w", [2.0]), variable("v", [1.0])
    diagram = build(loss(stop_gradient(w * 3.0, name="sg") + v, name="loss"))
    window.document._begin(diagram, None)
    settle(window, qtbot)
    click(window, qtbot, "sg.x")
    settle(window, qtbot)
    counted = []
    rebuild = Why._rebuild
    monkeypatch.setattr(Why, "_rebuild", lambda why: (counted.append(1), rebuild(why)))
    return counted


def settle(window, qtbot):
    worker = window.explanation.worker
    qtbot.waitUntil(lambda: not window.evaluator.busy and not worker.is_pending("why"))


def click(window, qtbot, wire):
    at = window.canvas.wire_position(wire)
    qtbot.mouseMove(window.canvas, at)
    qtbot.mouseClick(window.canvas, LEFT, pos=at)


def test_a_typed_number_rebuilds_once_and_shows_the_new_one(window, qtbot, rebuilds):
    window.edit.change(SetParameters("w", {"value": np.array([5.0])}))
    settle(window, qtbot)
    assert len(rebuilds) == 1
    assert "How to let the gradient through" in window.why.text()


def test_an_undo_rebuilds_once(window, qtbot, rebuilds):
    window.edit.change(SetParameters("w", {"value": np.array([5.0])}))
    settle(window, qtbot)
    window.canvas.select_wire("sg.x")
    settle(window, qtbot)
    rebuilds.clear()
    window.actions_by_name["undo"].trigger()
    settle(window, qtbot)
    assert len(rebuilds) == 1


def test_a_click_on_another_wire_rebuilds_once(window, qtbot, rebuilds):
    click(window, qtbot, "add1.b")
    settle(window, qtbot)
    assert len(rebuilds) == 1
    assert "add1.b" in window.why.text()


def test_a_moved_block_rebuilds_nothing_and_keeps_the_answers(window, qtbot, rebuilds):
    window.edit.change(MoveBlocks({"w": Point(-300.0, -200.0)}))
    settle(window, qtbot)
    assert rebuilds == []
    assert "How to let the gradient through" in window.why.text()


def test_another_page_rebuilds_once(window, qtbot, rebuilds):
    window.edit.change(group(window.document.diagram, "main", ["mul1"]))
    settle(window, qtbot)
    window.canvas.select_wire("sg.x")
    settle(window, qtbot)
    rebuilds.clear()
    window.navigation.enter("group1")
    settle(window, qtbot)
    assert len(rebuilds) == 1
