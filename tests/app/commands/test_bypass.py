"""Blocks are bypassed by a key, and shown so."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.tooltips import describe
from tests.app.document.test_diff import seed
from tests.app.mouse import click_block

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    qtbot.waitUntil(lambda: window.isActiveWindow() and not window.evaluator.busy)
    return window


def press(qtbot, window):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_M, CONTROL)
    qtbot.waitUntil(lambda: not window.evaluator.busy)


def bypassed(window):
    return {name for name, block in window.document.diagram.main.blocks.items() if block.bypassed}


def look(window, name):
    view = window.canvas.view
    return view.annotations.look(view.scene.index[name])


def test_a_key_bypasses_the_selected_block_and_lets_it_work_again(qtbot, window):
    click_block(qtbot, window, "stop")
    press(qtbot, window)
    assert bypassed(window) == {"stop"}
    assert window.evaluator.result.gradients["b"] is not None
    assert look(window, "stop").label == "bypassed"
    assert look(window, "stop").through == 0
    press(qtbot, window)
    assert bypassed(window) == set()
    assert window.evaluator.result.gradients["b"] is None
    assert look(window, "stop").through is None


def test_it_is_one_undo(qtbot, window):
    window.canvas.select({"stop", "mul1"})
    press(qtbot, window)
    assert bypassed(window) == {"stop", "mul1"}
    assert window.document.undo_stack.undoText() == "Bypass mul1, stop"
    window.actions_by_name["undo"].trigger()
    assert bypassed(window) == set()
    window.actions_by_name["redo"].trigger()
    assert bypassed(window) == {"stop", "mul1"}


def test_of_a_mixed_selection_all_are_bypassed_then_none(qtbot, window):
    window.canvas.select({"stop"})
    press(qtbot, window)
    window.canvas.select({"stop", "add1", "a", "loss"})  # two of them can't be
    press(qtbot, window)
    assert bypassed(window) == {"stop", "add1"}
    press(qtbot, window)
    assert bypassed(window) == set()


def test_where_nothing_can_be_bypassed_a_hint_says_so(qtbot, window):
    hints = []
    window.canvas.statusMessage.connect(hints.append)
    window.canvas.select({"a"})
    press(qtbot, window)
    assert bypassed(window) == set()
    assert "could go through" in hints[-1]
    window.canvas.select(())
    assert not window.actions_by_name["bypass"].isEnabled()


def test_the_line_through_the_face_leads_from_the_wired_input(qtbot, window):
    window.canvas.select({"mul1"})
    press(qtbot, window)
    assert look(window, "mul1").through == 1  # a is a literal, b is wired


def test_the_face_and_the_screen_reader_tell(qtbot, window):
    window.canvas.zoom_to_fit()
    window.canvas.select(())
    before = window.canvas.grab(window.canvas.block_rect("stop")).toImage()
    window.canvas.select({"stop"})
    press(qtbot, window)
    window.canvas.select(())
    assert window.canvas.grab(window.canvas.block_rect("stop")).toImage() != before
    spoken = describe(window.canvas.view.annotations, Focus(FocusKind.BLOCK, "stop"))
    assert spoken.startswith("stop, StopGradient, bypassed")
