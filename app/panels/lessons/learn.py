"""The dock in which one learns: a prediction, or a lesson."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedWidget

from gradwire.app.services.theme import scaled


class Learn(QStackedWidget):
    """Shows one of several panels, which are added when they are first wanted.

    Before that it takes as much room, so that the panels around it stay where they are.
    """

    def sizeHint(self) -> QSize:
        return super().sizeHint() if self.count() else _room(203, 228)

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint() if self.count() else _room(121, 69)


def _room(around: int, text: int) -> QSize:
    """What panels of lessons take, of which some grows with the text; px."""
    return QSize(96 + scaled(174), around + scaled(text))
