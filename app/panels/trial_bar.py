"""A line across the window while something is tried: nothing of it is in the document yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from app.panels import labels

if TYPE_CHECKING:
    from app.theme import Theme


class TrialBar(QFrame):
    """Says what is tried and what it changes; asks to apply it or to drop it."""

    applied = Signal()
    discarded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._label = labels.body()
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self.apply_button = QPushButton(self.tr("&Apply"), self)
        self.apply_button.setToolTip(self.tr("Make the trial a change of the diagram, one undo"))
        self.discard_button = QPushButton(self.tr("&Discard"), self)
        self.discard_button.setToolTip(self.tr("Leave the diagram as it is (Esc)"))
        self.apply_button.clicked.connect(self.applied)
        self.discard_button.clicked.connect(self.discarded)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._label, 1)
        row.addWidget(self.apply_button)
        row.addWidget(self.discard_button)
        self.hide()

    def tell(self, text: str, *, ready: bool) -> None:
        """Show ``text``; only what is ``ready`` can be applied."""
        if text != self._label.text():
            self._label.setText(text)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self.apply_button.setEnabled(ready)
        self.show()

    def text(self) -> str:
        """What is shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of ``theme``: a wash of the accent."""
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor(theme.accent_wash))
        self.setPalette(shown)
