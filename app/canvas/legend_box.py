"""The legend on the canvas, in the corner where it covers the least, until it is dragged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.input.mouse import CLICK_DISTANCE
from gradwire.app.canvas.paint.blocks.badges import HEIGHT
from gradwire.app.canvas.paint.legend import legend_content, legend_size, paint_legend
from gradwire.app.canvas.scene.arrays import sides_of

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats

_MARGIN = 12
_BELOW_BADGE = round(HEIGHT) + 8
"""Extra room at the upper right for the badge of stale numbers."""


class LegendBox(QWidget):
    """Stays in place while the page scrolls. ``clicked`` requests to hide it."""

    clicked = Signal()

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        self._corner = 0
        self._dragged = False
        self._grip: QPoint | None = None
        """Where it was grabbed, relative to its corner."""
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(self.tr("Legend"))
        self.setToolTip(self.tr("Drag to move, click to hide."))
        self.hide()
        context.widget.installEventFilter(self)
        context.widget.jumped.connect(self._choose)

    def toggle(self) -> None:
        """Show it where it covers the least, or hide it."""
        self._dragged = False
        self.setVisible(self.isHidden())
        self._choose()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.isHidden() and event.type() == QEvent.Type.Resize:
            self._move_to_place()
        elif not self.isHidden() and event.type() == QEvent.Type.Paint:
            if self.size() != self._size():  # other losses or thresholds
                QTimer.singleShot(0, self, self._move_to_place)
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        view, scale = self._context.view, self._context.camera.actual_zoom()
        with QPainter(self) as painter:
            painter.scale(scale, scale)
            paint_legend(painter, QPointF(), view.theme, legend_content(view.annotations))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grip = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is None:
            return
        by = event.position().toPoint() - self._grip
        if self._dragged or by.manhattanLength() > CLICK_DISTANCE:
            self._dragged = True
            self.move(self._inside(self.pos() + by))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        grip, self._grip = self._grip, None
        by = event.position().toPoint() - (grip or QPoint())
        if grip is not None and by.manhattanLength() <= CLICK_DISTANCE and not self._dragged:
            self.clicked.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _choose(self) -> None:
        """Move to the corner that covers least, unless the user has dragged it."""
        if not self.isHidden() and not self._dragged:
            covered = [self._covered(corner) for corner in self._corners()]
            self._corner = covered.index(min(covered))
        self._move_to_place()

    def _move_to_place(self) -> None:
        self.resize(self._size())
        self.move(self._inside(self.pos()) if self._dragged else self._corners()[self._corner])

    def _size(self) -> QSize:
        content = legend_content(self._context.view.annotations)
        size = legend_size(content) * self._context.camera.actual_zoom()
        return QSize(int(size.width()) + 2, int(size.height()) + 2)

    def _corners(self) -> list[QPoint]:
        """Candidate positions of its top left corner, in order of preference."""
        room, size = self._context.widget.size(), self._size()
        right = max(room.width() - size.width() - _MARGIN, 0)
        bottom = max(room.height() - size.height() - _MARGIN, 0)
        return [
            QPoint(_MARGIN, _MARGIN),
            QPoint(_MARGIN, bottom),
            QPoint(right, _MARGIN + _BELOW_BADGE),
            QPoint(right, bottom),
        ]

    def _covered(self, corner: QPoint) -> float:
        """Area of blocks and of the mini-map that it would cover there, square px."""
        view, place = self._context.view, QRect(corner, self._size())
        low, far = np.split(sides_of(view.camera.rects_to_widget(view.scene.rects)), 2, axis=1)
        box = np.array(place.getCoords(), float)
        sides: Floats = np.minimum(far, box[2:]) - np.maximum(low, box[:2])
        maps = [child.geometry() & place for child in self._others()]
        below = np.maximum(sides, 0.0).prod(axis=1).sum()
        return float(below) + sum(one.width() * one.height() for one in maps)

    def _others(self) -> list[QWidget]:
        """The other widgets on the canvas."""
        children = [
            child for child in self._context.widget.children() if isinstance(child, QWidget)
        ]
        return [child for child in children if child is not self and child.isVisible()]

    def _inside(self, corner: QPoint) -> QPoint:
        room = self._context.widget.size() - self._size()
        return QPoint(
            min(max(corner.x(), 0), max(room.width(), 0)),
            min(max(corner.y(), 0), max(room.height(), 0)),
        )
