"""The legend on the canvas: in the corner where it covers least, until it is dragged elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.canvas.input.mouse import CLICK
from app.canvas.paint.blocks.badges import HEIGHT
from app.canvas.paint.legend import key_of, legend_size, paint_legend

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats
    from app.canvas.stage import Stage

_MARGIN = 12
_BELOW_PILL = round(HEIGHT) + 8
"""More room at the upper right, where it is told that numbers are of an older diagram."""


class LegendBox(QWidget):
    """Stays where it is while the page is moved below it. A click asks for it to be put away."""

    clicked = Signal()

    def __init__(self, canvas: Stage) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._corner = 0
        self._dragged = False
        self._grip: QPoint | None = None
        """Where the pointer took it, from its own corner."""
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(self.tr("Legend"))
        self.setToolTip(self.tr("Drag it elsewhere; a click puts it away."))
        self.hide()
        canvas.installEventFilter(self)
        canvas.jumped.connect(self._choose)

    def toggle(self) -> None:
        """Show it where it covers least, or put it away."""
        self._dragged = False
        self.setVisible(self.isHidden())
        self._choose()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not self.isHidden() and event.type() == QEvent.Type.Resize:
            self._place()
        elif not self.isHidden() and event.type() == QEvent.Type.Paint:
            if self.size() != self._size():  # other losses or thresholds
                QTimer.singleShot(0, self, self._place)
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        view, scale = self._canvas.view, self._canvas.actual()
        with QPainter(self) as painter:
            painter.scale(scale, scale)
            paint_legend(painter, QPointF(), view.theme, key_of(view.facts))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._grip = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._grip is None:
            return
        by = event.position().toPoint() - self._grip
        if self._dragged or by.manhattanLength() > CLICK:
            self._dragged = True
            self.move(self._inside(self.pos() + by))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        grip, self._grip = self._grip, None
        by = event.position().toPoint() - (grip or QPoint())
        if grip is not None and by.manhattanLength() <= CLICK and not self._dragged:
            self.clicked.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _choose(self) -> None:
        """Go to the corner with the fewest blocks below, unless the user has put it elsewhere."""
        if not self.isHidden() and not self._dragged:
            covered = [self._covered(corner) for corner in self._corners()]
            self._corner = covered.index(min(covered))
        self._place()

    def _place(self) -> None:
        self.resize(self._size())
        self.move(self._inside(self.pos()) if self._dragged else self._corners()[self._corner])

    def _size(self) -> QSize:
        size = legend_size(key_of(self._canvas.view.facts)) * self._canvas.actual()
        return QSize(int(size.width()) + 2, int(size.height()) + 2)

    def _corners(self) -> list[QPoint]:
        """Where its upper left can be, in the order of preference."""
        room, size = self._canvas.size(), self._size()
        right = max(room.width() - size.width() - _MARGIN, 0)
        bottom = max(room.height() - size.height() - _MARGIN, 0)
        return [
            QPoint(_MARGIN, _MARGIN),
            QPoint(_MARGIN, bottom),
            QPoint(right, _MARGIN + _BELOW_PILL),
            QPoint(right, bottom),
        ]

    def _covered(self, corner: QPoint) -> float:
        """Square px of blocks, and of the mini-map, that it would lie over with that corner."""
        view, place = self._canvas.view, QRect(corner, self._size())
        low = view.camera.to_widget(view.scene.rects[:, :2])
        far = low + view.scene.rects[:, 2:] * view.camera.zoom
        box = np.array([place.left(), place.top(), place.right(), place.bottom()], float)
        sides: Floats = np.minimum(far, box[2:]) - np.maximum(low, box[:2])
        maps = [child.geometry() & place for child in self._others()]
        below = np.maximum(sides, 0.0).prod(axis=1).sum()
        return float(below) + sum(one.width() * one.height() for one in maps)

    def _others(self) -> list[QWidget]:
        """What else lies over the canvas."""
        children = [child for child in self._canvas.children() if isinstance(child, QWidget)]
        return [child for child in children if child is not self and child.isVisible()]

    def _inside(self, corner: QPoint) -> QPoint:
        room = self._canvas.size() - self._size()
        return QPoint(
            min(max(corner.x(), 0), max(room.width(), 0)),
            min(max(corner.y(), 0), max(room.height(), 0)),
        )
