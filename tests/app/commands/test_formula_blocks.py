"""Formula blocks by hand: made, typed into, folded from blocks and unfolded, as single undos."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from gradwire.app.canvas.input.changes import MenuTarget, target_of
from gradwire.app.canvas.state.annotations import PageResult
from gradwire.app.canvas.state.looks import look_of
from gradwire.app.shell.menus import CONTEXT_MENUS
from gradwire.blocks.library.formula import Formula
from gradwire.runtime.build import block, build, input, loss, mean, sub, variable
from gradwire.runtime.diagram import PortName
from tests.app.mouse import double_click

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
Key = Qt.Key


@pytest.fixture
def window(qtbot, window):
    w, x, t = variable("w", [2.0, -1.0]), input("x", [1.0, 3.0]), input("t", 1.0)
    d = sub(block("Formula", w=w, x=x, expression="w * x", name="product"), t, name="d")
    window.document._begin(build(loss(mean(d**2))), None)
    window.canvas.zoom_to_fit()
    qtbot.waitUntil(lambda: window.evaluator.result is not None)
    return window


def formula(window, name):
    made = window.document.diagram.main.blocks[name]
    assert isinstance(made, Formula)
    return made.expression


def field_of(window):
    (field,) = [f for f in window.canvas.findChildren(QLineEdit) if f.isVisible()]
    return field


def below(window, name):
    rect = window.canvas.block_rect(name)
    return QPoint(rect.center().x(), rect.bottom() - 10)


def test_the_face_has_a_line_for_the_expression(window):
    scene = window.canvas.view.scene
    page = PageResult(scene, window.evaluator.result)
    look = look_of(page, scene.index["product"], dimmed=False)
    assert (look.expression, look.label, look.lines) == ("w·x", "", 3)
    assert [port.text for port in look.inputs] == ["w", "x"]
    assert look.sections, "its value is shown as well"


def test_a_double_click_on_the_expression_edits_it(qtbot, window):
    double_click(window.canvas, below(window, "product"))
    field = field_of(window)
    assert field.text() == "w * x"
    assert field.accessibleName() == "Expression of block product"
    QTest.keyClicks(field, "w * x + 1")
    QTest.keyClick(field, Key.Key_Return)
    assert formula(window, "product") == "w * x + 1"
    assert window.document.undo_stack.count() == 1
    QTest.keyClick(window.canvas, Key.Key_Z, CONTROL)
    assert formula(window, "product") == "w * x"


def test_a_double_click_on_the_name_renames(window):
    rect = window.canvas.block_rect("product")
    double_click(window.canvas, QPoint(rect.center().x(), rect.top() + 8))
    assert field_of(window).text() == "product"


def test_an_error_keeps_the_field_and_marks_the_character(window):
    window.canvas.inline_editor.edit_expression("product")
    field = field_of(window)
    QTest.keyClicks(field, "w * sinn(x)")
    QTest.keyClick(field, Key.Key_Return)
    assert field.isVisible()
    assert (field.selectionStart(), field.selectedText()) == (4, "s")
    assert "There is no block 'sinn'" in window.statusBar().currentMessage()
    QTest.keyClick(field, Key.Key_Escape)
    assert formula(window, "product") == "w * x"


def test_the_inspector_edits_it_and_says_where_it_is_wrong(qtbot, window):
    window.canvas.inspect("product")
    form = window.inspector.form
    field = form.fields["expression"]
    for text in ("w * (x", "w * tanh(x)"):
        field.line.setFocus()
        field.line.selectAll()
        QTest.keyClicks(field.line, text)
        QTest.keyClick(field.line, Key.Key_Return)
        if text == "w * (x":
            error = window.inspector.form.errors["expression"].text()
            assert "at character 5" in error and "never closed" in error
    assert formula(window, "product") == "w * tanh(x)"


def test_a_selection_folds_and_unfolds_by_keys(window):
    before = window.document.diagram
    window.canvas.select(["d", "pow1", "mean1"])
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Key.Key_J, CONTROL)
    assert window.canvas.selection() == {"formula1"}
    assert formula(window, "formula1") == "d = product - t\nmean(d ** 2)"
    QTest.keyClick(window.canvas, Key.Key_J, CONTROL | SHIFT)
    after = window.document.diagram.main
    assert after.blocks == before.main.blocks and dict(after.wires) == dict(before.main.wires)
    assert window.canvas.selection() == {"d", "pow1", "mean1"}
    rects = [window.canvas.block_rect(name) for name in after.blocks]
    assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[:i])
    window.document.undo_stack.undo()
    window.document.undo_stack.undo()
    assert window.document.diagram is before


def test_what_can_not_be_folded_is_said(window):
    before = window.document.diagram
    window.canvas.select(["loss"])
    window.actions_by_name["fold"].trigger()
    assert "can't be inside a formula" in window.notice.text()
    window.canvas.select(["d"])
    for name in ("unfold", "edit_formula"):
        action = window.actions_by_name[name]
        assert not action.isEnabled()
        assert action.statusTip().endswith(" Select a Formula block first.")
    assert window.document.diagram is before


def test_it_has_a_context_menu_of_its_own(window):
    window.canvas.select(["product"])
    assert target_of(window.canvas.view) is MenuTarget.FORMULA
    assert {"edit_formula", "unfold"} <= set(CONTEXT_MENUS[MenuTarget.FORMULA])
    assert "fold" in CONTEXT_MENUS[MenuTarget.SELECTION]
    window.actions_by_name["edit_formula"].trigger()
    assert field_of(window).text() == "w * x"


def test_another_expression_keeps_the_wires_that_it_can(window):
    window.canvas.inline_editor.edit_expression("product")
    QTest.keyClicks(field_of(window), "w * y")
    QTest.keyClick(field_of(window), Key.Key_Return)
    wires = window.document.diagram.main.wires
    assert wires[PortName("product", "y")] == PortName("x", "out")
    assert PortName("product", "x") not in wires


def test_why_names_the_operation_and_leads_to_the_block(qtbot, window):
    window.canvas.inline_editor.edit_expression("product")
    QTest.keyClicks(field_of(window), "stop_gradient(w) * x")
    QTest.keyClick(field_of(window), Key.Key_Return)
    qtbot.waitUntil(lambda: window.evaluator.result.diagram is window.document.diagram)
    window.canvas.select(["w"])
    window.actions_by_name["explain"].trigger()
    qtbot.waitUntil(lambda: "product/stop_gradient1" in window.why.text())
    window.canvas.select(())
    window.reveal.path("product/stop_gradient1")
    assert window.canvas.selection() == {"product"}
