"""Jacobians and gradients as heatmaps, of which each cell has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gradwire.app.canvas.paint.blocks.grids import draw_chart
from gradwire.app.canvas.state.charts import heatmap
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.theme import current_theme
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QEvent

    from gradwire.blocks.values import Array


_LARGEST = 200.0
"""Height and width that a heatmap is given at most, px."""
_CELL = 22.0
"""Size of a cell where there is room, px."""


@dataclass(frozen=True, eq=False)
class JacobianTable:
    """A row for each element of the output, a column for each of the input.

    ``jacobian`` has the shape of the output, of ``output_rank`` axes, then that of the input.
    """

    jacobian: Array
    output_rank: int
    output: str
    given: str

    @property
    def table(self) -> Array:
        """The Jacobian as a matrix."""
        rows = int(np.prod(self.jacobian.shape[: self.output_rank], dtype=int))
        return self.jacobian.reshape(rows, -1)

    def text(self, row: int, column: int) -> str:
        """``∂y[0, 1]/∂x[2] = 0.24``."""
        shape, rank = self.jacobian.shape, self.output_rank
        output = element(self.output, shape[:rank], row)
        given = element(self.given, shape[rank:], column)
        return f"∂{output}/∂{given} = {number(self.table[row, column])}"


@dataclass(frozen=True, eq=False)
class GradientTable:
    """A gradient with its last axis as columns, and all others as rows."""

    array: Array
    name: str

    @property
    def table(self) -> Array:
        """The gradient as a matrix."""
        return self.array.reshape(-1, self.array.shape[-1] if self.array.ndim else 1)

    def text(self, row: int, column: int) -> str:
        """``g[0, 1] = 0.24``."""
        index = row * self.table.shape[1] + column
        name = element(self.name, self.array.shape, index)
        return f"{name} = {number(self.table[row, column])}"


def element(name: str, shape: tuple[int, ...], index: int) -> str:
    """An element in row-major order: ``x[0, 2]``, of a single number ``x``."""
    place = np.unravel_index(index, shape) if shape else ()
    return f"{name}{[int(i) for i in place] if place else ''}"


class Heatmap(QWidget):
    """A table of numbers as colours; the cell under the pointer or the keys is named.

    ``show`` gets the text of that cell, and an empty one when none is pointed at.
    """

    pointed = Signal(int)
    """The cell that is pointed at, counted row by row."""

    def __init__(
        self,
        shown: JacobianTable | GradientTable,
        name: str,
        show: Callable[[str], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._shown, self._table = shown, shown.table
        self._show = show
        self._cell: tuple[int, int] | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    def sizeHint(self) -> QSize:
        rows, columns = self._table.shape
        cell = min(_CELL, _LARGEST / max(rows, columns))
        return QSize(round(max(6.0, cell * columns)) + 2, round(max(6.0, cell * rows)) + 2)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        rows, columns = self._table.shape
        box = self._box()
        row = int((event.position().y() - box.top()) / box.height() * rows)
        column = int((event.position().x() - box.left()) / box.width() * columns)
        self._point_at(min(max(0, row), rows - 1), min(max(0, column), columns - 1))

    def leaveEvent(self, event: QEvent) -> None:
        self._cell = None
        self._show("")
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0),
        }  # fmt: skip
        move = moves.get(Qt.Key(event.key()))
        if move is None:
            super().keyPressEvent(event)
            return
        row, column = self._cell or (0, 0)
        rows, columns = self._table.shape
        self._point_at((row + move[0]) % rows, (column + move[1]) % columns)

    def _point_at(self, row: int, column: int) -> None:
        if (row, column) != self._cell:
            self._cell = row, column
            self._show(self._shown.text(row, column))
            self.pointed.emit(row * self._table.shape[1] + column)
            self.update()

    def _box(self) -> QRectF:
        return QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, box = current_theme(), self._box()
        with QPainter(self) as painter:
            draw_chart(painter, heatmap(self._table, round(_LARGEST)), box, theme)
            painter.setPen(QPen(QColor(theme.accent if self.hasFocus() else theme.hairline), 1.0))
            painter.drawRect(box)
            if self._cell is not None:
                self._paint_cross(painter, box, *self._cell)

    def _paint_cross(self, painter: QPainter, box: QRectF, row: int, column: int) -> None:
        """Frame the row and the column of the cell."""
        rows, columns = self._table.shape
        height, width = box.height() / rows, box.width() / columns
        painter.setPen(QPen(QColor(current_theme().ink), 1.0))
        corner = box.topLeft()
        painter.drawRect(QRectF(corner + QPointF(0.0, row * height), box.size()).adjusted(
            0.0, 0.0, 0.0, height - box.height()))  # fmt: skip
        painter.drawRect(QRectF(corner + QPointF(column * width, 0.0), box.size()).adjusted(
            0.0, 0.0, width - box.width(), 0.0))  # fmt: skip


class LabelledHeatmap(QWidget):
    """A heatmap above a line about the cell that is pointed at; ``idle`` stands there else."""

    def __init__(
        self,
        shown: JacobianTable | GradientTable,
        name: str,
        idle: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        line = labels.caption(idle)
        self.heatmap = Heatmap(shown, name, lambda text: labels.say(self, line, text or idle))
        make_column(self, self.heatmap, line)
