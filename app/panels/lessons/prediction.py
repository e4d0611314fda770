"""The panel of a free prediction: what is asked, then yours beside the actual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QVBoxLayout, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.lessons.guess_form import GuessForm
from gradwire.app.panels.lessons.outcomes import Outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.app.panels.lessons.guess_form import Field
    from gradwire.app.panels.lessons.outcomes import OutcomeRow
    from gradwire.runtime.flow import State


class PredictionPanel(QScrollArea):
    """Offers a prediction, takes it, and compares it."""

    startRequested = Signal()
    replayRequested = Signal()
    """Play backward from the first disagreement."""
    againRequested = Signal()
    """Predict again, with other numbers."""
    endRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = labels.body()
        self.form = GuessForm(self)
        self.outcomes = Outcomes(self)
        self.start = self._button(self.tr("Predict"), self.startRequested.emit)
        self.replay = self._button(self.tr("Play from the Difference"), self.replayRequested.emit)
        self.again = self._button(self.tr("Again With Other Numbers"), self.againRequested.emit)
        self.end = self._button(self.tr("End Prediction"), self.endRequested.emit)
        sheet = QWidget()
        column = QVBoxLayout(sheet)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        parts = (
            self.text, self.start, self.form, self.outcomes, self.replay, self.again, self.end,
        )  # fmt: skip
        for part in parts:
            column.addWidget(part)
        column.addStretch(1)
        self.setWidget(sheet)
        self.show_idle()

    def show_idle(self, reason: str = "") -> None:
        """Offer a prediction, or say why there is none."""
        idle = self.tr(
            "Values, gradients and states are hidden; you say what they will be. Then they are "
            "compared, and the difference explained."
        )
        labels.say(self, self.text, reason or idle)
        self._show(self.start)

    def show_questions(self, numbers: Mapping[str, Field], states: Sequence[State]) -> None:
        """Ask for gradients by name, and offer states to paint."""
        self.form.ask(numbers, states)
        parts = [self.tr("Type each gradient: a number, or None where no route leads.")]
        if states:
            parts.append(self.tr("Or paint what the wires bring back: each right one earns, each "
                                 "wrong one costs."))  # fmt: skip
        labels.say(self, self.text, " ".join(parts))
        self._show(self.form, self.end)

    def show_outcomes(
        self, rows: Sequence[OutcomeRow], summary: str, *, replays: bool, again: bool
    ) -> None:
        """Compare; playing from the difference, and other numbers, are offered if there are any."""
        labels.say(self, self.text, "")
        parts: list[QWidget] = [self.outcomes, self.end]
        parts += [self.replay] if replays else []
        parts += [self.again] if again else []
        self._show(*parts)
        self.outcomes.show_rows(rows, summary)

    def _show(self, *parts: QWidget) -> None:
        everything = (
            self.start, self.form, self.outcomes, self.replay, self.again, self.end,
        )  # fmt: skip
        for part in everything:
            part.setVisible(part in parts)
        self.text.setVisible(bool(self.text.text()))

    def _button(self, text: str, pressed: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.clicked.connect(lambda: pressed())
        return button
