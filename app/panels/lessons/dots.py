"""The progress of a lesson: a dot for each step."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gradwire.app.services.theme import current_theme, scaled

if TYPE_CHECKING:
    from collections.abc import Sequence


_PITCH, _RADIUS = 16, 4.5


class StepDot(Enum):
    """How far a step is."""

    OPEN = auto()
    RIGHT = auto()
    WRONG = auto()


class Dots(QWidget):
    """A ring for a step that is open, a disc for one that is done, a cross for a wrong answer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.dots: tuple[StepDot, ...] = ()
        self._current = 0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_dots(self, dots: Sequence[StepDot], current: int) -> None:
        """Show the steps, and which of them is shown."""
        self.dots, self._current = tuple(dots), current
        text = self.tr("Step {0} of {1}").format(current + 1, len(self.dots))
        self.setAccessibleName(text)
        self.setToolTip(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(scaled(_PITCH) * max(1, len(self.dots)), scaled(_PITCH))

    def paintEvent(self, event: QPaintEvent) -> None:
        pitch = min(scaled(_PITCH), self.width() / max(1, len(self.dots)))
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for place, dot in enumerate(self.dots):
                centre = QPointF(pitch * (place + 0.5), self.height() / 2.0)
                self._paint(painter, dot, centre, is_current=place == self._current)

    def _paint(self, painter: QPainter, dot: StepDot, centre: QPointF, *, is_current: bool) -> None:
        theme, radius = current_theme(), _RADIUS + (1.5 if is_current else 0.0)
        colour = QColor(theme.error if dot is StepDot.WRONG else theme.accent)
        if dot is StepDot.OPEN and not is_current:
            colour = QColor(theme.ink_faint)
        painter.setPen(QPen(colour, 2.0 if is_current else 1.3))
        filled = dot is StepDot.RIGHT
        painter.setBrush(colour if filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(centre, radius, radius)
        if dot is StepDot.WRONG:
            half = radius * 0.5
            for sign in (1.0, -1.0):
                start = QPointF(centre.x() - half, centre.y() - sign * half)
                painter.drawLine(start, QPointF(centre.x() + half, centre.y() + sign * half))
