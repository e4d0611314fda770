"""A bar that shows a problem until it is closed, without blocking the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gradwire.app.panels.bars.banner import Banner, tint
from gradwire.app.panels.layouts import close_button, make_row
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.services.theme import Theme


class Notice(Banner):
    """Shows the latest problem until it is closed or resolved."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        close = close_button(self, self.tr("Close this message"), self.dismiss)
        parts = make_row(self, (self._label, 1), close, margins=(12, 6, 6, 6))
        parts.setAlignment(close, Qt.AlignmentFlag.AlignTop)
        follow_theme(self)

    def show_message(self, text: str) -> None:
        """Show ``text``, and announce it to screen readers."""
        self._say(text)

    def dismiss(self) -> None:
        """Remove the message."""
        self._label.clear()
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the error colour of ``theme``."""
        ground, error = QColor(theme.surface), QColor(theme.error)
        wash = [0.86 * g + 0.14 * e for g, e in zip(_rgb(ground), _rgb(error), strict=True)]
        tint(self, QColor.fromRgbF(*wash))


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()
