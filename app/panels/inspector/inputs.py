"""Inputs that leave the wheel to the panel around them, and a text as high as its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent, QKeyEvent

_FRAME = 12
"""Total height of frame, padding and margins around the rows of a text, px."""


class QuietComboBox(QComboBox):
    """A combo box that ignores the wheel, so that scrolling the panel never edits a value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(6)

    def wheelEvent(self, event: QEvent) -> None:
        event.ignore()


class QuietWheel(QObject):
    """Keeps the wheel from an input without the focus, so that scrolling the panel never edits a
    value.
    """

    def __init__(self, input: QWidget) -> None:
        super().__init__(input)
        self._input = input
        input.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel would give it the focus
        input.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and not self._input.hasFocus():
            event.ignore()
            return True
        return False


class RowsEdit(QPlainTextEdit):
    """A text field as high as its rows. Enter commits, Shift+Enter starts a new row."""

    committed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("type", "numbers")
        self.document().setDocumentMargin(1)
        self.setLineWrapMode(self.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._fit)
        self._fit()

    def show_text(self, text: str) -> None:
        """Set the text without emitting ``textChanged``."""
        with QSignalBlocker(self):
            self.setPlainText(text)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.textCursor().insertBlock()
        else:
            self.committed.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.committed.emit()

    def _fit(self) -> None:
        rows = min(max(self.blockCount(), 1), 8)
        self.setFixedHeight(rows * self.fontMetrics().lineSpacing() + _FRAME)
        scrolls = self.blockCount() > rows
        policy = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(  # it would cover a single row
            policy.ScrollBarAsNeeded if self.blockCount() > 1 else policy.ScrollBarAlwaysOff
        )
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if scrolls else policy.ScrollBarAlwaysOff
        )
