"""A bar that shows the current trial, which is not part of the document yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from gradwire.app.panels import labels
from gradwire.app.panels.bars.banner import Banner, tint
from gradwire.app.panels.layouts import make_row, push_button
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.services.theme import Theme


_EDGE = 3
"""Width of the line along the lower edge, px."""


class TrialBar(Banner):
    """Shows the steps of a trial and their effect, with buttons to apply or discard it."""

    applied = Signal()
    discarded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._edge = QColor()
        tip = self.tr("Apply the trial to the diagram, as one undo")
        self.apply_button = push_button(self, self.tr("&Apply"), self.applied.emit, tip=tip)
        tip = self.tr("Leave the diagram as it is (Esc)")
        self.discard_button = push_button(self, self.tr("&Discard"), self.discarded.emit, tip=tip)
        self._chip = labels.plain(self.tr("What if"), self)
        self._chip.setAutoFillBackground(True)
        self._chip.setContentsMargins(8, 2, 8, 2)
        self._chip.setProperty("type", "heading")
        parts = self._chip, (self._label, 1), self.apply_button, self.discard_button
        make_row(self, *parts, margins=(12, 6, 12, 6 + _EDGE), spacing=10)
        follow_theme(self)

    def show_trial(self, text: str, *, ready: bool) -> None:
        """Show ``text``; the trial can be applied only if ``ready``."""
        labels.say(self, self._label, text)
        self.apply_button.setEnabled(ready)
        self.show()

    def set_theme(self, theme: Theme) -> None:
        """Use the accent colour of ``theme``, as a light tint and for the chip and the edge."""
        self._edge = QColor(theme.accent)
        tint(self, theme.accent_wash, theme.ink)
        tint(self._chip, theme.accent, theme.on_accent)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:  # dashed, like trials on the canvas
            pen = QPen(self._edge, _EDGE)
            pen.setDashPattern([3.0, 2.0])
            painter.setPen(pen)
            y = self.height() - _EDGE / 2.0
            painter.drawLine(QPointF(0.0, y), QPointF(self.width(), y))
