"""A line across the window while something takes its time: what, how far, and a way to stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.panels import labels
from app.services.theme import follow_theme

if TYPE_CHECKING:
    from app.services.theme import Theme

_WIDTH = 180


class Progress(QFrame):
    """Shows one piece of work; hidden while there is none."""

    cancelled = Signal()
    """The work shall end."""

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
        """Show what is done and, as far as that is known, the share that is done, 0 … 1."""
        if self.isHidden():
            self._label.setText(f"{text} …")
            self.bar.setAccessibleName(text)
            self.button.setEnabled(True)
            self.show()
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self.bar.setVisible(share > 0.0)
        self.bar.setValue(round(100 * share))

    def text(self) -> str:
        """What is shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of ``theme``: a wash of the accent."""
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor(theme.accent_wash))
        self.setPalette(shown)

    def _cancel(self) -> None:
        self.button.setEnabled(False)
        self.cancelled.emit()
