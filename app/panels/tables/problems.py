"""The list of problems, with a way to the place of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor

from gradwire.app.panels.tables.lines import Lines
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import LIGHT, Theme, follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.evaluation.result import Result
    from gradwire.runtime.diagram import Diagnostic

_Index = QModelIndex | QPersistentModelIndex
_MARKS = {"error": "✕", "warning": "△", "info": "○"}
_RANK = {"error": 0, "warning": 1, "info": 2}


class ProblemModel(QAbstractTableModel):
    """Diagnostics, errors first: mark, place, message."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problems: tuple[Diagnostic, ...] = ()
        self._theme = LIGHT

    def show_problems(self, problems: Sequence[Diagnostic]) -> None:
        """Show problems; nothing changes if they are the same."""
        ordered = tuple(sorted(problems, key=lambda found: _RANK.get(found.severity, 3)))
        if ordered != self.problems:
            self.beginResetModel()
            self.problems = ordered
            self.endResetModel()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else len(self.problems)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return ("", self.tr("Where"), self.tr("What"))[section]
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
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
            colours = {"error": self._theme.error, "warning": self._theme.warning}
            return QBrush(QColor(colours.get(found.severity, self._theme.ink_soft)))
        return None


class Problems(Lines):
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
        follow_theme(self)

    def set_result(self, result: Result) -> None:
        """Show the problems of a result."""
        before = len(self.table.problems)
        self.table.show_problems(result.diagnostics)
        if len(self.table.problems) != before:
            self.countChanged.emit(len(self.table.problems))

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self.table.set_theme(theme)
        self.viewport().update()

    def _request(self, index: QModelIndex) -> None:
        self.placeRequested.emit(self.table.problems[index.row()].location)


def message(found: Diagnostic) -> str:
    """What is wrong and what to do about it, without the place."""
    text = found.what
    if found.expected is not None and found.got is not None:
        text += f" Expected {found.expected}, got {found.got}."
    return f"{text} {found.next_step}" if found.next_step else text
