"""The bar above the canvas while it shows costs: the scale of heat, the call, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QFrame, QWidget

from gradwire.app.canvas.paint.blocks.costs import heat_colour
from gradwire.app.canvas.state.costs import HeatMeasure, value_text
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import close_button, make_row, push_button
from gradwire.app.services.theme import current_theme
from gradwire.runtime.publish import bytes_text, time_text

if TYPE_CHECKING:
    from gradwire.app.canvas.state.costs import PageCosts
    from gradwire.runtime.engine.profile import Profile

_STOPS = 8
_NAMED = 2
"""How many of the most expensive blocks are named."""


class CostBar(QFrame):
    """The legend of the costs on the canvas, with the choice of time or memory."""

    closed = Signal()
    measureChanged = Signal()
    againRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice = QComboBox(self)
        self.choice.addItem(self.tr("Time"), HeatMeasure.TIME)
        self.choice.addItem(self.tr("Memory"), HeatMeasure.MEMORY)
        self.choice.setAccessibleName(self.tr("What the colours show"))
        self.choice.currentIndexChanged.connect(self.measureChanged)
        self.scale = _Scale(self)
        self.most = labels.plain(parent=self)
        self._text = labels.body()
        self.again = push_button(self, self.tr("Measure Again"), self.againRequested.emit)
        close = close_button(self, self.tr("Hide the costs"), self.closed.emit)
        scale = self.choice, labels.plain("0", self), self.scale, self.most
        parts = *scale, (self._text, 1), self.again, close
        make_row(self, *parts, margins=(12, 4, 6, 4), spacing=8)
        self.hide()

    @property
    def measure(self) -> HeatMeasure:
        """What the colours show."""
        return HeatMeasure(self.choice.currentData())

    def wait(self) -> None:
        """Show that the costs are being measured."""
        self.again.setEnabled(False)
        labels.say(self, self._text, self.tr("Measuring …"))

    def show_costs(self, profile: Profile, costs: PageCosts, *, is_current: bool) -> None:
        """Show the scale and the call; unless ``is_current``, the diagram has changed since."""
        self.again.setEnabled(True)
        self.most.setText(value_text(costs.most, costs.measure))
        call = self.tr("One call: {0}, {1}.").format(
            time_text(profile.call), bytes_text(profile.bytes)
        )
        self._text.setToolTip(
            self.tr("Median of {0} calls; memory of all results").format(profile.runs)
        )
        hottest = ", ".join(f"{name} {costs.label(name)}" for name in costs.hottest(_NAMED))
        parts = [call, self.tr("Most: {0}.").format(hottest)] if hottest else [call]
        if not is_current:
            parts.append(self.tr("Measured before the last change."))
        labels.say(self, self._text, " ".join(parts))

    def text(self) -> str:
        """The text shown."""
        return self._text.text()


class _Scale(QWidget):
    """The colours from no cost to the largest."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedSize(QSize(96, 12))
        self.setAccessibleName(self.tr("Scale of the colours"))

    def paintEvent(self, event: QPaintEvent) -> None:
        gradient = QLinearGradient(0.0, 0.0, self.width(), 0.0)
        for stop in range(_STOPS + 1):
            value = stop / _STOPS
            gradient.setColorAt(value, heat_colour(value**0.5, current_theme()))
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), QColor(current_theme().canvas))
            painter.fillRect(self.rect(), gradient)
