"""Bends in the window: undo of each step, copies, pages, and the file."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.canvas.scene.geometry import Bend
from gradwire.runtime.diagram import Connect, MoveBlocks, Point, PortName, load
from tests.app.mouse import double_click

LOSS = PortName("loss", "x")


@pytest.fixture
def wired(window):
    """tanh1 → loss, laid out by hand, in view at 100 %."""
    window.edit.add_block("Tanh")
    window.edit.add_block("Loss")
    window.edit.change(MoveBlocks({"tanh1": Point(0, 0), "loss": Point(500, 0)}))
    window.edit.change(Connect(PortName("tanh1", "out"), LOSS))
    window.canvas.zoom_to_fit()
    window.canvas.setFocus()
    return window


def bends(window):
    return window.document.diagram.main.bends


def test_the_action_bends_the_selected_wire_and_undo_makes_it_straight(wired):
    action = wired.actions_by_name["bend_wire"]
    assert not action.isEnabled()
    wired.canvas.select_wire("loss.x")
    assert action.isEnabled()
    action.trigger()
    assert len(bends(wired)[LOSS]) == 1
    assert wired.canvas.view.selection.bends == {Bend("loss.x", 0)}
    assert wired.actions_by_name["delete"].isEnabled()
    wired.document.undo_stack.undo()
    assert not bends(wired)
    wired.document.undo_stack.redo()
    assert len(bends(wired)[LOSS]) == 1


def test_nudges_of_a_bend_are_one_undo(wired):
    wired.canvas.select_wire("loss.x")
    wired.actions_by_name["bend_wire"].trigger()
    before = bends(wired)[LOSS]
    for _ in range(3):
        QTest.keyClick(wired.canvas, Qt.Key.Key_Down)
    assert bends(wired)[LOSS][0].y == before[0].y + 30
    wired.document.undo_stack.undo()
    assert bends(wired)[LOSS] == before


def test_a_double_click_leaves_the_explanation_that_the_first_click_asked_for(wired):
    double_click(wired.canvas, wired.canvas.wire_position("loss.x"))
    assert len(bends(wired)[LOSS]) == 1
    assert wired.canvas.route() is None


@pytest.mark.night
def test_the_menu_bends_the_wire_where_it_was_opened(wired):
    at = wired.canvas.wire_position("loss.x") + QPoint(60, 0)
    QTest.mouseClick(wired.canvas, Qt.MouseButton.RightButton, pos=at)
    wired.actions_by_name["bend_wire"].trigger()
    here = wired.canvas.scene_position(at)
    assert abs(bends(wired)[LOSS][0].x - here.x) <= 5


@pytest.mark.night
def test_copies_and_pages_keep_them_and_the_file_too(wired, tmp_path):
    wired.canvas.select_wire("loss.x")
    wired.actions_by_name["bend_wire"].trigger()
    (point,) = bends(wired)[LOSS]
    wired.canvas.select({"tanh1", "loss"})
    wired.actions_by_name["duplicate"].trigger()
    layout = wired.document.diagram.main.layout
    old, new = layout["loss"], layout["loss2"]
    assert old != new
    moved = Point(point.x + new.x - old.x, point.y + new.y - old.y)
    assert bends(wired)[PortName("loss2", "x")] == (moved,)
    wired.canvas.select({"tanh1", "loss"})
    wired.actions_by_name["group"].trigger()
    assert wired.document.diagram.pages["group1"].bends == {LOSS: (point,)}
    path = tmp_path / "bent.gradwire.json"
    assert wired.document.save_as(path)
    assert load(path) == wired.document.diagram


def test_the_sheet_of_keys_tells_of_it(wired):
    (row,) = (row for row in KEYS if row.keys == ("B",))
    assert "bend" in row.text
