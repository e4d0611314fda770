"""The panel of a lesson: one step at a time, with what it asks for and what became of it."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QButtonGroup, QLabel, QRadioButton, QSizePolicy, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, Sheet, make_column, make_row, push_button
from gradwire.app.panels.lessons.guess_form import GuessForm
from gradwire.app.services.theme import current_theme, scaled
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.lessons import MARKED, unmarked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QMouseEvent

    from gradwire.runtime.lessons import GoalState


def to_html(text: str) -> str:
    """A text of a lesson as HTML; blank lines part its paragraphs."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part]
    return "".join(f"<p>{line(part)}</p>" for part in paragraphs)


def line(text: str) -> str:
    """A text in one paragraph as HTML."""
    parts, at = [], 0
    for match in MARKED.finditer(text):
        parts.append(escape(text[at : match.start()]))
        bold, code = match[1], match[2]
        parts.append(f"<b>{line(bold)}</b>" if bold else f"<code>{escape(code)}</code>")
        at = match.end()
    return "".join([*parts, escape(text[at:])]).replace("\n", " ")


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


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One judged guess: what it was about, both answers, and what to say about a difference."""

    title: str
    yours: str
    actual: str
    points: float
    right: bool
    misconception: str = ""
    feedback: str = ""
    place: str = ""


class Outcomes(QWidget):
    """A row for each guess, and their points together."""

    placeRequested = Signal(str)
    """Path of the block or wire that feedback points at."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = make_column(self, spacing=6)

    def show_rows(self, rows: Sequence[OutcomeRow], summary: str = "") -> None:
        """Show rows below a summary, and announce them."""
        labels.clear(self._column)
        if summary:
            self._column.addWidget(labels.strong(summary))
        for row in rows:
            self._column.addWidget(self._row(row))
        self.setVisible(bool(rows))
        if rows:
            labels.announce(self, ". ".join([summary, *map(spoken, rows)]))

    def text(self) -> str:
        """All text shown, line by line."""
        items = (self._column.itemAt(place) for place in range(self._column.count()))
        widgets = (item.widget() for item in items if item is not None)
        return "\n".join(widget.property("said") or widget.text() for widget in widgets)  # type: ignore[union-attr]  # all of them are labels

    def _row(self, row: OutcomeRow) -> QWidget:
        sign = "✓" if row.right else "✗"
        head = f"{sign} <b>{escape(row.title)}</b>"
        yours, actual = (f"<b>{escape(text)}</b>" for text in (row.yours, row.actual))
        both = self.tr("yours {0}, actual {1}").format(yours, actual) if row.actual else yours
        points = self.tr("{0} of 4 points").format(f"{row.points:g}")
        lines = [f"{head}: {both} · {points}"]
        if row.misconception:
            lines.append(f"<i>{escape(row.misconception)}</i>")
        if row.feedback:
            lines.append(line(row.feedback))
        if row.place:
            lines.append(labels.link(row.place, self.tr("Show {0}").format(row.place)))
        label = labels.rich("<br>".join(lines))
        label.setProperty("said", spoken(row))
        label.linkActivated.connect(partial(self.placeRequested.emit))
        return label


def spoken(row: OutcomeRow) -> str:
    """A row as one line of plain text."""
    sign = "✓" if row.right else "✗"
    both = editor.tr("yours {0}, actual {1}").format(row.yours, row.actual)
    head = f"{sign} {row.title}: {both if row.actual else row.yours}"
    return ". ".join(filter(None, [head, row.misconception, unmarked(row.feedback)]))


class Options(QWidget):
    """A button for each option; the answer is given once."""

    committed = Signal(int)
    """The place of the chosen option, from 0 on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QRadioButton] = []
        self._group = QButtonGroup(self)
        self._rows = make_column(None)
        self.commit = push_button(
            self, self.tr("Commit"), lambda: self.committed.emit(self._group.checkedId())
        )
        self._group.idToggled.connect(lambda: self.commit.setEnabled(True))
        make_column(self, self._rows, self.commit)

    def ask(self, texts: Sequence[str]) -> None:
        """Offer these options, none of which is chosen."""
        for button in self.buttons:
            self._group.removeButton(button)
        labels.clear(self._rows)
        self.buttons = [self._add(place, text) for place, text in enumerate(texts)]
        self.commit.setEnabled(False)
        self.setEnabled(True)

    def _add(self, place: int, text: str) -> QRadioButton:
        button, words = QRadioButton(self), _Words(text, self)
        button.setAccessibleName(unmarked(text))
        words.pressed.connect(button.click)
        self._group.addButton(button, place)
        self._rows.addLayout(make_row(None, button, (words, 1)))
        return button


class _Words(QLabel):
    """The text of an option; a click on it chooses the option."""

    pressed = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(to_html(text), parent)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setProperty("type", "reading")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()
        event.accept()


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
