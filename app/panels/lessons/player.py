"""The panel of a lesson: one step at a time, with what it asks for and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, Sheet, make_column, make_row, push_button
from gradwire.app.panels.lessons.dots import Dots
from gradwire.app.panels.lessons.guess_form import GuessForm
from gradwire.app.panels.lessons.options import Options
from gradwire.app.panels.lessons.outcomes import Outcomes
from gradwire.app.panels.lessons.reading import line, to_html
from gradwire.runtime.lessons import unmarked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.panels.lessons.dots import StepDot
    from gradwire.app.panels.lessons.outcomes import OutcomeRow
    from gradwire.runtime.lessons import GoalState


class LessonPanel(QWidget):
    """Shows a step. What it asks for is a form for guesses, options to choose, or goals."""

    backRequested = Signal()
    nextRequested = Signal()
    hintRequested = Signal()
    playRequested = Signal()
    saveRequested = Signal()
    """The answers are to be written to a file."""
    endRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Lesson"))
        self.title = labels.body()
        self.title.setProperty("type", "strong")
        self.dots = Dots(self)
        self.text, self.hints, self.after = (self._reading() for _ in range(3))
        self.goals = labels.rich()
        self.form = GuessForm(self)
        self.options = Options(self)
        self.outcomes = Outcomes(self)
        self.problem = labels.error()
        self.play = push_button(self, self.tr("&Play Again"), self.playRequested.emit)
        self.hint = push_button(self, self.tr("&Hint"), self.hintRequested.emit)
        self.back = push_button(self, self.tr("&Back"), self.backRequested.emit)
        self.next = push_button(self, self.tr("&Next"), self.nextRequested.emit)
        self.save = push_button(self, self.tr("Save &Answers…"), self.saveRequested.emit)
        self.end = push_button(self, self.tr("&Leave Lesson"), self.endRequested.emit)
        self._lay_out()

    def _lay_out(self) -> None:
        sheet = QWidget()
        parts = (
            self.text, self.play, self.goals, self.form, self.options, self.problem,
            self.outcomes, self.after, self.hints,
        )  # fmt: skip
        make_column(sheet, *parts, STRETCH, margins=(14, 6, 14, 8), spacing=10)
        self.sheet = Sheet(self)
        self.sheet.setWidget(sheet)
        head = make_column(None, self.title, self.dots, margins=(14, 6, 14, 0))
        ways = make_row(None, self.back, self.hint, self.next, margins=(14, 0, 14, 0))
        ends = make_row(None, self.save, self.end, margins=(14, 0, 14, 0))
        make_column(self, head, (self.sheet, 1), ways, ends, margins=(0, 0, 0, 8))

    def show_step(self, title: str, dots: Sequence[StepDot], current: int, text: str) -> None:
        """Show the text of a step; what it asks for is shown after this."""
        self.title.setText(title)
        self.dots.show_dots(dots, current)
        self._read(self.text, text)
        for part in (self.play, self.form, self.options, self.goals, self.outcomes):
            part.hide()
        self._read(self.after, "")
        self._read(self.hints, "")
        self.show_problem("")
        self.sheet.verticalScrollBar().setValue(0)
        labels.announce(self, f"{self.dots.accessibleName()}. {unmarked(text)}")

    def show_dots(self, dots: Sequence[StepDot], current: int) -> None:
        """Show how far the steps are."""
        self.dots.show_dots(dots, current)

    def show_goals(self, goals: Sequence[GoalState], *, reasons: bool) -> None:
        """Show which goals are met, and if wanted why the others are not."""
        lines = []
        for goal in goals:
            why = f"<br>&nbsp;&nbsp;&nbsp;{line(goal.reason)}" if reasons and goal.reason else ""
            lines.append(f"{'✓' if goal.met else '○'} {line(goal.words)}{why}")
        self.goals.setText("<br>".join(lines))
        self.goals.setVisible(bool(goals))

    def show_hints(self, hints: Sequence[str], *, more: bool) -> None:
        """Show the hints that were taken, and offer another if there are more."""
        head = self.tr("Hint {0}")
        numbered = [f"**{head.format(i)}.** {hint}" for i, hint in enumerate(hints, 1)]
        self._read(self.hints, "\n\n".join(numbered))
        self.hint.setEnabled(more)
        if hints:
            labels.announce(self, unmarked(numbered[-1]))
            self.sheet.ensureWidgetVisible(self.hints)

    def show_outcome(self, rows: Sequence[OutcomeRow], after: str) -> None:
        """Show what became of the answer, and the text after it."""
        self.outcomes.show_rows(rows)
        self._read(self.after, after)
        self.show_problem("")

    def show_answer(self, text: str) -> None:
        """Show what is right in place of the text after the answer."""
        self._read(self.after, text)
        labels.announce(self, unmarked(text))

    def show_problem(self, text: str) -> None:
        """Say what is no answer, or why a step can't be played; empty if nothing."""
        labels.show_or_hide(self.problem, text)

    def _reading(self) -> QLabel:
        label = labels.rich()
        label.setProperty("type", "reading")
        return label

    def _read(self, label: QLabel, text: str) -> None:
        label.setText(to_html(text))
        label.setVisible(bool(text))
