"""What a data set has: rows, a picture of them, and a table of the first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QTableWidgetItem, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.column_table import ColumnTable, alignment, fit, plain_table
from gradwire.app.panels.layouts import make_column, path_to_open, push_button
from gradwire.blocks.errors import FileError
from gradwire.runtime.data import KINDS, allow_data, suggested
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.services.background import JobRunner
    from gradwire.app.services.theme import Theme
    from gradwire.blocks.library.data import Dataset
    from gradwire.blocks.values import Array
    from gradwire.runtime.data import DataRows
    from gradwire.runtime.diagram import InstancePath


_ROWS = 6
"""Rows of the table."""
_COLUMNS = 12
"""Columns of the table."""
_POINTS = 2_000
"""Points of the scatter plot."""
_PICTURES = 24
"""Pictures of a batch."""


class DataView(QWidget):
    """The rows of a Dataset block as they are in the current batch, and a button for a file."""

    chosen = Signal(object)
    """The parameters of the block for a file that the user chose."""
    failed = Signal(str)

    def __init__(
        self, block: Dataset, folder: Path | None, theme: Theme, runner: JobRunner
    ) -> None:
        super().__init__()
        self._folder, self._runner = folder, runner
        self.button = push_button(self, self.tr("Choose a file…"), self.choose)
        self.error = labels.error()
        self.counts = labels.caption()
        self.picture = Thumbnail(theme)
        self.table = plain_table(self.tr("First rows of the batch"))
        self.columns = ColumnTable()
        shown = self.counts, self.picture, self.table, self.columns
        make_column(self, self.button, self.error, *shown)
        self._show({}, block)

    def choose(self) -> None:
        """Ask for a data file and its columns."""
        suffixes = " ".join(f"*{suffix}" for suffix in KINDS)
        kinds = self.tr("Data ({0})").format(suffixes)
        path = path_to_open(self, self.tr("Choose a data file"), kinds, self._folder)
        if path is not None:
            self.use(path)

    def use(self, path: Path) -> None:
        """Let the block have the rows of a file that the user chose."""
        text = self.tr("Reading {0}").format(path.name)
        try:
            block = self._runner(text, lambda pulse: suggested(path, self._folder), pure=True)
        except FileError as error:
            labels.show_or_hide(self.error, str(error))
            return
        labels.show_or_hide(self.error, "")
        allow_data(path)
        options = dict.fromkeys(("count", "classes", "noise", "turns"))
        self.chosen.emit({**options, **block.to_record()})

    def show_result(
        self, result: EvaluationResult | None, path: InstancePath, block: Dataset
    ) -> None:
        """Show the batch of a result."""
        values: dict[str, Array] = {}
        rows = None
        if result is not None:
            for port in block.output_names():
                value = result.values.get(path.port(port))
                if value is not None:
                    values[port] = value
            streams = {} if result.flow is None else result.flow.program.streams()
            first = next((path.port(port) for port in values if path.port(port) in streams), None)
            rows = None if first is None else streams[first].rows
        self.counts.setText(_counted(self, rows))
        self.columns.show_rows(rows)
        self._show(values, block)

    def _show(self, values: Mapping[str, Array], block: Dataset) -> None:
        self.counts.setVisible(bool(values))
        self.picture.show_values(values)
        flat = {port: value.reshape(len(value), -1) for port, value in values.items()}
        titles = [
            (port if part.shape[1] == 1 else f"{port}[{i}]", port, i)
            for port, part in flat.items()
            for i in range(part.shape[1])
        ]
        shown = titles if len(titles) <= _COLUMNS else []
        self.table.setVisible(bool(shown))
        self.table.setColumnCount(len(shown))
        self.table.setHorizontalHeaderLabels([title for title, _, _ in shown])
        count = min(_ROWS, min(map(len, flat.values()), default=0))
        self.table.setRowCount(count)
        for column, (_, port, i) in enumerate(shown):
            for row in range(count):
                item = QTableWidgetItem(self._text(block, port, flat[port][row, i]))
                item.setTextAlignment(alignment(is_number=True))
                self.table.setItem(row, column, item)
        fit(self.table)

    def _text(self, block: Dataset, port: str, value: np.generic) -> str:
        names = block.provided[port].labels
        if names and not block.provided[port].one_hot:
            return names[int(value)]
        return number(value)


def _counted(view: QWidget, rows: DataRows | None) -> str:
    if rows is None:
        return ""
    text = view.tr("{0} rows for training, {1} for validation").format(
        f"{rows.training_count:,}", f"{rows.validation_count:,}"
    )
    if rows.block.batch:
        text += "\n" + view.tr("{0} batches of {1} in an epoch").format(
            f"{rows.batches('training'):g}", rows.block.batch
        )
    return text


class Thumbnail(QWidget):
    """Points of the plane in the colours of their labels, or pictures side by side."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._points: Array | None = None
        self._labels: Array | None = None
        self._pictures: Array | None = None
        self.setAccessibleName(self.tr("Picture of the data"))

    def sizeHint(self) -> QSize:
        return QSize(180, 90 if self._pictures is not None else 180)

    def show_values(self, values: Mapping[str, Array]) -> None:
        """Show the first port of points or pictures among the values."""
        self._points = next((v for v in values.values() if _is_plane(v)), None)
        self._pictures = next((v for v in values.values() if _is_pictures(v)), None)
        if self._pictures is not None:
            self._points = None
        self._labels = next(
            (found for v in values.values() if (found := _labels_of(v)) is not None), None
        )
        wanted = self._points is not None or self._pictures is not None
        self.setVisible(wanted)
        self.setFixedHeight(self.sizeHint().height() if wanted else 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._points is not None:
            self._paint_points(painter, self._points)
        elif self._pictures is not None:
            self._paint_pictures(painter, self._pictures)

    def _paint_points(self, painter: QPainter, points: Array) -> None:
        points = np.asarray(points[:_POINTS], dtype=np.float64)
        at = points[np.isfinite(points).all(axis=1)]
        if not len(at):
            return
        side = min(self.width(), self.height()) - 12.0
        low, high = at.min(axis=0), at.max(axis=0)
        span = float((high - low).max()) or 1.0
        middle = (low + high) / 2
        shown = (at - middle) / span * side * [1, -1] + [self.width() / 2, self.height() / 2]
        labels = None if self._labels is None else self._labels[:_POINTS]
        kept = np.isfinite(points).all(axis=1)
        painter.setPen(Qt.PenStyle.NoPen)
        for i, (x, y) in enumerate(shown):
            label = 0 if labels is None else int(labels[kept][i])
            painter.setBrush(QBrush(self._colour(label)))
            painter.drawEllipse(QPointF(x, y), 2.2, 2.2)

    def _colour(self, label: int) -> QColor:
        colours = self._theme.losses
        return QColor(colours[label % len(colours)])

    def _paint_pictures(self, painter: QPainter, pictures: Array) -> None:
        some = np.asarray(pictures[:_PICTURES], dtype=np.float64)
        low, high = float(np.nanmin(some)), float(np.nanmax(some))
        grey = np.nan_to_num((some - low) / ((high - low) or 1.0) * 255).astype(np.uint8)
        if not self._theme.dark:
            grey = 255 - grey
        columns = max(1, math.ceil(math.sqrt(len(grey) * self.width() / max(1, self.height()))))
        side = min(self.width() / columns, self.height() / math.ceil(len(grey) / columns))
        painter.setPen(QPen(QColor(self._theme.hairline)))
        for i, one in enumerate(grey):
            one = np.ascontiguousarray(one)
            image = QImage(
                one.tobytes(), one.shape[1], one.shape[0], one.shape[1],
                QImage.Format.Format_Grayscale8,
            )  # fmt: skip
            place = QRectF(i % columns * side, i // columns * side, side - 2, side - 2)
            painter.drawImage(place, image)


def _is_plane(value: Array) -> bool:
    return value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind == "f" and len(value) > 1


def _is_pictures(value: Array) -> bool:
    return value.ndim == 3 and min(value.shape[1:]) >= 4 and value.dtype.kind in "fu"


def _labels_of(value: Array) -> Array | None:
    """Classes, from integers or from vectors with a single 1."""
    if value.ndim == 1 and value.dtype.kind in "iu":
        return value
    one_hot = value.ndim == 2 and value.shape[1] > 1 and np.isin(value, (0, 1)).all()
    if one_hot and (value.sum(axis=1) == 1).all():
        found: Array = value.argmax(axis=1)
        return found
    return None
