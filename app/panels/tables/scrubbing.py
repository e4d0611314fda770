"""A table whose numbers are dragged, stepped by arrows and wheel, and typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, Qt, Signal

from gradwire.app.canvas.input.numbers import PIXELS, factor_of
from gradwire.app.document.numbers import Scrub, Slider
from gradwire.app.panels.tables.lines import PlainTable
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF
    from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

    Index = QModelIndex | QPersistentModelIndex

_STEPS = {Qt.Key.Key_Right: 1.0, Qt.Key.Key_Left: -1.0}
_NOTCH = 120.0
"""Eighths of a degree that one notch of a wheel turns."""
_CLICK = 3.0
"""How far the pointer may move during a click, px."""


@dataclass(eq=False)
class _Drag:
    """A drag of the number of one row; ``value_at`` is its value for an x and the held keys."""

    row: int
    start: float
    before: object
    shown: object
    value_at: Callable[[float, Qt.KeyboardModifier], np.generic]
    moves: bool = False


class ScrubTable(PlainTable):
    """Each row may have a number in the column ``numbers``, some of them with a slider."""

    previewed = Signal(int, object)
    """A row, and its number on the way; None if the drag is taken back."""
    committed = Signal(int, object)
    """A row, and the number that is wanted."""
    numbers = 0

    def number_of(self, row: int) -> np.generic | None:
        """The number of a row as a numpy scalar; None if it can't be changed."""
        raise NotImplementedError  # each table has its own

    def slider_of(self, row: int) -> Slider | None:
        """The limits of the number of a row, if it has any."""
        raise NotImplementedError  # each table has its own

    def track_in(self, cell: QRect) -> QRect:
        """Where the knob of a slider may stand in a cell."""
        raise NotImplementedError  # each table has its own

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._drag = None
        row = self._row_at(event.position())
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            at, number = event.position().x(), self.number_of(row)
            self._drag = _Drag(row, at, number, number, self._values(row, at, number))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        drag, at = self._drag, event.position()
        if drag is None:
            over = self._row_at(at) is not None
            shape = Qt.CursorShape.SizeHorCursor if over else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            super().mouseMoveEvent(event)
        elif drag.moves or abs(at.x() - drag.start) > _CLICK:
            drag.moves = True
            value = drag.value_at(at.x(), event.modifiers())
            if value != drag.shown:
                drag.shown = value
                self.previewed.emit(drag.row, value)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        drag, self._drag = self._drag, None
        if drag is None or not drag.moves:
            super().mouseReleaseEvent(event)
        else:
            self.setState(self.State.NoState)  # the release of a drag is no click
            wanted = None if drag.shown == drag.before else drag.shown
            (self.previewed if wanted is None else self.committed).emit(drag.row, wanted)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._drag is not None:
            self.previewed.emit(self._drag.row, None)
            self._drag = None
        elif not self._step(_STEPS.get(Qt.Key(event.key()), 0.0), event.modifiers()):
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y() or event.angleDelta().x()
        on_current = self._row_at(event.position()) == self.currentIndex().row()
        if not (on_current and self._step(turned / _NOTCH, event.modifiers())):
            super().wheelEvent(event)

    _drag: _Drag | None = None
    _scrub: Scrub | None = None
    """Of arrows and wheel, which keep the size of their steps as long as nothing else does."""

    def _row_at(self, at: QPointF) -> int | None:
        """The row whose number is at a point; None if there is no number."""
        index = self.indexAt(at.toPoint())
        is_number = index.column() == self.numbers and self.number_of(index.row()) is not None
        return index.row() if is_number else None

    def _step(self, steps: float, modifiers: Qt.KeyboardModifier) -> bool:
        """Change the number of the current row by steps; False if there is none."""
        row = self.currentIndex().row()
        before = self.number_of(row) if steps and row >= 0 else None
        if before is None:
            return False
        if self._scrub is None or self._scrub.value != before:
            self._scrub = Scrub(before, self.slider_of(row))
        if self._scrub.by(steps, factor_of(modifiers)) != before:
            self.committed.emit(row, self._scrub.value)
        return True

    def _values(
        self, row: int, start: float, number: Any
    ) -> Callable[[float, Qt.KeyboardModifier], np.generic]:
        """The value for each x: on a slider the knob follows, elsewhere each move makes steps."""
        slider = self.slider_of(row)
        track = self.track_in(self.visualRect(self.model().index(row, self.numbers)))
        if slider is not None and start <= track.right():
            return lambda x, keys: slider.at((x - track.left()) / track.width(), number.dtype)
        scrub, last = Scrub(number, slider), [start]

        def value_at(x: float, keys: Qt.KeyboardModifier) -> np.generic:
            steps, last[0] = (x - last[0]) / PIXELS, x
            return scrub.by(steps, factor_of(keys))

        return value_at
