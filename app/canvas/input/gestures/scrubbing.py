"""Dragging a number sideways to change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt

from app.canvas.input.gestures.base import Gesture, Host
from app.document.numbers import COARSE, FINE, Scrub

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.diagram import SetParameters

PIXELS = 4.0
"""How far the pointer moves for one step, widget px."""


class ScrubNumber(Gesture):
    """Changes a number while the pointer moves sideways; Shift makes it slower, Ctrl faster.

    The diagram follows as a preview, which becomes one edit at the end.
    """

    cursor = Qt.CursorShape.SizeHorCursor

    def __init__(
        self,
        host: Host,
        start: QPointF,
        scrub: Scrub,
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(host, start)
        self._scrub, self._change = scrub, change
        self._before = scrub.value
        self._shown = scrub.value
        self._last = start.x()

    def move(self, at: QPointF) -> None:
        steps, self._last = (at.x() - self._last) / PIXELS, at.x()
        value = self._scrub.by(steps, factor_of(self.modifiers))
        if value != self._shown:
            self._shown = value
            self.host.preview(self._change(value))

    def finish(self, at: QPointF) -> None:
        self.move(at)
        if self._shown == self._before:
            self.host.preview(None)
        else:
            self.host.request(self._change(self._shown))

    def cancel(self) -> None:
        self.host.preview(None)


def factor_of(modifiers: Qt.KeyboardModifier) -> float:
    """By how much the held keys make a step larger or smaller."""
    if modifiers & Qt.KeyboardModifier.ShiftModifier:
        return FINE
    return COARSE if modifiers & Qt.KeyboardModifier.ControlModifier else 1.0
