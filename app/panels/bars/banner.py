"""The bars above the canvas that say something without blocking the window."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QProgressBar, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, close_button, make_column, make_row, push_button
from gradwire.app.services.theme import follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QPushButton

    from gradwire.app.services.theme import Theme


class Banner(QFrame):
    """A tinted bar with a sentence; hidden while it has nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self._label = labels.body()
        self.hide()

    def text(self) -> str:
        """The sentence shown; empty for none."""
        return self._label.text()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the accent colour of ``theme``."""
        tint(self, theme.accent_wash)

    def _say(self, text: str) -> None:
        """Show the bar with another sentence, and announce it to screen readers."""
        self._label.setText(text)
        self.show()
        labels.announce(self, text)


def tint(widget: QWidget, ground: str | QColor, ink: str | None = None) -> None:
    """Give a widget a ground, and a colour for its text unless that stays."""
    shown = QPalette(widget.palette())
    shown.setColor(QPalette.ColorRole.Window, QColor(ground))
    if ink is not None:
        shown.setColor(QPalette.ColorRole.WindowText, QColor(ink))
    widget.setPalette(shown)


class Notice(Banner):
    """Shows the latest problem until it is closed or resolved."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        close = close_button(self, self.tr("Close this message"), self.dismiss)
        parts = make_row(self, (self._label, 1), close, margins=(12, 6, 6, 6))
        parts.setAlignment(close, Qt.AlignmentFlag.AlignTop)
        follow_theme(self)

    def show_message(self, text: str) -> None:
        """Show ``text``, and announce it to screen readers."""
        self._say(text)

    def dismiss(self) -> None:
        """Remove the message."""
        self._label.clear()
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the error colour of ``theme``."""
        ground, error = QColor(theme.surface), QColor(theme.error)
        wash = [0.86 * g + 0.14 * e for g, e in zip(_rgb(ground), _rgb(error), strict=True)]
        tint(self, QColor.fromRgbF(*wash))


def _rgb(colour: QColor) -> tuple[float, float, float]:
    return colour.redF(), colour.greenF(), colour.blueF()


class OfferBar(Banner):
    """Shows a question with a button per answer; any answer closes it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._row = make_row(self, (self._label, 1), margins=(12, 6, 12, 6))
        follow_theme(self)

    def ask(self, text: str, answers: Mapping[str, Callable[[], object]]) -> None:
        """Show ``text`` with these answers, and announce it to screen readers."""
        self.withdraw()
        for title, act in answers.items():
            button = push_button(self, title, self.withdraw)
            button.clicked.connect(lambda _=False, act=act: act())
            self._row.addWidget(button)
            self.buttons.append(button)
        self._say(text)

    def withdraw(self) -> None:
        """Remove the question without an answer."""
        self.hide()
        self._label.clear()
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = []


_WIDTH = 180


class ProgressBar(Banner):
    """Shows one job; hidden while there is none."""

    cancelled = Signal()
    """The user wants to cancel the job."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(_WIDTH)
        self.button = push_button(self, self.tr("&Cancel"), self._cancel)
        make_row(self, (self._label, 1), self.bar, self.button, margins=(12, 6, 12, 6), spacing=12)
        follow_theme(self)

    def show_progress(self, text: str, share: float) -> None:
        """Show what is being done and, if known, how much of it is done: 0 … 1."""
        if self.isHidden():
            self.bar.setAccessibleName(text)
            self.button.setEnabled(True)
            self._say(text)
            self._label.setText(f"{text} …")
        self.bar.setVisible(share > 0.0)
        self.bar.setValue(round(100 * share))

    def _cancel(self) -> None:
        self.button.setEnabled(False)
        self.cancelled.emit()


class TourBar(QFrame):
    """Says what to do next, beside the diagram; hidden while no tour is under way."""

    backRequested = Signal()
    nextRequested = Signal()
    """Go on: the step is done, or is to be done for the user."""
    endRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoFillBackground(True)
        self.setAccessibleName(self.tr("Tour"))
        self.place = labels.plain()
        self.place.setProperty("type", "caption")
        self.title = labels.strong()
        self.text = labels.rich()
        self.back = push_button(self, self.tr("&Back"), self.backRequested.emit)
        self.next = push_button(self, "", self.nextRequested.emit)
        self.end = push_button(self, "", self.endRequested.emit)
        head = make_row(None, self.title, self.place, STRETCH, spacing=8)
        words = make_column(None, head, self.text, spacing=2)
        parts = (words, 1), self.back, self.next, self.end
        make_row(self, *parts, margins=(12, 8, 12, 8), spacing=8)
        self.hide()
        follow_theme(self)

    def show_step(self, place: str, title: str, text: str, *, is_done: bool) -> None:
        """Show a step: ``3 of 6``, its title and its text, which may have bold words."""
        self.place.setText(place)
        self.title.setText(title)
        self.text.setText(text)
        self.next.setText(self.tr("&Next") if is_done else self.tr("&Skip"))
        self.next.setToolTip(
            self.tr("Go on with the tour") if is_done else self.tr("Let the tour do this step")
        )
        self.next.show()
        self.end.setText(self.tr("En&d Tour"))
        self._announce()

    def show_end(self, title: str, text: str) -> None:
        """Show that the tour is complete."""
        self.place.setText("")
        self.title.setText(title)
        self.text.setText(text)
        self.next.hide()
        self.end.setText(self.tr("&Finish"))
        self._announce()

    def set_theme(self, theme: Theme) -> None:
        """Use a light tint of the accent colour of ``theme``."""
        tint(self, theme.accent_wash, theme.ink)

    def _announce(self) -> None:
        self.show()
        said = f"{self.title.text()}. {re.sub('<[^>]*>', '', self.text.text())}"
        self.setAccessibleDescription(said)
        labels.announce(self, said)


_EDGE = 3
"""Width of the line along the lower edge, px."""


class TrialBar(Banner):
    """Shows the steps of a trial and their effect, with buttons to apply or discard it."""

    applied = Signal()
    discarded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._edge = QColor()
        tip = self.tr("Apply the trial to the diagram, as one undo")
        self.apply_button = push_button(self, self.tr("&Apply"), self.applied.emit, tip=tip)
        tip = self.tr("Leave the diagram as it is (Esc)")
        self.discard_button = push_button(self, self.tr("&Discard"), self.discarded.emit, tip=tip)
        self._chip = labels.plain(self.tr("What if"), self)
        self._chip.setAutoFillBackground(True)
        self._chip.setContentsMargins(8, 2, 8, 2)
        self._chip.setProperty("type", "heading")
        parts = self._chip, (self._label, 1), self.apply_button, self.discard_button
        make_row(self, *parts, margins=(12, 6, 12, 6 + _EDGE), spacing=10)
        follow_theme(self)

    def show_trial(self, text: str, *, ready: bool) -> None:
        """Show ``text``; the trial can be applied only if ``ready``."""
        labels.say(self, self._label, text)
        self.apply_button.setEnabled(ready)
        self.show()

    def set_theme(self, theme: Theme) -> None:
        """Use the accent colour of ``theme``, as a light tint and for the chip and the edge."""
        self._edge = QColor(theme.accent)
        tint(self, theme.accent_wash, theme.ink)
        tint(self._chip, theme.accent, theme.on_accent)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:  # dashed, like trials on the canvas
            pen = QPen(self._edge, _EDGE)
            pen.setDashPattern([3.0, 2.0])
            painter.setPen(pen)
            y = self.height() - _EDGE / 2.0
            painter.drawLine(QPointF(0.0, y), QPointF(self.width(), y))
