"""The panel of a free prediction: what is asked, then yours beside the actual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, Sheet, make_column, push_button
from gradwire.app.panels.lessons.guess_form import GuessForm
from gradwire.app.panels.lessons.player import Outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.panels.lessons.guess_form import GuessField
    from gradwire.app.panels.lessons.player import OutcomeRow
    from gradwire.runtime.flow import State


class PredictionPanel(Sheet):
    """Offers a prediction, takes it, and compares it."""

    startRequested = Signal()
    replayRequested = Signal()
    """Play backward from the first disagreement."""
    againRequested = Signal()
    """Predict again, with other numbers."""
    endRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = labels.body()
        self.form = GuessForm(self)
        self.outcomes = Outcomes(self)
        self.start = push_button(self, self.tr("Predict"), self.startRequested.emit)
        again = self.tr("Again With Other Numbers")
        self.replay = push_button(
            self, self.tr("Play from the Difference"), self.replayRequested.emit
        )
        self.again = push_button(self, again, self.againRequested.emit)
        self.end = push_button(self, self.tr("End Prediction"), self.endRequested.emit)
        self._parts = self.start, self.form, self.outcomes, self.replay, self.again, self.end
        sheet = QWidget()
        make_column(sheet, self.text, *self._parts, STRETCH, margins=(12, 8, 12, 8), spacing=8)
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

    def show_questions(self, numbers: Mapping[str, GuessField], states: Sequence[State]) -> None:
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
        for part in self._parts:
            part.setVisible(part in parts)
        self.text.setVisible(bool(self.text.text()))
