from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from gradwire.app.canvas.input.entry.quick_add import QuickAdd


@pytest.fixture
def window(window):
    window.edit.add_block("Tanh")
    return window


def test_a_right_click_opens_the_menu_of_the_block(qtbot, window):
    at = window.canvas.block_rect("tanh1").center() + QPoint(0, 10)
    QTest.mouseClick(window.canvas, Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, at)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    shown = {action.objectName() for action in menu.actions()}
    assert {"duplicate", "delete", "rename"} <= shown
    delete = next(a for a in menu.actions() if a.objectName() == "delete")
    assert delete.isEnabled()
    delete.trigger()
    menu.close()
    assert "tanh1" not in window.document.diagram.main.blocks


def test_quick_add_is_in_the_menu(window):
    window.actions_by_name["quick_add"].trigger()
    (box,) = window.canvas.findChildren(QuickAdd)
    QTest.keyClicks(box.line, "relu")
    QTest.keyClick(box.line, Qt.Key.Key_Return)
    assert "relu1" in window.document.diagram.main.blocks
    window.document.undo_stack.undo()
    assert "relu1" not in window.document.diagram.main.blocks
