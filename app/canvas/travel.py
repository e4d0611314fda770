"""Whether the camera of the canvas has just moved, and will probably move on."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

_STILL_AFTER = 150
"""Milliseconds without another move after the frame that showed the last one."""


class Travel(QObject):
    """Follows a camera from its first move until it rests."""

    ended = Signal()
    """The camera rests: the page can be painted whole and sharp."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_going_on = False
        """Whether the camera has moved, and has not rested since."""
        self._timer = QTimer(self, singleShot=True, interval=_STILL_AFTER)
        self._timer.timeout.connect(self._end)

    def move(self) -> None:
        """The camera has moved."""
        self.is_going_on = True
        self._timer.stop()

    def shown(self) -> None:
        """A frame was painted, however long that took."""
        if self.is_going_on and not self._timer.isActive():
            self._timer.start()

    def _end(self) -> None:
        self.is_going_on = False
        self.ended.emit()
