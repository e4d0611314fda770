"""A bar that shows a problem until it is closed, without blocking the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


class Notice(QFrame):
    """Shows the latest problem until it is closed or resolved."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._label = labels.body()
        close = QToolButton(self)
        close.setText("✕")
        close.setAutoRaise(True)
        close.setToolTip(self.tr("Close this message"))
        close.setAccessibleName(close.toolTip())
        close.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        row.addWidget(self._label, 1)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()
        follow_theme(self)

    def show_message(self, text: str) -> None:
        """Show ``text``, and announce it to screen readers."""
        self._label.setText(text)
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def dismiss(self) -> None:
        """Remove the message."""
        self._label.clear()
        self.hide()

    def text(self) -> str:
        """The message; empty if none is shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the error colour of ``theme``."""
        ground, error = QColor(theme.surface), QColor(theme.error)
        wash = [0.86 * g + 0.14 * e for g, e in zip(_rgb(ground), _rgb(error), strict=True)]
        shown = QPalette(self.palette())
        shown.setColor(QPalette.ColorRole.Window, QColor.fromRgbF(*wash))
        self.setPalette(shown)


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()
