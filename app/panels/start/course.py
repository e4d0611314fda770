"""The lessons on the start page: what is next, what is done, and with how many points."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QVBoxLayout, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, tool_button
from gradwire.app.panels.start.card import PICTURE
from gradwire.app.services import theme
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.services.examples import LessonFile
    from gradwire.runtime.lessons import LessonProgress

_SIZE = QSize(PICTURE.width(), 74)
_PAD = 10


class LessonCard(QAbstractButton):
    """A lesson: its number and title, its minutes, and how far the learner is."""

    def __init__(self, lesson: LessonFile, number: int, progress: LessonProgress | None) -> None:
        super().__init__()
        self.lesson = lesson
        self.progress = progress
        self.is_next = False
        self._number = number
        self.setFixedSize(_SIZE * theme.scale() if theme.scale() > 1.0 else _SIZE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setToolTip(tooltip(lesson.goal))
        self.setAccessibleName(f"{number}. {lesson.title}, {self.state}")

    @property
    def is_done(self) -> bool:
        """Whether the learner has come to the end."""
        return self.progress is not None and self.progress.done

    @property
    def state(self) -> str:
        """How far the learner is, in words."""
        minutes = self.tr("{0} min").format(self.lesson.minutes)
        progress = self.progress
        if progress is None:
            return minutes
        if not progress.done:
            return self.tr("{0} · begun, step {1}").format(minutes, progress.last)
        points = self.tr("{0} of {1} points").format(f"{progress.best:.3g}", f"{progress.of:.3g}")
        return f"✓ {points}"

    def mark_next(self) -> None:
        """Show that this is the lesson to go on with."""
        self.is_next = True
        text = self.tr("{0}. {1}, next, {2}")
        self.setAccessibleName(text.format(self._number, self.lesson.title, self.state))

    def paintEvent(self, event: QPaintEvent) -> None:
        used, box = theme.current_theme(), QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0)
        active = self.hasFocus() or self.underMouse()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            accent = active or self.is_next
            painter.setPen(QPen(QColor(used.accent if accent else used.hairline), 1.0 + active))
            painter.setBrush(QColor(used.accent_wash if self.is_next else used.canvas))
            painter.drawRoundedRect(box, 6.0, 6.0)
            inner = self.rect().adjusted(_PAD, _PAD - 2, -_PAD, -_PAD)
            bold = theme.font(theme.scaled(theme.BODY), bold=True)
            painter.setFont(bold)
            painter.setPen(QColor(used.ink))
            wrap = int(Qt.TextFlag.TextWordWrap)
            painter.drawText(inner, wrap, f"{self._number}. {self.lesson.title}")
            small = theme.font(theme.scaled(theme.SMALL))
            painter.setFont(small)
            painter.setPen(QColor(used.accent if self.is_done else used.ink_soft))
            line = inner.adjusted(0, inner.height() - QFontMetrics(small).height(), 0, 0)
            painter.drawText(line, int(Qt.AlignmentFlag.AlignLeft), self.state)


class LessonList(QWidget):
    """The lesson to go on with and those after it; on request all lessons, in groups.

    The first lesson that is not done is the next one.
    """

    lessonRequested = Signal(object)
    """Path of a lesson to play."""
    toggled = Signal()
    """All lessons are shown, or only the next ones again."""

    def __init__(
        self, lessons: Sequence[LessonFile], progress: Mapping[str, LessonProgress], columns: int
    ) -> None:
        super().__init__()
        self.cards = [
            LessonCard(lesson, number, progress.get(lesson.title))
            for number, lesson in enumerate(lessons, start=1)
        ]
        self._columns = columns
        self._grids: list[tuple[QGridLayout, list[LessonCard]]] = []
        self.all = tool_button(self, "", flat=False, kind="switch")
        self.all.setCheckable(True)
        self.all.toggled.connect(self._toggle)
        done = sum(card.is_done for card in self.cards)
        text = self.tr("Course · {0} of {1} done").format(done, len(self.cards))
        head = make_row(None, labels.heading(text), self.all, STRETCH)
        head.setAlignment(self.all, Qt.AlignmentFlag.AlignBottom)
        self._strip = _grid()
        self._groups = QWidget(self)
        make_column(self, head, self._strip, self._groups)
        groups = make_column(self._groups)
        for title, members in groupby(self.cards, key=lambda card: card.lesson.course):
            self._add_group(groups, title, list(members))
        for card in self.cards:
            card.clicked.connect(lambda _=False, path=card.lesson.path: self._open(path))
        if self.next is not None:
            self.next.mark_next()
        self._toggle(False)

    @property
    def next(self) -> LessonCard | None:
        """The first lesson that is not done; None if all are."""
        return next((card for card in self.cards if not card.is_done), None)

    @property
    def shown(self) -> list[LessonCard]:
        """The cards that are shown: all, or a row from the next one on."""
        if self.all.isChecked():
            return self.cards
        first = 0 if self.next is None else self.cards.index(self.next)
        start = max(0, min(first, len(self.cards) - self._columns))
        return self.cards[start : start + self._columns]

    def fill(self, columns: int) -> None:
        """Arrange the cards in so many columns."""
        self._columns = columns
        for grid, cards in ((self._strip, self.cards), *self._grids):
            for card in cards:
                grid.removeWidget(card)
        shown, shows_all = self.shown, self.all.isChecked()
        for grid, cards in self._grids if shows_all else ((self._strip, shown),):
            for place, card in enumerate(cards):
                grid.addWidget(card, place // columns, place % columns)
        for card in self.cards:
            card.setVisible(card in shown)
        self._groups.setVisible(shows_all)

    def _toggle(self, shows_all: bool) -> None:
        self.all.setText(self.tr("Show fewer") if shows_all else self.tr("All lessons"))
        self.fill(self._columns)
        self.toggled.emit()

    def _add_group(self, column: QVBoxLayout, course: str, cards: list[LessonCard]) -> None:
        for card in cards:
            card.setParent(self)
        done = sum(card.is_done for card in cards)
        names = {"foundations": self.tr("Foundations"), "real world": self.tr("Real world")}
        text = self.tr("{0} · {1} of {2} done").format(names.get(course, course), done, len(cards))
        column.addWidget(labels.heading(text))
        grid = _grid()
        column.addLayout(grid)
        self._grids.append((grid, cards))

    def _open(self, path: object) -> None:
        self.lessonRequested.emit(path)


def _grid() -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(20)  # as that of the examples below
    grid.setVerticalSpacing(10)
    grid.setAlignment(Qt.AlignmentFlag.AlignLeft)
    return grid
