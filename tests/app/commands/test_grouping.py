from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import AddBlock, Connect, PortName

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(window):
    for kind in ("Variable", "Tanh", "Loss"):
        window.edit.add_block(kind)
    window.edit.change(Connect(PortName("variable1", "out"), PortName("tanh1", "x")))
    window.edit.change(Connect(PortName("tanh1", "out"), PortName("loss", "x")))
    return window


def test_a_selection_becomes_a_page_and_comes_back_by_keys(window):
    before = window.document.diagram
    window.canvas.select(["tanh1"])
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_G, CONTROL)
    assert window.canvas.selection() == {"group1"}
    assert "tanh1" in window.document.diagram.pages["group1"].blocks
    window.document.undo_stack.undo()
    assert window.document.diagram is before
    window.document.undo_stack.redo()
    window.canvas.select(["group1"])
    QTest.keyClick(window.canvas, Qt.Key.Key_G, CONTROL | Qt.KeyboardModifier.ShiftModifier)
    assert window.document.diagram.main.blocks == before.main.blocks
    assert dict(window.document.diagram.main.wires) == dict(before.main.wires)
    assert window.canvas.selection() == {"tanh1"}


def test_nothing_selected_is_said_and_changes_nothing(window):
    before = window.document.diagram
    window.canvas.select(())
    window.actions_by_name["group"].trigger()
    window.actions_by_name["ungroup"].trigger()
    assert window.document.diagram is before


def test_a_frame_goes_into_the_page_and_comes_back_selected(window):
    window.canvas.select(["tanh1"])
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_F, CONTROL | Qt.KeyboardModifier.ShiftModifier)
    window.canvas.setFocus()
    before = window.document.diagram.main
    window.canvas.select(["tanh1"])
    QTest.keyClick(window.canvas, Qt.Key.Key_G, CONTROL)
    assert not window.document.diagram.main.notes
    assert window.document.diagram.pages["group1"].notes.keys() == {"frame1"}
    QTest.keyClick(window.canvas, Qt.Key.Key_G, CONTROL | Qt.KeyboardModifier.ShiftModifier)
    assert dict(window.document.diagram.main.notes) == dict(before.notes)
    assert window.canvas.view.selection[:2] == ({"tanh1"}, {"frame1"})


@pytest.mark.night
@pytest.mark.parametrize("command", ["ungroup", "unique_page"])
def test_a_block_whose_page_is_missing_is_told_of(window, command):
    window.edit.change(AddBlock("use", PageBlock(page="gone")))
    before = window.document.diagram
    window.canvas.select(["use"])
    window.actions_by_name[command].trigger()
    assert "'use' is not a use of a page" in window.notice.text()
    assert window.document.diagram is before
