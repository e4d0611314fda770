"""Lets panels follow a hand that drags a number on the canvas at a lower rate than the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QObject

EVERY = 100
"""Milliseconds between two pictures of a panel while a hand moves."""


class Paced:
    """Shows something at once, or while a hand moves every so often, and last when it rests."""

    def __init__(self, parent: QObject, show: Callable[[], object]) -> None:
        self._show = show
        self._timer = QTimer(parent, singleShot=True, interval=EVERY)
        self._timer.timeout.connect(show)

    def follow(self, *, is_moving: bool) -> None:
        """Show what is there now: soon while a hand ``is_moving``, else at once."""
        if not is_moving:
            self._timer.stop()
            self._show()
        elif not self._timer.isActive():
            self._timer.start()
