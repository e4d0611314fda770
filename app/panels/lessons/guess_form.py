"""The form of a prediction: fields for numbers, brushes for wires, confidence, and the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QSlider, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.inputs import QuietWheel
from gradwire.app.panels.layouts import line_edit, make_column, push_button
from gradwire.app.panels.lessons.brushes import Brushes

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

    from gradwire.runtime.flow import State

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
