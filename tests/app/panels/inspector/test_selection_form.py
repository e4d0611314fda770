from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gradwire.app.panels.inspector.selection_form import SelectionForm
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.diagram import Diagram, Page, SetParameters
from tests.app.document.test_diff import seed


@pytest.fixture
def form(window):
    window.document._begin(seed(), None)
    window.canvas.select({"mul1", "stop", "add1"})
    inner = window.inspector.widget()
    assert isinstance(inner, SelectionForm)
    return inner


def test_the_selection_is_written_as_formula_and_as_python(form):
    assert form.text.toPlainText() == "stop = stop_gradient(3 * b)\nadd1 = stop + a"
    form.language.setCurrentIndex(1)
    assert form.text.toPlainText().startswith("import gradwire as gw\n")
    assert "stop = gw.stop_gradient(3 * b, name='stop')" in form.text.toPlainText()


def test_copy_takes_what_is_shown(form, qtbot):
    qtbot.mouseClick(form.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == form.text.toPlainText()


def test_an_edit_is_written_at_once_and_the_language_stays(form, window):
    form.language.setCurrentIndex(1)
    assert window.document.apply(SetParameters("mul1", {"a": 5}))
    assert window.inspector.widget() is form
    assert "5 * b" in form.text.toPlainText()


def test_many_blocks_are_not_written(qtbot, monkeypatch):
    monkeypatch.setattr("gradwire.app.panels.inspector.selection_form._MOST_WRITTEN", 1)
    form = SelectionForm(seed(), "main", ["a", "b"])
    qtbot.addWidget(form)
    assert "Too many blocks" in form.text.toPlainText() and not form.copy.isEnabled()


class TestEditing:
    @pytest.fixture
    def window(self, window):
        w, v = Variable(value=[1.0, 2.0]), Variable(value=[3.0, 4.0], trainable=False, scale=2.0)
        page = Page({"w": w, "v": v, "add1": Add(), "c": Constant(value=1.0)})
        window.document._begin(Diagram({"main": page}), None)
        window.canvas.select({"w", "v"})
        return window

    @pytest.fixture
    def form(self, window):
        return window.inspector.widget()

    def blocks(self, window):
        return [window.document.diagram.main.blocks[name] for name in ("w", "v")]

    def test_equal_values_are_shown_and_others_said_to_be_mixed(self, form):
        assert form.fields["dtype"].box.currentText() == "float32"
        assert form.fields["scale"].line.text() == ""
        assert form.fields["scale"].line.placeholderText() == "mixed"
        assert form.fields["trainable"].box.checkState() == Qt.CheckState.PartiallyChecked
        assert form.fields["value"].text.placeholderText() == "mixed"

    def test_all_are_edited_as_one_undo(self, window, form, qtbot):
        line = form.fields["scale"].line
        line.setFocus()
        qtbot.keyClicks(line, "0.5")
        qtbot.keyClick(line, Qt.Key.Key_Return)
        assert [block.scale for block in self.blocks(window)] == [0.5, 0.5]
        assert window.inspector.widget() is form
        assert (line.text(), line.placeholderText()) == ("0.5", "")
        assert window.document.undo_stack.count() == 1
        assert window.document.undo_stack.undoText() == "Change scale of 2 blocks"
        window.document.undo_stack.undo()
        assert [block.scale for block in self.blocks(window)] == [1.0, 2.0]
        assert line.placeholderText() == "mixed"

    def test_a_mixed_switch_is_turned_on_for_all(self, window, form, qtbot):
        box = form.fields["trainable"].box
        qtbot.keyClick(box, Qt.Key.Key_Space)
        assert all(block.trainable for block in self.blocks(window))
        qtbot.keyClick(box, Qt.Key.Key_Space)
        assert not any(block.trainable for block in self.blocks(window))

    def test_what_a_block_refuses_changes_none_and_is_explained(self, window, form, qtbot):
        before, line = window.document.diagram, form.fields["scale"].line
        line.setFocus()
        qtbot.keyClicks(line, "wide")
        qtbot.keyClick(line, Qt.Key.Key_Return)
        assert window.document.diagram is before
        assert not form.errors["scale"].isHidden()
        assert line.text() == "wide"

    def test_a_field_that_is_left_alone_changes_nothing(self, window, form, qtbot):
        before = window.document.diagram
        for name in ("scale", "seed"):
            form.fields[name].line.setFocus()
            qtbot.keyClick(form.fields[name].line, Qt.Key.Key_Return)
        form.fields["value"].text.setFocus()
        qtbot.keyClick(form.fields["value"].text, Qt.Key.Key_Return)
        assert window.document.diagram is before

    def test_arrows_step_a_number_that_all_share(self, window, form, qtbot):
        window.edit.change(SetParameters("v", {"scale": 1.0}))
        line = form.fields["scale"].line
        line.setFocus()
        qtbot.keyClick(line, Qt.Key.Key_Up)
        assert [block.scale for block in self.blocks(window)] == [1.1, 1.1]

    def test_only_what_all_have_is_offered(self, window):
        window.canvas.select({"w", "c"})
        form = window.inspector.widget()
        assert "trainable" not in form.fields
        window.canvas.select({"w", "add1"})
        assert not window.inspector.widget().fields

    def test_a_shape_that_does_not_fit_is_refused(self, window, form, qtbot):
        before, line = window.document.diagram, form.fields["shape"].line
        line.setFocus()
        qtbot.keyClicks(line, "3")
        qtbot.keyClick(line, Qt.Key.Key_Return)
        assert window.document.diagram is before
        assert form.errors["shape"].text()
