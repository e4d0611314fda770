"""A small picture of a learning rate over the updates of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from gradwire.runtime.diagram import AnySchedule

_HEIGHT = 40
_POINTS = 160
_MARGIN = 3.0


class RatePreview(QWidget):
    """Draws the rates of a schedule; hidden while the rate is constant."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rates: list[float] = []
        """The rates that are drawn, evenly spread over the updates."""
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_rates(self, schedule: AnySchedule, lr: float, updates: int) -> None:
        """Draw the rates of this many updates."""
        from gradwire.runtime.training import rate

        count = min(_POINTS, updates)
        at = [round(i * (updates - 1) / max(1, count - 1)) for i in range(count)]
        self.rates = [rate(schedule, lr, n) for n in at]
        self.setVisible(schedule.kind != "constant")
        text = self.tr("From {0} to {1} in {2} updates").format(
            number(self.rates[0]), number(self.rates[-1]), updates
        )
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, _HEIGHT)

    def paintEvent(self, event: Any) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        role = QPalette.ColorRole
        painter.fillRect(self.rect(), self.palette().color(role.Base))
        top = max(self.rates, default=0.0) or 1.0
        width, height = self.width() - 2 * _MARGIN, self.height() - 2 * _MARGIN
        step = width / max(1, len(self.rates) - 1)
        line = QPolygonF(
            [
                QPointF(_MARGIN + i * step, _MARGIN + height * (1 - value / top))
                for i, value in enumerate(self.rates)
            ]
        )
        painter.setPen(QPen(self.palette().color(role.Highlight), 1.5))
        painter.drawPolyline(line)
        painter.end()
