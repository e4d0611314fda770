"""Fields that edit one value, chosen by a parameter's type."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from gradwire.app.canvas.state.formatting import dimensions
from gradwire.app.panels import labels, notation
from gradwire.app.panels.inspector.array_tools import ArrayTools
from gradwire.app.panels.inspector.grid import ArrayGrid
from gradwire.app.panels.inspector.inputs import QuietComboBox, RowsEdit
from gradwire.app.panels.layouts import make_column, make_row, tool_button
from gradwire.app.services.background import JobRunner, at_once
from gradwire.blocks.values import DTYPES, PortLiteral, Tensor

LARGE = 1_000
"""Number of elements above which an array is described instead of edited as text."""


class ValueField(QWidget):
    """Edits one value. ``committed`` emits JSON data; the diagram then calls ``show_value``.

    The draft is text that is not committed; a refused draft stays until Escape.
    """

    committed = Signal(object)
    draftChanged = Signal(object)
    """The uncommitted text; None once there is none."""
    failed = Signal(str)
    """Why a value could not be loaded or generated."""

    def show_value(self, value: object, *, keep_text: bool = False) -> None:
        """Show a value of the diagram; with ``keep_text``, keep the draft."""
        raise NotImplementedError  # each field has its own

    def show_mixed(self) -> None:
        """Show that the blocks have different values."""
        raise NotImplementedError  # each field has its own

    def show_draft(self, text: str) -> None:
        """Restore a refused draft; does nothing in fields without text."""

    def line_edit(self) -> QWidget | None:
        """The widget that its text is typed into; None without text."""
        return None

    def number(self) -> np.generic | None:
        """The number that the field shows, as a numpy scalar; None if it shows anything else."""

    def data_of(self, number: np.generic) -> object:
        """JSON data for another number in place of the one shown."""
        return number.item()


class SwitchField(ValueField):
    """A boolean."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = QCheckBox(self)
        _fill(self, self.box)
        self.box.clicked.connect(self._toggled)

    def show_value(self, value: object, *, keep_text: bool = False) -> None:
        self.box.setTristate(False)
        self.box.setChecked(bool(value))

    def show_mixed(self) -> None:
        self.box.setTristate(True)
        self.box.setCheckState(Qt.CheckState.PartiallyChecked)

    def _toggled(self, on: bool) -> None:
        self.committed.emit(on)


class ChoiceField(ValueField):
    """One of a few values."""

    def __init__(self, choices: tuple[object, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.box = QuietComboBox(self)
        for choice in choices:
            self.box.addItem(self.tr("none") if choice in (None, "") else str(choice), choice)
        _fill(self, self.box)
        self.box.activated.connect(lambda index: self.committed.emit(self.box.itemData(index)))

    def show_value(self, value: object, *, keep_text: bool = False) -> None:
        self.box.setCurrentIndex(self.box.findData(value))

    def show_mixed(self) -> None:
        self.box.setPlaceholderText(self.tr("mixed"))
        self.box.setCurrentIndex(-1)


class TextField(ValueField):
    """One line of text: a number, tuple or name. Enter or losing focus commits, Escape reverts."""

    def __init__(
        self, *, plain: bool = False, optional: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._plain = plain
        self._shown = ""
        self._value: object = None
        self.line = QLineEdit(self)
        self.empty = self.tr("none") if optional else ""
        """What stands in the field while it has no text."""
        self.line.setPlaceholderText(self.empty)
        self.line.editingFinished.connect(self._commit)
        self.line.textEdited.connect(self.draftChanged.emit)
        self.line.installEventFilter(self)
        _fill(self, self.line)

    def show_value(self, value: object, *, keep_text: bool = False) -> None:
        self._shown, self._value = notation.written(value), value
        self.line.setPlaceholderText(self.empty)
        if not keep_text:
            self.line.setText(self._shown)
            self.line.setCursorPosition(0)

    def show_mixed(self) -> None:
        self.show_value(None)
        self.line.setPlaceholderText(self.tr("mixed"))

    def show_draft(self, text: str) -> None:
        self.line.setText(text)

    def line_edit(self) -> QWidget:
        return self.line

    def number(self) -> np.generic | None:
        is_number = isinstance(self._value, int | float) and not isinstance(self._value, bool)
        return np.asarray(self._value).flat[0] if is_number else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if _is_escape(event) and self.line.text() != self._shown:
            self.line.setText(self._shown)
            self.draftChanged.emit(None)
            return True
        return super().eventFilter(watched, event)

    def _commit(self) -> None:
        text = self.line.text()
        if text != self._shown:
            self.committed.emit(text if self._plain else notation.parse(text))


class ArrayField(ValueField):
    """An array as text, or cell by cell in a grid if it has at most two axes."""

    def __init__(self, runner: JobRunner = at_once, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ""
        self._tensor: Tensor | None = None
        self.text = RowsEdit(self)
        self.text.committed.connect(self._commit)
        self.text.textChanged.connect(self._emit_draft)
        self.text.installEventFilter(self)
        self.grid = ArrayGrid(self)
        self.grid.committed.connect(self.committed)
        self.about = labels.plain(parent=self)
        self.about.setEnabled(False)
        self.switch = tool_button(self, "▦", tip=self.tr("Edit cell by cell"))
        self.switch.setCheckable(True)
        self.switch.toggled.connect(self._show_side)
        self.tools = ArrayTools(runner, self)
        self.tools.made.connect(self.committed)
        self.tools.failed.connect(self.failed)
        foot = make_row(None, (self.about, 1), self.switch, self.tools)
        make_column(self, self.text, self.grid, foot, spacing=2)
        self.setFocusProxy(self.text)

    def show_value(self, value: Any, *, keep_text: bool = False) -> None:
        tensor = self._tensor = None if value is None else Tensor(value)
        large = tensor is not None and tensor.array.size > LARGE
        self._shown = (
            notation.glimpse(tensor.array) if tensor and large else notation.written(tensor)
        )
        self.text.setReadOnly(large)
        self.text.setPlaceholderText("")
        if not keep_text:
            self.text.show_text(self._shown)
        self.about.setText(f"{dimensions(tensor.shape)} · {tensor.dtype}" if tensor else "")
        self.tools.show_tensor(tensor)
        griddable = tensor is not None and not large and 1 <= tensor.array.ndim <= 2
        self.grid.show_array(tensor.array if tensor and griddable else None)
        self.switch.setVisible(griddable)
        self._show_side(self.switch.isChecked() and griddable)

    def show_mixed(self) -> None:
        self.show_value(None)
        self.text.setPlaceholderText(self.tr("mixed"))

    def show_draft(self, text: str) -> None:
        self.switch.setChecked(False)
        self.text.show_text(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if _is_escape(event) and self.text.toPlainText() != self._shown:
            self.text.show_text(self._shown)
            self.draftChanged.emit(None)
            return True
        return super().eventFilter(watched, event)

    def line_edit(self) -> QWidget:
        return self.text

    def number(self) -> np.generic | None:
        is_scalar = self._tensor is not None and not self._tensor.shape
        return self._tensor.array.flat[0] if self._tensor is not None and is_scalar else None

    def data_of(self, number: np.generic) -> object:
        return Tensor(number)

    def _show_side(self, grid: bool) -> None:
        self.text.setVisible(not grid)
        self.grid.setVisible(grid)

    def _emit_draft(self) -> None:
        self.draftChanged.emit(self.text.toPlainText())

    def _commit(self) -> None:
        text = self.text.toPlainText()
        if text != self._shown:
            self.committed.emit(notation.parse(text))


class LiteralField(ValueField):
    """The literal of an unwired input: value and dtype. Without a value the default applies."""

    def __init__(self, default: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.value = TextField()
        self.value.empty = default
        self.dtype = ChoiceField((None, *DTYPES))
        self.dtype.box.setItemText(0, self.tr("auto"))
        self.dtype.setToolTip(
            self.tr("Dtype of the literal; with auto, a number adopts that of its operands")
        )
        make_row(self, (self.value, 1), self.dtype, spacing=4)
        self._literal: PortLiteral | None = None
        self.value.committed.connect(self._commit_value)
        self.value.draftChanged.connect(self.draftChanged)
        self.dtype.committed.connect(self._commit_dtype)

    def show_value(self, value: object, *, keep_text: bool = False) -> None:
        self._literal = None if value is None else PortLiteral(value)
        shown = self._literal.tensor if self._literal else None
        self.value.show_value(shown, keep_text=keep_text)
        self.dtype.show_value(
            self._literal.dtype if self._literal and self._literal.typed else None
        )
        self.dtype.setVisible(self._literal is not None)

    def show_draft(self, text: str) -> None:
        self.value.show_draft(text)

    def line_edit(self) -> QWidget:
        return self.value.line

    def number(self) -> np.generic | None:
        is_scalar = self._literal is not None and not self._literal.tensor.shape
        return self._literal.array.flat[0] if self._literal is not None and is_scalar else None

    def data_of(self, number: np.generic) -> object:
        return self._with_dtype(number.item())

    def _commit_value(self, value: object) -> None:
        self.committed.emit(self._with_dtype(value))

    def _with_dtype(self, value: object) -> object:
        typed = self._literal is not None and self._literal.typed and value is not None
        dtype = self._literal.dtype if self._literal else None
        return {"dtype": dtype, "value": value} if typed else value

    def _commit_dtype(self, dtype: str | None) -> None:
        if self._literal is not None:
            value = self._literal.tensor.to_json()
            self.committed.emit({"dtype": dtype, "value": value} if dtype else value)


def field_for(annotation: object, runner: JobRunner = at_once) -> ValueField:
    """A field for a parameter of this type: switch, choice, text or array.

    ``runner`` runs the loading of arrays from files.
    """
    options, optional = _unwrap(annotation)
    if options == (Tensor,):
        return ArrayField(runner)
    if options == (bool,):
        return ChoiceField((None, True, False)) if optional else SwitchField()
    if len(options) == 1 and get_origin(options[0]) is Literal:
        return ChoiceField(((None,) if optional else ()) + get_args(options[0]))
    return TextField(plain=options == (str,) and not optional, optional=optional)


def _unwrap(annotation: object) -> tuple[tuple[object, ...], bool]:
    """The members of a union without None, and whether None was one."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return (annotation,), False
    members = get_args(annotation)
    return tuple(m for m in members if m is not type(None)), type(None) in members


def _fill(field: QWidget, inner: QWidget) -> None:
    make_row(field, inner)
    field.setFocusProxy(inner)


def _is_escape(event: QEvent) -> bool:
    return (
        isinstance(event, QKeyEvent)
        and event.type() == QEvent.Type.KeyPress
        and event.key() == Qt.Key.Key_Escape
    )
