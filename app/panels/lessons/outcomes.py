"""What became of predictions: yours beside the actual, points, and what the difference means."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column
from gradwire.app.panels.lessons.reading import line
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.lessons import unmarked

if TYPE_CHECKING:
    from collections.abc import Sequence


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
