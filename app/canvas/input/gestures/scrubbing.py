"""Dragging a number sideways to change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.input.gestures.base import Gesture
from gradwire.app.document.numbers import COARSE, FINE, Scrub

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.runtime.diagram import SetParameters

PIXELS = 4.0
"""How far the pointer moves for one step, widget px."""


class ChangeNumber(Gesture):
    """Changes a number with the pointer.

    The diagram follows as a preview, which becomes one edit at the end.
    """

    cursor = Qt.CursorShape.SizeHorCursor

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        before: Any,
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start)
        self._change = change
        self._before = self._shown = before

    def value_at(self, at: QPointF) -> Any:
        """The number for a pointer that has moved to ``at``."""
        raise NotImplementedError  # each gesture has its own

    def move(self, at: QPointF) -> None:
        value = self.value_at(at)
        if value != self._shown:
            self._shown = value
            self.context.previews.put(self._change(value))

    def finish(self, at: QPointF) -> None:
        self.move(at)
        if self._shown == self._before:
            self.context.previews.put(None)
        else:
            self.context.request(self._change(self._shown))

    def cancel(self) -> None:
        self.context.previews.put(None)


class ScrubNumber(ChangeNumber):
    """Moves a number by steps while the pointer moves sideways; Shift is slower, Ctrl faster."""

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        scrub: Scrub,
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start, scrub.value, change)
        self._scrub = scrub
        self._last = start.x()

    def value_at(self, at: QPointF) -> Any:
        steps, self._last = (at.x() - self._last) / PIXELS, at.x()
        return self._scrub.by(steps, factor_of(self.modifiers))


class SlideNumber(ChangeNumber):
    """Moves the knob of a slider under the pointer; each place on the track is one number."""

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        before: Any,
        number_at: Callable[[float], Any],
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start, before, change)
        self._number_at = number_at

    def value_at(self, at: QPointF) -> Any:
        return self._number_at(at.x())


def factor_of(modifiers: Qt.KeyboardModifier) -> float:
    """By how much the held keys make a step larger or smaller."""
    if modifiers & Qt.KeyboardModifier.ShiftModifier:
        return FINE
    return COARSE if modifiers & Qt.KeyboardModifier.ControlModifier else 1.0
