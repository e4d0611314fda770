"""The form of one step of a lesson: what is typed is checked at once, and given when left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.inputs import QuietComboBox
from gradwire.app.panels.layouts import line_edit, make_column, make_row, tool_button
from gradwire.app.panels.lessons.step_fields import (
    CHOICES,
    FieldKind,
    StepField,
    fields_of,
    read,
    written,
)
from gradwire.app.services.theme import current_theme, scaled
from gradwire.app.services.translation import editor
from gradwire.runtime.lessons import ConditionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QFocusEvent


class StepForm(QWidget):
    """The fields of one kind of step."""

    committed = Signal(str, object)
    """The key of a field, and its new value."""

    def __init__(self, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kind = kind
        self.rows = {field.key: FieldRow(field, self) for field in fields_of(kind)}
        for key, each in self.rows.items():
            each.committed.connect(partial(self.committed.emit, key))
        make_column(self, *self.rows.values(), spacing=3)

    def show_step(self, record: Mapping[str, object]) -> None:
        """Show the values of a step; what is being typed stays."""
        for key, row in self.rows.items():
            row.show_value(record.get(key))

    def pick(self, paths: Iterable[str]) -> None:
        """Add places of the canvas to the field that is being picked for."""
        for row in self.rows.values():
            if row.is_picking:
                row.pick(paths)

    @property
    def is_picking(self) -> bool:
        """Whether clicks on the canvas fill a field."""
        return any(row.is_picking for row in self.rows.values())


class FieldRow(QWidget):
    """The title of a field, the field, and what is wrong with its text."""

    committed = Signal(object)
    """The new value."""

    def __init__(self, field: StepField, parent: QWidget) -> None:
        super().__init__(parent)
        self.field = field
        title = editor.tr(field.title)
        self.edit: QPlainTextEdit | QLineEdit | QComboBox = self._edit(title)
        self.button = tool_button(
            self,
            self.tr("Pick"),
            tip=self.tr("While this is on, clicks on blocks and wires add them"),
            name=self.tr("Pick on the canvas: {0}").format(title),
            flat=False,
        )
        self.button.setCheckable(True)
        self.button.setVisible(field.is_picked)
        self._error = labels.error()
        self._value: object = None
        line = make_row(None, (self.edit, 1), self.button)
        make_column(self, labels.caption(title), line, self._error, spacing=1)

    @property
    def is_picking(self) -> bool:
        """Whether clicks on the canvas are added here."""
        return self.button.isChecked()

    def text(self) -> str:
        """The text as it is typed."""
        if isinstance(self.edit, QPlainTextEdit):
            return self.edit.toPlainText()
        if isinstance(self.edit, QComboBox):
            return str(self.edit.currentData())
        return self.edit.text()

    def show_value(self, value: object) -> None:
        """Show another value, unless the text is being edited or wrong."""
        if self.edit.hasFocus() or not self._error.isHidden():
            return
        self._value = value
        self._set_text(written(self.field, value))

    def pick(self, paths: Iterable[str]) -> None:
        """Add these paths; a field for one place takes the last."""
        several = self.field.kind is FieldKind.PLACES
        known = read(self.field, self.text()) if several else []
        chosen = list(dict.fromkeys([*known, *paths])) if several else [*paths][-1:]
        self._set_text(", ".join(chosen))
        self._commit()

    def _edit(self, title: str) -> QPlainTextEdit | QLineEdit | QComboBox:
        field = self.field
        if field.kind is FieldKind.CHOICE:
            choice = QuietComboBox(self)
            for name in field.choices:
                choice.addItem(editor.tr(CHOICES[name]), name)
            choice.setAccessibleName(title)
            choice.activated.connect(lambda: self._commit())
            return choice
        if field.has_lines:
            lines = _Lines(self)
            lines.setPlaceholderText(editor.tr(field.hint))
            lines.setAccessibleName(title)
            lines.textChanged.connect(self._check)
            lines.left.connect(self._commit)
            return lines
        line = line_edit(self, editor.tr(field.hint), title)
        line.editingFinished.connect(self._commit)
        return line

    def _set_text(self, text: str) -> None:
        if text == self.text():
            return
        if isinstance(self.edit, QPlainTextEdit):
            self.edit.setPlainText(text)
        elif isinstance(self.edit, QComboBox):
            self.edit.setCurrentIndex(max(0, self.edit.findData(text)))
        else:
            self.edit.setText(text)

    def _read(self) -> tuple[bool, object]:
        """Whether the text is right, and the value that it stands for."""
        try:
            value = read(self.field, self.text())
        except ConditionError as error:
            self._show_fault(str(error), error.offset)
            return False, None
        self._show_fault("", None)
        return True, value

    def _check(self) -> None:
        self._read()

    def _show_fault(self, text: str, offset: int | None) -> None:
        labels.show_or_hide(self._error, text)
        if isinstance(self.edit, _Lines):
            self.edit.mark(offset)

    def _commit(self) -> None:
        is_right, value = self._read()
        if is_right and (value or None) != (_plain(self._value) or None):
            self._value = value
            self.committed.emit(value)


def _plain(value: object) -> object:
    """Tuples as lists, as a form reads them."""
    return list(value) if isinstance(value, tuple) else value


class _Lines(QPlainTextEdit):
    """Several lines; ``left`` when it loses the focus. Tab goes on."""

    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setMaximumHeight(scaled(88))

    def sizeHint(self) -> QSize:
        return QSize(120, scaled(62))

    def mark(self, offset: int | None) -> None:
        """Underline the character that is wrong; None for none."""
        marks = []
        if offset is not None:
            mark, cursor = QTextEdit.ExtraSelection(), self.textCursor()
            last = max(0, len(self.toPlainText()) - 1)
            cursor.setPosition(min(offset, last))
            cursor.movePosition(
                QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor
            )
            look = QTextCharFormat()
            look.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            look.setUnderlineColor(QColor(current_theme().error))
            look.setBackground(QColor(current_theme().accent_wash))
            mark.cursor, mark.format = cursor, look
            marks.append(mark)
        self.setExtraSelections(marks)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()
