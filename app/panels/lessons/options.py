"""The options of a transfer question, one of which is chosen and committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QLabel, QRadioButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column, make_row, push_button
from gradwire.app.panels.lessons.reading import to_html
from gradwire.runtime.lessons import unmarked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QMouseEvent


class Options(QWidget):
    """A button for each option; the answer is given once."""

    committed = Signal(int)
    """The place of the chosen option, from 0 on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QRadioButton] = []
        self._group = QButtonGroup(self)
        self._rows = make_column(None)
        self.commit = push_button(
            self, self.tr("Commit"), lambda: self.committed.emit(self._group.checkedId())
        )
        self._group.idToggled.connect(lambda: self.commit.setEnabled(True))
        make_column(self, self._rows, self.commit)

    def ask(self, texts: Sequence[str]) -> None:
        """Offer these options, none of which is chosen."""
        for button in self.buttons:
            self._group.removeButton(button)
        labels.clear(self._rows)
        self.buttons = [self._add(place, text) for place, text in enumerate(texts)]
        self.commit.setEnabled(False)
        self.setEnabled(True)

    def _add(self, place: int, text: str) -> QRadioButton:
        button, words = QRadioButton(self), _Words(text, self)
        button.setAccessibleName(unmarked(text))
        words.pressed.connect(button.click)
        self._group.addButton(button, place)
        self._rows.addLayout(make_row(None, button, (words, 1)))
        return button


class _Words(QLabel):
    """The text of an option; a click on it chooses the option."""

    pressed = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(to_html(text), parent)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setProperty("type", "reading")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()
        event.accept()
