"""A bar that shows the current trial, which is not part of the document yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


_EDGE = 3
"""Width of the line along the lower edge, px."""


class TrialBar(QFrame):
    """Shows the steps of a trial and their effect, with buttons to apply or discard it."""

    applied = Signal()
    discarded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._edge = QColor()
        self._label = labels.body()
        self.apply_button = QPushButton(self.tr("&Apply"), self)
        self.apply_button.setToolTip(self.tr("Apply the trial to the diagram, as one undo"))
        self.discard_button = QPushButton(self.tr("&Discard"), self)
        self.discard_button.setToolTip(self.tr("Leave the diagram as it is (Esc)"))
        self.apply_button.clicked.connect(self.applied)
        self.discard_button.clicked.connect(self.discarded)
        self._chip = labels.plain(self.tr("What if"), self)
        self._chip.setAutoFillBackground(True)
        self._chip.setContentsMargins(8, 2, 8, 2)
        self._chip.setProperty("type", "heading")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6 + _EDGE)
        row.setSpacing(10)
        row.addWidget(self._chip)
        row.addWidget(self._label, 1)
        row.addWidget(self.apply_button)
        row.addWidget(self.discard_button)
        self.hide()
        follow_theme(self)

    def show_trial(self, text: str, *, ready: bool) -> None:
        """Show ``text``; the trial can be applied only if ``ready``."""
        labels.say(self, self._label, text)
        self.apply_button.setEnabled(ready)
        self.show()

    def text(self) -> str:
        """The text shown."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use the accent colour of ``theme``, as a light tint and for the chip and the edge."""
        self._edge = QColor(theme.accent)
        for widget, ground, ink in (
            (self, theme.accent_wash, theme.ink),
            (self._chip, theme.accent, theme.on_accent),
        ):
            shown = QPalette(widget.palette())
            shown.setColor(QPalette.ColorRole.Window, QColor(ground))
            shown.setColor(QPalette.ColorRole.WindowText, QColor(ink))
            widget.setPalette(shown)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:  # dashed, like trials on the canvas
            pen = QPen(self._edge, _EDGE)
            pen.setDashPattern([3.0, 2.0])
            painter.setPen(pen)
            y = self.height() - _EDGE / 2.0
            painter.drawLine(QPointF(0.0, y), QPointF(self.width(), y))
