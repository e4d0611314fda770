"""A bar that shows the progress of a slow job, with a button to cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme

_WIDTH = 180


class Progress(QFrame):
    """Shows one job; hidden while there is none."""

    cancelled = Signal()
    """The user wants to cancel the job."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._label = labels.body()
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(_WIDTH)
        self.button = QPushButton(self.tr("&Cancel"), self)
        self.button.clicked.connect(self._cancel)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.setSpacing(12)
        row.addWidget(self._label, 1)
        row.addWidget(self.bar)
        row.addWidget(self.button)
        self.hide()
        follow_theme(self)

    def show_progress(self, text: str, share: float) -> None:
        """Show what is being done and, if known, how much of it is done: 0 … 1."""
        if self.isHidden():
            self._label.setText(f"{text} …")
            self.bar.setAccessibleName(text)
            self.button.setEnabled(True)
            self.show()
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self.bar.setVisible(share > 0.0)
        self.bar.setValue(round(100 * share))

    def text(self) -> str:
        """The text shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the accent colour of ``theme``."""
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor(theme.accent_wash))
        self.setPalette(shown)

    def _cancel(self) -> None:
        self.button.setEnabled(False)
        self.cancelled.emit()
