"""A bar that asks a question without blocking the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gradwire.app.panels.bars.banner import Banner
from gradwire.app.panels.layouts import make_row, push_button
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QPushButton, QWidget


class OfferBar(Banner):
    """Shows a question with a button per answer; any answer closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._row = make_row(self, (self._label, 1), margins=(12, 6, 12, 6))
        follow_theme(self)

    def ask(self, text: str, answers: Mapping[str, Callable[[], object]]) -> None:
        """Show ``text`` with these answers, and announce it to screen readers."""
        self.withdraw()
        for title, act in answers.items():
            button = push_button(self, title, self.withdraw)
            button.clicked.connect(lambda _=False, act=act: act())
            self._row.addWidget(button)
            self.buttons.append(button)
        self._say(text)

    def withdraw(self) -> None:
        """Remove the question without an answer."""
        self.hide()
        self._label.clear()
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = []
