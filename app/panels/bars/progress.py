"""A bar that shows the progress of a slow job, with a button to cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar

from gradwire.app.panels.bars.banner import Banner
from gradwire.app.panels.layouts import make_row, push_button
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_WIDTH = 180


class ProgressBar(Banner):
    """Shows one job; hidden while there is none."""

    cancelled = Signal()
    """The user wants to cancel the job."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(_WIDTH)
        self.button = push_button(self, self.tr("&Cancel"), self._cancel)
        make_row(self, (self._label, 1), self.bar, self.button, margins=(12, 6, 12, 6), spacing=12)
        follow_theme(self)

    def show_progress(self, text: str, share: float) -> None:
        """Show what is being done and, if known, how much of it is done: 0 … 1."""
        if self.isHidden():
            self.bar.setAccessibleName(text)
            self.button.setEnabled(True)
            self._say(text)
            self._label.setText(f"{text} …")
        self.bar.setVisible(share > 0.0)
        self.bar.setValue(round(100 * share))

    def _cancel(self) -> None:
        self.button.setEnabled(False)
        self.cancelled.emit()
