"""Paces the previews of a gesture, so that results are seen however fast the hand is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QObject

    from gradwire.runtime.diagram import Change

_WAIT = 100
"""Milliseconds that a preview waits at most for the result of the one before."""


class Previews:
    """Shows the newest preview once the result of the one before is painted.

    A result would never be seen if each move of the hand superseded the evaluation under way.
    """

    def __init__(self, parent: QObject, show: Callable[[Change | None], None]) -> None:
        self._parent = parent
        self._show = show
        self._next: Change | None = None
        self._timer = QTimer(parent, singleShot=True, interval=_WAIT)
        self._timer.timeout.connect(self._show_next)
        self.is_showing = False
        """Whether the diagram is being replaced by a preview."""

    @property
    def is_moving(self) -> bool:
        """Whether the result of the last preview is awaited."""
        return self._timer.isActive()

    def put(self, change: Change | None) -> None:
        """Show a change, now or soon; None shows the diagram without one at once."""
        if change is not None and self._timer.isActive():
            self._next = change
            return
        self.stop()
        if change is not None:
            self._timer.start()
        self.is_showing = True
        try:
            self._show(change)
        finally:
            self.is_showing = False

    def stop(self) -> None:
        """Drop what waits, since the gesture ends."""
        self._timer.stop()
        self._next = None

    def result_shown(self) -> None:
        """The result of the last preview is there, and will be painted."""
        if self._timer.isActive():
            QTimer.singleShot(0, self._parent, self._show_next)

    def _show_next(self) -> None:
        waiting = self._next
        self.stop()
        if waiting is not None:
            self.put(waiting)
