"""The table of variables with their values and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from app.canvas.state.formatting import dimensions
from app.panels import labels, notation
from app.panels.tables.lines import Table
from app.services.plain_text import tooltip
from runtime.diagram.paths import PortPath
from runtime.flow import dialects

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

    from app.evaluation.result import Result

_Index = QModelIndex | QPersistentModelIndex


class VariableModel(QAbstractTableModel):
    """One row per variable: name, shape and dtype, value, gradient (or None and the reason)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: Result | None = None
        self.names: tuple[str, ...] = ()

    def set_result(self, result: Result | None) -> None:
        """Show another result."""
        names = tuple(result.gradients) if result else ()
        if names != self.names:
            self.beginResetModel()
            self._result, self.names = result, names
            self.endResetModel()
        elif names:
            self._result = result
            self.dataChanged.emit(self.index(0, 0), self.index(len(names) - 1, 3))

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else len(self.names)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else 4

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            titles = (self.tr("Name"), self.tr("Shape"), self.tr("Value"), self.tr("Gradient"))
            return titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        name = self.names[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (self._name, self._kind, self._value, self._gradient)[index.column()](name)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 3:
            return tooltip("\n".join([self._gradient(name), *self._fates(name)]))
        return None

    def _name(self, name: str) -> str:
        return name

    def _kind(self, name: str) -> str:
        value = self._result.values.get(PortPath.named(name)) if self._result else None
        return "" if value is None else f"{dimensions(value.shape)} · {value.dtype}"

    def _value(self, name: str) -> str:
        value = self._result.values.get(PortPath.named(name)) if self._result else None
        return "" if value is None else notation.glimpse(value)

    def _gradient(self, name: str) -> str:
        gradient = self._result.gradients[name] if self._result else None
        if gradient is not None:
            return notation.glimpse(gradient)
        verdict = self._result.variable(name) if self._result else None
        return f"None — {verdict.sentence}" if verdict else "None"

    def _fates(self, name: str) -> list[str]:
        """What each of PyTorch's optimisers would do with the variable."""
        result = self._result
        if result is None or result.flow is None:
            return []
        reports = dialects(result.flow, name, result.loss)
        fates = reports.fates[reports.reports[0].system]
        return [labels.fate(fate) for fate in fates]


class Variables(Table):
    """The table of variables; a click or Enter requests the block."""

    blockRequested = Signal(str)
    """Instance path of a variable."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: Result | None = None
        self.table = VariableModel(self)
        self.setModel(self.table)
        self.setFrameShape(self.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAccessibleName(self.tr("Variables"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        self.fit_rows()
        self.set_placeholder(
            self.tr("No variables. Training changes the numbers of Variable blocks.")
        )
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setResizeContentsPrecision(0)  # measures visible rows only
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        self.clicked.connect(self._request)
        self.activated.connect(self._request)

    def set_result(self, result: Result | None) -> None:
        """Show another result."""
        self._result = result
        if self.isVisible():
            self.table.set_result(result)

    def showEvent(self, event: QShowEvent) -> None:
        self.table.set_result(self._result)
        super().showEvent(event)

    def _request(self, index: QModelIndex) -> None:
        self.blockRequested.emit(self.table.names[index.row()])
