"""The doctor's findings about the gradients of the whole diagram, most severe first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor

from app.panels.tables.lines import Lines
from app.services.plain_text import tooltip
from app.services.theme import LIGHT, Theme, follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from runtime.flow import Finding

_Index = QModelIndex | QPersistentModelIndex


class FindingModel(QAbstractTableModel):
    """Findings as rows of mark, place and sentence, or one row that says why there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.findings: tuple[Finding, ...] = ()
        self._placeholder = ""
        self._theme = LIGHT

    def show_findings(self, findings: Sequence[Finding], placeholder: str) -> None:
        """Show findings, or ``placeholder`` if there are none."""
        self.beginResetModel()
        self.findings, self._placeholder = tuple(findings), placeholder
        self.endResetModel()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else len(self.findings) or bool(self._placeholder)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else 3

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not self.findings:
            shown = role == Qt.ItemDataRole.DisplayRole and index.column() == 2
            return self._placeholder if shown else None
        found = self.findings[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            mark = "✕" if found.complaint.is_error else "△"
            return (mark, found.key, found.sentence)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(found.sentence)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{found.key}: {found.sentence}"
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 0:
            theme = self._theme
            return QBrush(QColor(theme.error if found.complaint.is_error else theme.warning))
        return None


class Findings(Lines):
    """One line per finding; a click or Enter requests its place."""

    findingRequested = Signal(object)
    """The Finding."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = FindingModel(self)
        self.lay_out(self.table, self.tr("Doctor"))
        self.clicked.connect(self._request)
        self.activated.connect(self._request)
        follow_theme(self)

    def show_findings(self, findings: Sequence[Finding], placeholder: str = "") -> None:
        """Show findings, or ``placeholder`` if there are none."""
        self.table.show_findings(findings, placeholder)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self.table.set_theme(theme)
        self.viewport().update()

    def _request(self, index: QModelIndex) -> None:
        if self.table.findings:
            self.findingRequested.emit(self.table.findings[index.row()])
