"""An editable grid for a small array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QWidget

from gradwire.app.panels import notation
from gradwire.app.panels.tables.lines import Index, PlainTable, TableModel
from gradwire.blocks.values import Tensor
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_ROWS_SHOWN = 8
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class ArrayModel(TableModel):
    """An array of rank ≤ 2 as a table; a vector is one row. ``edited`` emits nested lists."""

    edited = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._array: Array = np.zeros((0, 0))
        self._editable = False

    def show_array(self, array: Array | None, editable: bool = True) -> None:
        """Show ``array``, or nothing for None; edits are emitted, not made in place."""
        shown = np.zeros((0, 0)) if array is None else array
        if shown.shape == self._array.shape and editable == self._editable and shown.size:
            self._array = shown
            last = self.index(self.rowCount() - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self._array = shown
        self._editable = editable
        self.endResetModel()

    @property
    def rows(self) -> Array:
        """The array as a matrix."""
        return self._array.reshape(1, -1) if self._array.ndim < 2 else self._array

    def size(self) -> tuple[int, int]:
        rows, columns = self.rows.shape
        return rows, columns

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return number(self.rows[index.row(), index.column()])
        if role == Qt.ItemDataRole.EditRole:
            return str(self.rows[index.row(), index.column()])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT
        return section if role == Qt.ItemDataRole.DisplayRole else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if self._editable else flags

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        parsed = notation.parse(str(value))
        if isinstance(parsed, str | list | None) and parsed not in ("nan", "inf", "-inf"):
            return False
        if parsed == self.rows[index.row(), index.column()]:
            return False
        cells: Any = Tensor(self.rows).to_json()
        cells[index.row()][index.column()] = parsed
        self.edited.emit(cells if self._array.ndim == 2 else cells[0])
        return True


class ArrayGrid(PlainTable):
    """A table of an ``ArrayModel``, as high as its content up to a few rows."""

    committed = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = ArrayModel(self)
        self.table.edited.connect(self.committed)
        self.setModel(self.table)
        self.setEditTriggers(QAbstractItemView.EditTrigger.AllEditTriggers)
        self.horizontalHeader().setMinimumSectionSize(40)
        self.fit_rows()
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)

    def fit_rows(self) -> None:
        """Make cells wide enough for four significant digits."""
        super().fit_rows()
        wide = self.fontMetrics().horizontalAdvance("−0.123456") + 12
        self.horizontalHeader().setDefaultSectionSize(wide)

    def show_array(self, array: Array | None, editable: bool = True) -> None:
        """Show ``array``, keeping the current cell if it still exists."""
        at = self.currentIndex()
        self.table.show_array(array, editable)
        if at.isValid() and self.table.hasIndex(at.row(), at.column()):
            self.setCurrentIndex(self.table.index(at.row(), at.column()))
        rows = min(self.table.rowCount(), _ROWS_SHOWN)
        self.verticalHeader().setVisible(self.table.rowCount() > 1)
        self.setShowGrid(editable)
        header = self.horizontalHeader().sizeHint().height()
        row = self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(header + rows * row + 2 * self.frameWidth() + 2)
