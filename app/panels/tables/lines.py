"""Base classes of tables and their models, and of lists with one line per item."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QEvent, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

if TYPE_CHECKING:
    from PySide6.QtCore import QAbstractItemModel
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget

Index: TypeAlias = QModelIndex | QPersistentModelIndex
_PAD = 10


class TableModel(QAbstractTableModel):
    """Rows without children."""

    def size(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        raise NotImplementedError  # each model has its own

    def titles(self) -> tuple[str, ...]:
        """The titles of the columns; none by default."""
        return ()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else self.size()[0]

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's signature
        return 0 if parent.isValid() else self.size()[1]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        is_title = orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self.titles()[section] if is_title and self.titles() else None


class PlainTable(QTableView):
    """A table whose rows fit the font, with a text to show while it is empty."""

    _placeholder = ""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabKeyNavigation(False)  # or Tab would not lead out of it

    def lay_out(self, model: QAbstractItemModel, name: str) -> None:
        """Show ``model`` without a grid, under ``name`` for assistive technology."""
        self.setModel(model)
        self.setFrameShape(self.Shape.NoFrame)
        self.setShowGrid(False)
        self.setAccessibleName(name)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        self.fit_rows()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setResizeContentsPrecision(0)  # measures visible rows only
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)

    def set_placeholder(self, text: str) -> None:
        """Show ``text`` while there is no row."""
        self._placeholder = text

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        model = self.model()
        if self._placeholder and model is not None and not model.rowCount():
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().placeholderText().color())
            room = self.viewport().rect().adjusted(_PAD, _PAD, -_PAD, -_PAD)
            flags = Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
            painter.drawText(room, int(flags), self._placeholder)

    def fit_rows(self) -> None:
        """Make rows as high as a line of text with some padding."""
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit_rows()


class LineTable(PlainTable):
    """A table without grid or headers, whose third column takes the remaining width."""

    def lay_out(self, model: QAbstractItemModel, name: str) -> None:
        """Show ``model``, which has three columns, under ``name`` for assistive technology."""
        super().lay_out(model, name)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
