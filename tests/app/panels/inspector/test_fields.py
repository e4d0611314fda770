from typing import Literal

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QFileDialog

from gradwire.app.panels.inspector.fields import (
    ArrayField,
    ChoiceField,
    LiteralField,
    SwitchField,
    TextField,
    field_for,
)
from gradwire.app.services.background import at_once
from gradwire.blocks.values import PortLiteral, Tensor


@pytest.fixture
def shown(qtbot):
    """Shows a field and collects what it commits."""

    def show(field):
        committed = []
        field.committed.connect(committed.append)
        qtbot.addWidget(field)
        field.show()
        qtbot.waitExposed(field)
        return committed

    return show


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (bool, SwitchField),
        (bool | None, ChoiceField),
        (Literal["a", "b"], ChoiceField),
        (int, TextField),
        (float | None, TextField),
        (str, TextField),
        (tuple[int, ...], TextField),
        (Tensor, ArrayField),
        (Tensor | None, ArrayField),
    ],
)
def test_the_type_chooses_the_editor(qtbot, annotation, kind):
    field = field_for(annotation)
    qtbot.addWidget(field)
    assert type(field) is kind


def test_a_switch_commits_at_once(qtbot, shown):
    field = SwitchField()
    committed = shown(field)
    field.show_value(True)
    qtbot.keyClick(field.box, Qt.Key.Key_Space)
    assert committed == [False]


def test_an_optional_choice_has_none(qtbot, shown):
    field = field_for(Literal["mean", "sum"] | None)
    committed = shown(field)
    field.show_value("sum")
    assert field.box.currentText() == "sum"
    field.box.setFocus()
    qtbot.keyClick(field.box, Qt.Key.Key_Home)
    assert committed == [None]


def test_the_wheel_over_a_choice_edits_nothing(qtbot, shown):
    field = ChoiceField(("a", "b"))
    committed = shown(field)
    field.show_value("a")
    event = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(field.box, event)
    assert field.box.currentText() == "a"
    assert committed == []


def test_text_is_committed_once_by_enter_and_not_again_on_leaving(qtbot, shown):
    field = TextField()
    committed = shown(field)
    field.show_value(2)
    field.line.setFocus()
    field.line.selectAll()
    qtbot.keyClicks(field.line, "1, 2")
    qtbot.keyClick(field.line, Qt.Key.Key_Return)
    field.show_value((1, 2))
    field.line.clearFocus()
    assert committed == [[1, 2]]


def test_escape_brings_the_value_back(qtbot, shown):
    field = TextField()
    committed, drafts = shown(field), []
    field.draftChanged.connect(drafts.append)
    field.show_value(2)
    field.line.setFocus()
    qtbot.keyClicks(field.line, "x")
    qtbot.keyClick(field.line, Qt.Key.Key_Escape)
    assert (field.line.text(), committed, drafts[-1]) == ("2", [], None)


def test_a_name_is_taken_as_it_is_written(qtbot, shown):
    field = field_for(str)
    committed = shown(field)
    field.show_value("")
    qtbot.keyClicks(field.line, "12")
    qtbot.keyClick(field.line, Qt.Key.Key_Return)
    assert committed == ["12"]


def test_an_array_is_typed_as_text(qtbot, shown):
    field = ArrayField()
    committed = shown(field)
    field.show_value(Tensor([[1, 2]]))
    assert field.about.text() == "1 × 2 · int64"
    field.text.setFocus()
    field.text.selectAll()
    qtbot.keyClicks(field.text, "[[1, 2], [3, 4]]")
    qtbot.keyClick(field.text, Qt.Key.Key_Return)
    assert committed == [[[1, 2], [3, 4]]]


def test_escape_brings_an_array_back_and_shift_enter_begins_a_row(qtbot, shown):
    field = ArrayField()
    committed, drafts = shown(field), []
    field.draftChanged.connect(drafts.append)
    field.show_value(Tensor([1, 2]))
    field.text.setFocus()
    field.text.selectAll()
    qtbot.keyClicks(field.text, "[[1],")
    qtbot.keyClick(field.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(field.text, "[2]]")
    assert field.text.blockCount() == 2
    assert drafts[-1] == "[[1],\n[2]]"
    qtbot.keyClick(field.text, Qt.Key.Key_Escape)
    assert field.text.toPlainText() == "[1, 2]"
    assert drafts[-1] is None
    assert committed == []


def test_an_array_is_edited_cell_by_cell(qtbot, shown):
    field = ArrayField()
    committed = shown(field)
    field.show_value(Tensor([[1.5, 2.0]]))
    qtbot.mouseClick(field.switch, Qt.MouseButton.LeftButton)
    assert field.grid.isVisible()
    assert not field.text.isVisible()
    cell = field.grid.table.index(0, 1)
    qtbot.mouseClick(
        field.grid.viewport(), Qt.MouseButton.LeftButton, pos=field.grid.visualRect(cell).center()
    )
    editor = field.grid.viewport().focusWidget() or field.grid.focusWidget()
    editor.selectAll()
    qtbot.keyClicks(editor, "7")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: committed == [[[1.5, 7]]])


def test_a_cell_takes_numbers_only(qtbot, shown):
    field = ArrayField()
    committed = shown(field)
    field.show_value(Tensor([1, 2]))
    model = field.grid.table
    assert not model.setData(model.index(0, 0), "seven")
    assert not model.setData(model.index(0, 0), "[1]")
    assert not model.setData(model.index(0, 0), "1")
    assert model.setData(model.index(0, 0), "nan")
    assert committed == [["nan", 2]]


def test_a_large_array_is_described_and_kept(qtbot, shown):
    field = ArrayField()
    committed = shown(field)
    field.show_value(Tensor([[0.0] * 100] * 100))
    assert field.text.isReadOnly()
    assert not field.switch.isVisible()
    field.text.setFocus()
    qtbot.keyClicks(field.text, "1")
    qtbot.keyClick(field.text, Qt.Key.Key_Return)
    assert committed == []


def test_a_literal_keeps_its_dtype_when_its_value_changes(qtbot, shown):
    field = LiteralField("1.0")
    committed = shown(field)
    field.show_value(PortLiteral([1, 2], "int8"))
    assert field.dtype.box.currentText() == "int8"
    field.value.line.setFocus()
    field.value.line.selectAll()
    qtbot.keyClicks(field.value.line, "3")
    qtbot.keyClick(field.value.line, Qt.Key.Key_Return)
    assert committed == [{"dtype": "int8", "value": 3}]


def test_a_literal_can_be_given_a_dtype_and_taken_away(qtbot, shown):
    field = LiteralField("1.0")
    committed = shown(field)
    field.show_value(None)
    assert field.value.line.placeholderText() == "1.0"
    assert not field.dtype.isVisible()
    field.show_value(PortLiteral(3))
    field.dtype.box.setFocus()
    qtbot.keyClick(field.dtype.box, Qt.Key.Key_End)
    field.value.line.setFocus()
    field.value.line.clear()
    qtbot.keyClick(field.value.line, Qt.Key.Key_Return)
    assert committed == [{"dtype": "float64", "value": 3}, None]


def test_an_array_is_read_by_the_given_runner(qtbot, monkeypatch, tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    monkeypatch.setattr(
        QFileDialog, "getOpenFileName", lambda *_, **__: (str(tmp_path / "a.npy"), "")
    )
    texts, committed = [], []

    def runner(text, job, *, pure=False):
        texts.append(text)
        return at_once(text, job, pure=pure)

    field = field_for(Tensor, runner)
    qtbot.addWidget(field)
    field.committed.connect(committed.append)
    field.tools.load()
    assert texts == ["Reading a.npy"]
    assert committed == [Tensor(np.ones(3))]
