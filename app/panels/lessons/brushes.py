"""The brushes that states are painted with: a button for each, with its lane, words and key."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QToolButton, QWidget

from gradwire.app.canvas.paint.legend import SAMPLE, paint_lane
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.theme import LIGHT, follow_theme, scale
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QResizeEvent

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.flow import State

_SIZE = QSize(round(SAMPLE) + 24, 24)
"""Size of the picture of a lane at normal text size, px."""
_SMALLEST = 0.5
"""What a picture shrinks to where large words leave less room, as part of that size."""
_BESIDE = 24
"""Room around the picture and the words of a button, px."""


class Brushes(QWidget):
    """One brush is chosen at a time; a wire that is clicked gets its state."""

    chosen = Signal(object)
    """The State of the brush that was chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._group = QButtonGroup(self)
        self._column = make_column(self, spacing=1)
        self.states: tuple[State, ...] = ()
        self.buttons: list[QToolButton] = []
        follow_theme(self)

    def show_states(self, states: Sequence[State]) -> None:
        """Offer these states, the first of them chosen."""
        for button in self.buttons:
            self._group.removeButton(button)
            button.hide()
            button.deleteLater()
        self.states = tuple(states)
        self.buttons = [self._button(place, state) for place, state in enumerate(states)]
        if self.buttons:
            self.buttons[0].setChecked(True)
        self._draw()

    @property
    def state(self) -> State | None:
        """The state of the chosen brush; None if none is offered."""
        checked = (s for s, b in zip(self.states, self.buttons, strict=True) if b.isChecked())
        return next(checked, None)

    def choose(self, number: int) -> State | None:
        """Choose a brush by its number from 1 on; None if there is no such brush."""
        if not 1 <= number <= len(self.buttons):
            return None
        self.buttons[number - 1].setChecked(True)
        return self.states[number - 1]

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self._draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw()

    def _button(self, place: int, state: State) -> QToolButton:
        button, words = QToolButton(self), editor.tr(state.row.title)
        button.setText(f"{place + 1}  {words}")
        button.setToolTip(editor.tr(state.row.spoken))
        button.setAccessibleName(self.tr("Brush {0}: {1}").format(place + 1, words))
        button.setCheckable(True)
        button.setAutoRaise(True)
        button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.clicked.connect(partial(self.chosen.emit, state))
        self._group.addButton(button)
        self._column.addWidget(button)
        return button

    def _draw(self) -> None:
        factor, ratio = self._factor(), self.devicePixelRatioF()
        for state, button in zip(self.states, self.buttons, strict=True):
            button.setIcon(_lane_icon(state, self._theme, factor, ratio))
            button.setIconSize(_SIZE * factor)

    def _factor(self) -> float:
        """How large pictures are: as the text, or as they fit beside the longest words."""
        if not self.buttons:
            return scale()
        for button in self.buttons:
            button.ensurePolished()
        words = max(b.fontMetrics().horizontalAdvance(b.text()) for b in self.buttons)
        room = self.width() - words - _BESIDE
        return min(scale(), max(room / _SIZE.width(), _SMALLEST))


def _lane_icon(state: State, theme: Theme, factor: float, ratio: float) -> QIcon:
    """A wire with the lane of a state beside it."""
    picture = QPixmap(_SIZE * factor * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(factor, factor)
        paint_lane(painter, state, _SIZE.height() / 2.0 - 4.0, theme)
    return QIcon(picture)
