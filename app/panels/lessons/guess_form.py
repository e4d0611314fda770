"""The form of a prediction: fields for numbers, brushes for wires, confidence, and the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QButtonGroup,
    QFormLayout,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QToolButton,
    QWidget,
)

from gradwire.app.canvas.paint.legend import SAMPLE, paint_lane
from gradwire.app.panels import labels
from gradwire.app.panels.inspector.inputs import QuietWheel
from gradwire.app.panels.layouts import line_edit, make_column, push_button
from gradwire.app.services.theme import LIGHT, follow_theme, scale
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
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


LEAST, MOST, USUAL = 50, 100, 70
"""Limits and beginning of the confidence, %."""


class GuessField(NamedTuple):
    """What a field asks for, and what may be typed into it."""

    words: str
    wanted: str


class GuessForm(QWidget):
    """Asks for numbers by name and for states of wires; the answer is given once."""

    typed = Signal(str, str)
    """The name of a number, and the text that was typed for it."""
    committed = Signal(int)
    """The answer is given, with a confidence in %."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, QLineEdit] = {}
        self._numbers = QFormLayout()
        self._numbers.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.brushes = Brushes(self)
        self.painted = labels.caption()
        self._sure = labels.caption()
        self.confidence = QSlider(Qt.Orientation.Horizontal, self)
        self.confidence.setRange(LEAST, MOST)
        self.confidence.setSingleStep(5)
        self.confidence.setPageStep(10)
        QuietWheel(self.confidence)
        self.confidence.setAccessibleName(self.tr("How sure you are, in percent"))
        self.confidence.valueChanged.connect(self._show_confidence)
        self.commit = push_button(
            self,
            self.tr("Commit"),
            lambda: self.committed.emit(self.confidence.value()),
            tip=self.tr("Give the answer: only once, then it is compared"),
        )
        self.problem = labels.error()
        asked = self._numbers, self.brushes, self.painted
        make_column(self, *asked, self._sure, self.confidence, self.problem, self.commit)
        self.ask({}, ())

    def ask(self, numbers: Mapping[str, GuessField], states: Sequence[State]) -> None:
        """Ask for numbers by name, and offer states to paint."""
        self.setEnabled(True)
        while self._numbers.rowCount():
            self._numbers.removeRow(0)
        self.fields = {name: self._field(name, each) for name, each in numbers.items()}
        self.brushes.show_states(states)
        self.brushes.setVisible(bool(states))
        self.painted.setVisible(bool(states))
        self.problem.hide()
        self.confidence.setValue(USUAL)
        self._show_confidence()

    def show_typed(self, name: str, text: str) -> None:
        """Show what was typed on the canvas."""
        if self.fields[name].text() != text:
            self.fields[name].setText(text)

    def show_painted(self, count: int, of: int) -> None:
        """Show how many wires are painted."""
        text = self.tr("{0} of {1} wires painted. Click a wire, or Tab to it and press a number.")
        self.painted.setText(text.format(count, of))

    def show_problem(self, text: str) -> None:
        """Say what is missing or is no number; empty if nothing."""
        labels.show_or_hide(self.problem, text)

    def focus_first(self) -> None:
        """Give the keys to the first field, or else to the brushes."""
        first: QObject = next(iter(self.fields.values()), self.brushes)
        if isinstance(first, QWidget):
            first.setFocus()

    def _field(self, name: str, asked: GuessField) -> QLineEdit:
        field = line_edit(self, asked.wanted, f"{asked.words}: {asked.wanted}")
        field.textEdited.connect(partial(self.typed.emit, name))
        field.returnPressed.connect(self.commit.click)
        self._numbers.addRow(labels.plain(asked.words), field)
        return field

    def _show_confidence(self) -> None:
        text = self.tr("How sure are you? {0} %").format(self.confidence.value())
        self._sure.setText(text)
