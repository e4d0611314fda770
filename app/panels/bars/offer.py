"""A bar that asks a question without blocking the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


class Offer(QFrame):
    """Shows a question with a button per answer; any answer closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self.buttons: list[QPushButton] = []
        self._label = labels.body()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 6, 12, 6)
        self._row.addWidget(self._label, 1)
        self.hide()
        follow_theme(self)

    def ask(self, text: str, answers: Mapping[str, Callable[[], object]]) -> None:
        """Show ``text`` with these answers, and announce it to screen readers."""
        self.withdraw()
        self._label.setText(text)
        for title, act in answers.items():
            button = QPushButton(title, self)
            button.clicked.connect(self.withdraw)
            button.clicked.connect(lambda _=False, act=act: act())
            self._row.addWidget(button)
            self.buttons.append(button)
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def withdraw(self) -> None:
        """Remove the question without an answer."""
        self.hide()
        self._label.clear()
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = []

    def text(self) -> str:
        """The question; empty if none is shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor(theme.accent_wash))
        self.setPalette(shown)
