"""The columns of a data set as a table: what their numbers are, over all rows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractItemView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.data import TEXT, summarised
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.data import ColumnSummary, DataRows

_EVERY = 30
"""Milliseconds between two looks whether all rows are read."""
_NONE = "–"
_known: WeakKeyDictionary[DataRows, tuple[ColumnSummary, ...]] = WeakKeyDictionary()


class ColumnTable(QWidget):
    """A line for each column: type, least, largest and mean number, and how many are missing.

    All rows are read in the background, by chunks, and once for each data set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.caption = labels.caption()
        self.table = plain_table(self.tr("Columns of the data set"))
        titles = (
            self.tr("Column"), self.tr("Type"), self.tr("Least"), self.tr("Largest"),
            self.tr("Mean"), self.tr("Missing"),
        )  # fmt: skip
        self.table.setColumnCount(len(titles))
        self.table.setHorizontalHeaderLabels(titles)
        make_column(self, self.caption, self.table)
        self._rows: DataRows | None = None
        self._reader: _Reader | None = None
        self._timer = QTimer(self, interval=_EVERY)
        self._timer.timeout.connect(self._look)
        self.hide()

    def show_rows(self, rows: DataRows | None) -> None:
        """Show the columns of a data set; nothing without one."""
        if rows is self._rows:
            return
        self._rows = rows
        if self._reader is not None:
            self._reader.is_cancelled = True
        self._reader = None
        self.setVisible(rows is not None)
        self.table.hide()
        if rows is None:
            return
        if (found := _known.get(rows)) is not None:
            self._show(found)
            return
        self.caption.setText(self.tr("Reading all rows …"))
        self._reader = reader = _Reader(rows)
        self.destroyed.connect(reader.cancel)
        reader.start()
        self._timer.start()

    def _look(self) -> None:
        reader = self._reader
        if reader is None or reader.is_alive():
            return
        self._timer.stop()
        self._reader = None
        if reader.problem:
            self.caption.setText(reader.problem)
        elif reader.found is not None:
            _known[reader.rows] = reader.found
            self._show(reader.found)

    def _show(self, columns: Sequence[ColumnSummary]) -> None:
        self.caption.setText(self.tr("All rows, by column"))
        self.table.setRowCount(len(columns))
        for row, column in enumerate(columns):
            for place, text in enumerate(self._texts(column)):
                item = QTableWidgetItem(text)
                item.setTextAlignment(alignment(is_number=place > 1))
                self.table.setItem(row, place, item)
        self.table.show()
        fit(self.table)

    def _texts(self, column: ColumnSummary) -> list[str]:
        shape = " × ".join(map(str, column.row_shape))
        kind = self.tr("text") if column.dtype == TEXT else column.dtype
        numbers = (column.least, column.largest, column.mean)
        return [
            f"{column.name} ({shape})" if shape else column.name,
            kind,
            *(_NONE if value is None else number(value) for value in numbers),
            f"{column.missing:,}",
        ]


class _Reader(threading.Thread):
    """Reads all rows of a data set."""

    def __init__(self, rows: DataRows) -> None:
        super().__init__(name="columns", daemon=True)
        self.rows = rows
        self.found: tuple[ColumnSummary, ...] | None = None
        self.problem = ""
        self.is_cancelled = False

    def cancel(self) -> None:
        """Read no further."""
        self.is_cancelled = True

    def run(self) -> None:
        try:
            self.found = summarised(self.rows, lambda: self.is_cancelled)
        except (GradwireError, OSError, MemoryError) as error:
            self.problem = str(error)


def plain_table(name: str) -> QTableWidget:
    """A table to be read only: Tab leaves it, arrows move in it."""
    table = QTableWidget()
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setAccessibleName(name)
    table.setTabKeyNavigation(False)
    table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    table.verticalHeader().hide()
    return table


def alignment(*, is_number: bool) -> Qt.AlignmentFlag:
    """Numbers stand at the right, texts at the left."""
    side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def fit(table: QTableWidget) -> None:
    """Make a table as high as its rows."""
    table.resizeColumnsToContents()
    table.resizeRowsToContents()
    height = table.horizontalHeader().sizeHint().height() + 2
    height += sum(table.rowHeight(row) for row in range(table.rowCount()))
    if table.horizontalScrollBar().maximum():
        height += table.horizontalScrollBar().sizeHint().height()
    table.setFixedHeight(height)
