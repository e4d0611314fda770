"""A bar with the current step of the tour."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


class TourBar(QFrame):
    """Says what to do next, beside the diagram; hidden while no tour is under way."""

    backRequested = Signal()
    nextRequested = Signal()
    """Go on: the step is done, or is to be done for the user."""
    endRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self.setAccessibleName(self.tr("Tour"))
        self.place = labels.plain()
        self.place.setProperty("type", "caption")
        self.title = labels.plain()
        self.title.setProperty("type", "strong")
        self.text = labels.rich()
        self.back = QPushButton(self.tr("&Back"), self)
        self.next = QPushButton(self)
        self.end = QPushButton(self)
        self.back.clicked.connect(self.backRequested)
        self.next.clicked.connect(self.nextRequested)
        self.end.clicked.connect(self.endRequested)
        self._lay_out()
        self.hide()
        follow_theme(self)

    def show_step(self, place: str, title: str, text: str, *, is_done: bool) -> None:
        """Show a step: ``3 of 6``, its title and its text, which may have bold words."""
        self.place.setText(place)
        self.title.setText(title)
        self.text.setText(text)
        self.next.setText(self.tr("&Next") if is_done else self.tr("&Skip"))
        self.next.setToolTip(
            self.tr("Go on with the tour") if is_done else self.tr("Let the tour do this step")
        )
        self.next.show()
        self.end.setText(self.tr("En&d Tour"))
        self._announce()

    def show_end(self, title: str, text: str) -> None:
        """Show that the tour is complete."""
        self.place.setText("")
        self.title.setText(title)
        self.text.setText(text)
        self.next.hide()
        self.end.setText(self.tr("&Finish"))
        self._announce()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the accent colour of ``theme``."""
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor(theme.accent_wash))
        shown.setColor(QPalette.ColorRole.WindowText, QColor(theme.ink))
        self.setPalette(shown)

    def _announce(self) -> None:
        self.show()
        said = f"{self.title.text()}. {re.sub('<[^>]*>', '', self.text.text())}"
        self.setAccessibleDescription(said)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.title)
        head.addWidget(self.place)
        head.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addLayout(head)
        words.addWidget(self.text)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        row.addLayout(words, 1)
        for button in (self.back, self.next, self.end):
            row.addWidget(button)
