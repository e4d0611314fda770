"""A Jacobian as a heatmap: a row for each element of the output, a column for each of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.canvas.paint.blocks.charts import draw_chart
from app.canvas.state.charts import heatmap
from app.services.theme import LIGHT, follow_theme
from runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QEvent

    from app.services.theme import Theme

Array = NDArray[Any]
_LARGEST = 200.0
"""Height and width that a heatmap is given at most, px."""
_CELL = 22.0
"""Size of a cell where there is room, px."""


class Heatmap(QWidget):
    """The Jacobian of an output by an input; the cell under the pointer or the keys is named.

    ``jacobian`` has the shape of the output, then that of the input. ``told`` gets the text about
    a cell, and an empty one when none is pointed at.
    """

    def __init__(
        self,
        jacobian: Array,
        output_rank: int,
        names: tuple[str, str],
        told: Callable[[str], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        shape = jacobian.shape
        self._shapes = shape[:output_rank], shape[output_rank:]
        rows, columns = (int(np.prod(part, dtype=int)) for part in self._shapes)
        self._table = jacobian.reshape(rows, columns)
        self._names = names
        self._told = told
        self._cell: tuple[int, int] | None = None
        self._theme = LIGHT
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(
            self.tr("Jacobian of {0} by {1}, {2} × {3}").format(*names, rows, columns)
        )
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        rows, columns = self._table.shape
        cell = min(_CELL, _LARGEST / max(rows, columns))
        return QSize(round(max(6.0, cell * columns)) + 2, round(max(6.0, cell * rows)) + 2)

    def text(self, row: int, column: int) -> str:
        """``∂y[0, 1]/∂x[2] = 0.24``."""
        places = (
            np.unravel_index(at, shape) if shape else ()
            for at, shape in zip((row, column), self._shapes, strict=True)
        )
        output, given = (
            f"{name}{[int(i) for i in place] if place else ''}"
            for name, place in zip(self._names, places, strict=True)
        )
        return f"∂{output}/∂{given} = {number(self._table[row, column])}"

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        rows, columns = self._table.shape
        box = self._box()
        row = int((event.position().y() - box.top()) / box.height() * rows)
        column = int((event.position().x() - box.left()) / box.width() * columns)
        self._point_at(min(max(0, row), rows - 1), min(max(0, column), columns - 1))

    def leaveEvent(self, event: QEvent) -> None:
        self._cell = None
        self._told("")
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
            self._told(self.text(row, column))
            self.update()

    def _box(self) -> QRectF:
        return QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, box = self._theme, self._box()
        with QPainter(self) as painter:
            draw_chart(painter, heatmap(self._table), box, theme)
            painter.setPen(QPen(QColor(theme.accent if self.hasFocus() else theme.hairline), 1.0))
            painter.drawRect(box)
            if self._cell is not None:
                self._paint_cross(painter, box, *self._cell)

    def _paint_cross(self, painter: QPainter, box: QRectF, row: int, column: int) -> None:
        """Frame the row and the column of the cell."""
        rows, columns = self._table.shape
        height, width = box.height() / rows, box.width() / columns
        painter.setPen(QPen(QColor(self._theme.ink), 1.0))
        corner = box.topLeft()
        painter.drawRect(QRectF(corner + QPointF(0.0, row * height), box.size()).adjusted(
            0.0, 0.0, 0.0, height - box.height()))  # fmt: skip
        painter.drawRect(QRectF(corner + QPointF(column * width, 0.0), box.size()).adjusted(
            0.0, 0.0, width - box.width(), 0.0))  # fmt: skip
