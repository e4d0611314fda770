"""The undo history as a list: every change in words, with a way to go back or forward to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QBrush, QColor, QShowEvent
from PySide6.QtWidgets import QHeaderView

from gradwire.app.document.document import UNDO_LIMIT
from gradwire.app.panels.tables.lines import Index, LineTable, TableModel
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import current_theme

if TYPE_CHECKING:
    from PySide6.QtGui import QUndoStack
    from PySide6.QtWidgets import QWidget

    from gradwire.app.document.document import Document

_MARK, _TEXT, _SAVED = range(3)


class HistoryModel(TableModel):
    """States of the diagram, oldest first: mark of the current one, last change, mark of the file.

    Row 0 is the state before the first change that can be undone; row n that after n changes.
    """

    def __init__(self, stack: QUndoStack, parent: QWidget) -> None:
        super().__init__(parent)
        self._stack = stack

    def refresh(self) -> None:
        """Read the stack again."""
        self.beginResetModel()
        self.endResetModel()

    def size(self) -> tuple[int, int]:
        return self._stack.count() + 1, 3

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = index.row()
        current, saved = row == self._stack.index(), row == self._stack.cleanIndex()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                marks = ("▸" if current else "", self.words(row), self.tr("saved") if saved else "")
                return marks[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(self.words(row))
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = [str(row), self.words(row)]
                parts += [self.tr("current")] if current else []
                parts += [self.tr("undone")] if row > self._stack.index() else []
                parts += [self.tr("saved")] if saved else []
                return ", ".join(parts)
            case Qt.ItemDataRole.ForegroundRole:
                return self._brush(row, index.column())
        return None

    def words(self, row: int) -> str:
        """What led to the state of a row."""
        if row:
            return self._stack.text(row - 1)
        if self._stack.count() == UNDO_LIMIT:
            return self.tr("Older changes")
        return self.tr("As opened")

    def _brush(self, row: int, column: int) -> QBrush:
        if column == _MARK:
            return QBrush(QColor(current_theme().accent))
        undone = row > self._stack.index()
        faint = undone or column == _SAVED
        return QBrush(QColor(current_theme().ink_faint if faint else current_theme().ink))


class HistoryTable(LineTable):
    """One line per state; a click or Enter goes to it, and the line of the current one is lit."""

    def __init__(self, document: Document, parent: QWidget) -> None:
        super().__init__(parent)
        self._document = document
        self._stack = document.undo_stack
        self.table = HistoryModel(self._stack, self)
        self.lay_out(self.table, self.tr("Undo history"))
        header = self.horizontalHeader()
        header.setSectionResizeMode(_TEXT, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_SAVED, QHeaderView.ResizeMode.ResizeToContents)
        self.clicked.connect(self._go)
        self.activated.connect(self._go)
        document.historyChanged.connect(self._follow)
        document.saved.connect(self._follow)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow()

    def _go(self, index: QModelIndex) -> None:
        self._document.jump(index.row())

    def _follow(self) -> None:
        """Show the stack as it is, and its current line; a hidden list waits until it is shown."""
        if self.isVisible():
            self.table.refresh()
            self.setCurrentIndex(self.table.index(self._stack.index(), _TEXT))
