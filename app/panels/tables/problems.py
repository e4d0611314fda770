"""The list of problems, with a way to the place of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor

from gradwire.app.panels.tables.lines import Index, LineTable, TableModel
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import current_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import Diagnostic

_MARKS = {"error": "✕", "warning": "△", "info": "○"}
_RANK = {"error": 0, "warning": 1, "info": 2}


class ProblemModel(TableModel):
    """Diagnostics, errors first: mark, place, message."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problems: tuple[Diagnostic, ...] = ()

    def show_problems(self, problems: Sequence[Diagnostic]) -> None:
        """Show problems; nothing changes if they are the same."""
        ordered = tuple(sorted(problems, key=lambda found: _RANK.get(found.severity, 3)))
        if ordered != self.problems:
            self.beginResetModel()
            self.problems = ordered
            self.endResetModel()

    def size(self) -> tuple[int, int]:
        return len(self.problems), 3

    def titles(self) -> tuple[str, ...]:
        return "", self.tr("Where"), self.tr("What")

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        found = self.problems[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (_MARKS.get(found.severity, ""), str(found.location), message(found))[
                index.column()
            ]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(str(found))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{found.severity}: {found}"
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 0:
            colours = {"error": current_theme().error, "warning": current_theme().warning}
            return QBrush(QColor(colours.get(found.severity, current_theme().ink_soft)))
        return None


class Problems(LineTable):
    """One line per problem; a click or Enter requests its place."""

    placeRequested = Signal(object)
    """The Location of the problem."""
    countChanged = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = ProblemModel(self)
        self.lay_out(self.table, self.tr("Problems"))
        self.set_placeholder(self.tr("No problems."))
        self.clicked.connect(self._request)
        self.activated.connect(self._request)

    def set_result(self, result: EvaluationResult) -> None:
        """Show the problems of a result."""
        before = len(self.table.problems)
        self.table.show_problems(result.diagnostics)
        if len(self.table.problems) != before:
            self.countChanged.emit(len(self.table.problems))

    def _request(self, index: QModelIndex) -> None:
        self.placeRequested.emit(self.table.problems[index.row()].location)


def message(found: Diagnostic) -> str:
    """What is wrong and what to do about it, without the place."""
    text = found.what
    if found.expected is not None and found.got is not None:
        text += f" Expected {found.expected}, got {found.got}."
    return f"{text} {found.next_step}" if found.next_step else text
