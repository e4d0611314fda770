"""A bar with the current step of the tour."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.bars.banner import tint
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
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
        self.title = labels.strong()
        self.text = labels.rich()
        self.back = push_button(self, self.tr("&Back"), self.backRequested.emit)
        self.next = push_button(self, "", self.nextRequested.emit)
        self.end = push_button(self, "", self.endRequested.emit)
        head = make_row(None, self.title, self.place, STRETCH, spacing=8)
        words = make_column(None, head, self.text, spacing=2)
        parts = (words, 1), self.back, self.next, self.end
        make_row(self, *parts, margins=(12, 8, 12, 8), spacing=8)
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
        tint(self, theme.accent_wash, theme.ink)

    def _announce(self) -> None:
        self.show()
        said = f"{self.title.text()}. {re.sub('<[^>]*>', '', self.text.text())}"
        self.setAccessibleDescription(said)
        labels.announce(self, said)
