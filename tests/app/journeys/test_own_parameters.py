"""Layers own their parameters: on the face, by keys, by the hand, in the inspector."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

import gradwire.runtime.build as b
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.tooltips import describe, port_tip
from gradwire.runtime.diagram import PortName
from tests.app.mouse import click_block, drop_block, pull

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
WEIGHT, BIAS = PortName("fc", "weight"), PortName("fc", "bias")


def layer(*inputs, **parameters):
    x = b.input("x", [[1.0, 2.0]])
    return b.build(b.loss(b.mean(b.linear(x, *inputs, units=2, name="fc", **parameters))))


def blocks(window):
    return window.document.diagram.main.blocks


def settled(window, qtbot):
    qtbot.waitUntil(lambda: not window.evaluator.busy)


def face(window, name):
    scene = window.canvas.view.scene
    return window.canvas.view.annotations.look(scene.index[name])


@pytest.fixture
def window(opened):
    return opened(layer(b.own([[1, 2], [3, 4]]), b.own(trainable=False)))


def test_the_face_shows_each_variable_with_its_gradient(window):
    shown = [(port.text, port.kind) for port in face(window, "fc").inputs]
    assert shown == [("x", "wired"), ("weight ∇ 0.79", "owned"), ("bias · frozen", "owned")]


def test_a_screen_reader_and_the_pointer_learn_of_them(window):
    annotations = window.canvas.view.annotations
    said = describe(annotations, Focus(FocusKind.INPUT, "fc.weight"))
    assert said == "input weight of fc, own variable, gradient 0.79"
    assert said in describe(annotations, Focus(FocusKind.BLOCK, "fc"))
    scene = annotations.scene
    port = scene.first_port[scene.index["fc"]] + scene.slots[scene.index["fc"]].input_at["weight"]
    tip = port_tip(annotations.page, int(port))
    assert "A variable of the block's own, fc/weight." in tip
    assert "gradient" in tip


@pytest.mark.parametrize("name", ["move_out", "own_parameters"])
def test_both_ways_are_in_menus_and_need_a_selection(window, name):
    window.canvas.select(())
    assert not window.actions_by_name[name].isEnabled()
    window.canvas.select(["fc"])
    assert window.actions_by_name[name].isEnabled()


def test_they_move_out_and_in_again_by_keys(window, qtbot):
    before = window.document.diagram
    click_block(qtbot, window, "fc")
    QTest.keyClick(window.canvas, Qt.Key.Key_M, CONTROL | SHIFT)
    assert {"fc_weight", "fc_bias"} <= set(blocks(window))
    assert not blocks(window)["fc"].owned
    assert window.canvas.selection() == {"fc_weight", "fc_bias"}
    assert window.document.undo_stack.undoText() == "Move Out to Variable"
    settled(window, qtbot)
    QTest.keyClick(window.canvas, Qt.Key.Key_O, CONTROL | SHIFT)
    assert blocks(window) == before.main.blocks
    assert window.canvas.selection() == {"fc"}
    assert window.document.undo_stack.undoText() == "Own Parameter"
    window.document.undo_stack.undo()
    window.document.undo_stack.undo()
    assert window.document.diagram is before


def test_what_can_not_be_done_is_said(window):
    before = window.document.diagram
    window.canvas.select(["x"])
    window.actions_by_name["own_parameters"].trigger()
    assert "could own" in window.statusBar().currentMessage()
    window.actions_by_name["move_out"].trigger()
    assert "owns a variable" in window.statusBar().currentMessage()
    assert window.document.diagram is before


def test_the_hand_pulls_a_variable_out_and_puts_it_back(window, qtbot):
    before = window.document.diagram
    canvas = window.canvas
    canvas.set_zoom(1.0)
    start = canvas.port_position("fc", "weight")
    end = start + QPoint(-40, 190)
    qtbot.mouseMove(canvas, start)
    pull(qtbot, canvas, start, end)
    after = window.document.diagram
    assert after.main.wires[WEIGHT] == PortName("fc_weight", "out")
    assert (canvas.port_position("fc_weight", "out") - end).manhattanLength() <= 20
    settled(window, qtbot)
    grip = canvas.block_rect("fc_weight").center() - QPoint(0, 12)
    qtbot.mouseMove(canvas, grip)
    pull(qtbot, canvas, grip, canvas.block_rect("fc").center())
    assert blocks(window) == before.main.blocks
    window.document.undo_stack.undo()
    assert window.document.diagram is after


def test_a_variable_that_drives_more_is_only_moved(opened, qtbot):
    shared = b.variable("W", [[1, 2], [3, 4]])
    x = b.input("x", [[1.0, 2.0]])
    window = opened(b.build(b.loss(b.sum(b.linear(x, shared, name="fc") + shared))))
    grip = window.canvas.block_rect("W").center() - QPoint(0, 12)
    qtbot.mouseMove(window.canvas, grip)
    pull(qtbot, window.canvas, grip, window.canvas.block_rect("fc").center())
    assert "W" in blocks(window) and not blocks(window)["fc"].owned


def test_a_new_linear_runs_at_once(opened, qtbot):
    window = opened(b.build(b.loss(b.mean(b.input("x", [[1.0, 2.0]])))))
    drop_block(window, "Linear", QPoint(300, 400))
    assert set(blocks(window)["linear1"].owned) == {"weight", "bias"}


def test_the_inspector_edits_them_and_moves_them(window, qtbot):
    click_block(qtbot, window, "fc")
    form = window.inspector.form
    field = form.fields["bias trainable"]
    assert field.accessibleName() == "bias trainable"
    field.committed.emit(True)
    settled(window, qtbot)
    assert blocks(window)["fc"].owned["bias"].trainable
    assert face(window, "fc").inputs[2].text == "bias ∇ all 0.5"
    form = window.inspector.form
    form.fields["weight shape"].committed.emit([9, 9])
    assert "value has shape" in form.errors["weight shape"].text()
    form.ownRequested.emit("weight", False)
    assert "fc_weight" in blocks(window)
    click_block(qtbot, window, "fc_weight")
    window.actions_by_name["delete"].trigger()
    click_block(qtbot, window, "fc")
    window.inspector.form.ownRequested.emit("weight", True)
    assert blocks(window)["fc"].owned["weight"].initialiser == "glorot_uniform"


def test_a_row_of_the_variables_goes_to_the_owner(window, qtbot):
    window.canvas.select(())
    window.variables.blockRequested.emit("fc/weight")
    assert window.canvas.selection() == {"fc"}
    window.explanation.follow_link("wire:fc.weight")
    assert window.canvas.selection() == {"fc"}
    window.explanation.explain_block("fc")
    assert window.canvas.selected_wire() == "mean1.x"
