"""The bars that say something above the canvas without blocking the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QFrame, QWidget

from gradwire.app.panels import labels

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


class Banner(QFrame):
    """A tinted bar with a sentence; hidden while it has nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._label = labels.body()
        self.hide()

    def text(self) -> str:
        """The sentence shown; empty for none."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the accent colour of ``theme``."""
        tint(self, theme.accent_wash)

    def _say(self, text: str) -> None:
        """Show the bar with another sentence, and announce it to screen readers."""
        self._label.setText(text)
        self.show()
        labels.announce(self, text)


def tint(widget: QWidget, ground: str | QColor, ink: str | None = None) -> None:
    """Give a widget a ground, and a colour for its text unless that stays."""
    shown = QPalette(widget.palette())
    shown.setColor(QPalette.ColorRole.Window, QColor(ground))
    if ink is not None:
        shown.setColor(QPalette.ColorRole.WindowText, QColor(ink))
    widget.setPalette(shown)
