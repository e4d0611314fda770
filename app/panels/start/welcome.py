"""The start page of an empty window: a formula, lessons, examples and recent files as cards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import groupby, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QPushButton, QVBoxLayout, QWidget

from gradwire.app.canvas.input.dropping import PASSES_DROPS
from gradwire.app.evaluation.worker import Worker
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import (
    STRETCH,
    Sheet,
    line_edit,
    make_column,
    make_row,
    push_button,
    tool_button,
)
from gradwire.app.panels.start.card import PICTURE, DiagramCard, PictureContent, Version, read
from gradwire.app.services import theme
from gradwire.app.services.examples import SUFFIX, Example, ExampleGroup
from gradwire.app.services.plain_text import tooltip, unmarked
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


_GAP = 20
_MOST_COLUMNS = 4
HEADINGS: Mapping[ExampleGroup, str] = MappingProxyType(
    {
        ExampleGroup.TRAINING: editor.noop("Examples that train"),
        ExampleGroup.BASICS: editor.noop("Basics"),
        ExampleGroup.STOPS: editor.noop("Where stops are used"),
        ExampleGroup.LARGE: editor.noop("Large"),
    }
)
"""Titles of the groups of examples."""


class Welcome(Sheet):
    """A page on the canvas; drops on it reach the canvas."""

    lessonRequested = Signal(object)
    """Path of a lesson to play."""
    exampleRequested = Signal(object, str)
    """Path of an example to open as a copy, and in which variant of its study."""
    fileRequested = Signal(object)
    """Path of a file to open."""
    tourRequested = Signal()
    formulaRequested = Signal(str)
    """A formula to make a diagram of."""

    def __init__(
        self,
        canvas: QWidget,
        examples: Callable[[], Sequence[Example]],
        lessons: Callable[[], Sequence[LessonFile]],
    ) -> None:
        """Asks for ``examples`` and ``lessons`` when it is shown: that reads all their files."""
        super().__init__(canvas)
        self._canvas = canvas
        self._examples = examples
        self._lessons = lessons
        self.progress: Mapping[str, LessonProgress] = {}
        """How far the user is in each lesson, by its title."""
        self.course: LessonList | None = None
        self.next_lesson: QPushButton | None = None
        self._columns = 1
        self.cards: list[DiagramCard] = []
        """All cards, in the order shown."""
        self._grids: list[tuple[QGridLayout, list[DiagramCard]]] = []
        self._reader = Worker(self)  # so that the window answers meanwhile
        self._reader.finished.connect(self._draw)
        self.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        sheet = QWidget()
        self._column = make_column(sheet, margins=None, spacing=8)
        self.setWidget(sheet)
        sheet.setAutoFillBackground(False)
        self.setProperty(PASSES_DROPS, True)
        canvas.installEventFilter(self)

    def show_recent(self, recent: Sequence[Path], *, tour_taken: bool = False) -> None:
        """Rebuild the page, with these files after the formula, and the tour before it."""
        labels.clear(self._column)
        self.cards, self._grids = [], []
        title = labels.plain(self.tr("Gradwire"))
        title.setProperty("type", "title")
        self._column.addWidget(title)
        self._column.addWidget(
            labels.body(self.tr("Drag a block from the palette onto this page, or press Tab and "
                                "type its name; ? shows all shortcuts. Examples open as copies."))
        )  # fmt: skip
        self._add_tour(taken=tour_taken)
        self._add_formula()
        files = [self._file_card(path) for path in recent]
        self._add_cards(self.tr("Recent files"), files)
        self._add_course()
        for group, members in groupby(sorted(self._examples(), key=_rank), key=_rank):
            self._add_cards(editor.tr(HEADINGS[ExampleGroup(group)]), self._example_cards(members))
        self._column.addStretch(1)
        for card in self.cards:
            card.picture.contentWanted.connect(partial(self._read, runs=card.runs))
            card.start()
        self._place()

    def open(self, recent: Sequence[Path], *, tour_taken: bool = False) -> None:
        """Show the page with these files, unless it is shown already."""
        if not self.isVisible():
            self.show_recent(recent, tour_taken=tour_taken)
        self.show()

    def show_mistake(self, text: str) -> None:
        """Say below the formula why it can't be a diagram; empty if it can."""
        labels.show_or_hide(self.mistake, text)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._canvas and event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _add_tour(self, *, taken: bool) -> None:
        text = self.tr("Take the tour again") if taken else self.tr("Take a tour: three minutes")
        tip = self.tr("Learn by doing, on a diagram of its own")
        lesson = [] if self._next is None else [self._next_button(self._next)]
        self.tour = push_button(self, text, self.tourRequested.emit, tip=tip)
        self._column.addSpacing(4)
        self._column.addLayout(make_row(None, *lesson, self.tour, STRETCH))

    def _next_button(self, lesson: LessonFile) -> QPushButton:
        """The first thing to do: the first lesson that is not done."""
        text = self.tr("Next lesson: {0} ({1} min)").format(lesson.title, lesson.minutes)
        start = partial(self.lessonRequested.emit, lesson.path)
        button = push_button(self, unmarked(text), start, tip=tooltip(lesson.goal))
        button.setDefault(True)
        self.next_lesson = button
        return button

    @property
    def _next(self) -> LessonFile | None:
        """The first lesson that is not done."""
        done = {title for title, progress in self.progress.items() if progress.done}
        return next((lesson for lesson in self._lessons() if lesson.title not in done), None)

    def _add_course(self) -> None:
        """The next lessons, and on request all of them, each with how far the user is."""
        self.course = None
        if lessons := self._lessons():
            course = self.course = LessonList(lessons, self.progress, self._columns)
            course.lessonRequested.connect(self.lessonRequested)
            course.toggled.connect(self._place)
            self._column.addWidget(course)

    def _add_formula(self) -> None:
        hint = self.tr("New from a formula: {0}").format("loss = mean((x @ W + b - t)**2)")
        self.formula = line_edit(self, hint, self.tr("New from a formula"))
        self.formula.setMinimumHeight(30)
        self.mistake = labels.error()
        self.formula.textEdited.connect(lambda: self.show_mistake(""))
        self.formula.returnPressed.connect(
            lambda: self.formulaRequested.emit(self.formula.text().strip())
        )
        self._column.addSpacing(4)
        self._column.addWidget(self.formula)
        self._column.addWidget(self.mistake)

    def _add_cards(self, heading: str, cards: list[DiagramCard]) -> None:
        if not cards:
            return
        self._column.addWidget(labels.heading(heading))
        grid = QGridLayout()
        grid.setSpacing(_GAP)
        grid.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._column.addLayout(grid)
        self.cards += cards
        self._grids.append((grid, cards))
        _fill(grid, cards, self._columns)

    def _example_cards(self, examples: Iterable[Example]) -> list[DiagramCard]:
        """A card for each example; the versions of one share a card."""
        made = []
        by_stem: dict[str, list[Example]] = {}
        for example in examples:
            by_stem.setdefault(example.stem, []).append(example)
        for members in by_stem.values():
            versions = sorted(members, key=_version)
            shared = _shared([example.title for example in versions])
            titles = [v.title.removeprefix(shared).strip() for v in versions]
            labelled = titles if len(versions) > 1 else [""]
            shown = [
                Version(e.path, t, _first_sentence(e.description))
                for e, t in zip(versions, labelled, strict=True)
            ]
            if len(versions) == 1 and versions[0].variant:
                shown = self._toggled(versions[0])
            card = DiagramCard(shared, shown, runs=True)
            card.opened.connect(self.exampleRequested)
            made.append(card)
        return made

    def _toggled(self, example: Example) -> list[Version]:
        """An example as its file has it, and with its stops toggled."""
        names = self.tr("stopped"), self.tr("unstopped")
        own, other = names if example.is_opened else names[::-1]
        text = _first_sentence(example.description)
        return [
            Version(example.path, own, text),
            Version(example.path, other, text, example.variant),
        ]

    def _file_card(self, path: Path) -> DiagramCard:
        name = path.name.removesuffix(SUFFIX)
        card = DiagramCard(name, [Version(path, "", str(path.parent))], runs=False)
        card.opened.connect(self.fileRequested)
        return card

    def _read(self, path: Path, variant: str, runs: bool) -> None:
        """Read the content of a picture in the background."""
        job = partial(read, path, runs=runs, variant=variant)
        self._reader.submit(f"{path}\n{variant}", lambda superseded: job())

    def _draw(self, name: str, content: object) -> None:
        path, _, variant = name.rpartition("\n")
        found = content if isinstance(content, PictureContent) else None
        for card in self.cards:
            card.picture.show_content(Path(path), found, variant)

    def shutdown(self) -> None:
        """Read no more; the page goes with its window."""
        self._reader.shutdown()

    def _place(self) -> None:
        """Centre the page, with as many columns of cards as the canvas has room for."""
        room = self._canvas.size()
        fitting = (room.width() - 48 + _GAP) // (PICTURE.width() + _GAP)
        columns = min(max(fitting, 1), _MOST_COLUMNS)
        if columns != self._columns:
            self._columns = columns
            for grid, cards in self._grids:
                _fill(grid, cards, columns)
            if self.course is not None:
                self.course.fill(columns)
        least = self._column.minimumSize().width() + 24  # buttons may be wider than the cards
        width = min(max(columns * (PICTURE.width() + _GAP) + 24, least), room.width() - 16)
        height = min(self._column.totalHeightForWidth(width) + 16, room.height() - 16)
        self.resize(max(width, 0), max(height, 0))
        self.move(QPoint((room.width() - width) // 2, max((room.height() - height) // 2, 8)))


def _fill(grid: QGridLayout, cards: Sequence[DiagramCard], columns: int) -> None:
    for card in cards:
        grid.removeWidget(card)
    for place, card in enumerate(cards):
        grid.addWidget(card, place // columns, place % columns, Qt.AlignmentFlag.AlignTop)


def _shared(titles: Sequence[str]) -> str:
    """The words that all titles begin with."""
    words = zip(*(title.split() for title in titles), strict=False)
    return " ".join(same[0] for same in takewhile(lambda same: len(set(same)) == 1, words))


def _rank(example: Example) -> int:
    return example.group.value


def _version(example: Example) -> str:
    """Sorts the versions of an example, the stopped one first."""
    return example.path.name


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
