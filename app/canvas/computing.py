"""Whether the canvas shows that a run is going on, and the wish to end it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

SHOWN_AFTER = 150
"""Milliseconds after which a run is shown; most end sooner, and would only flicker."""


class Computing(QObject):
    """Follows the runs of an evaluator."""

    changed = Signal(bool)
    """A run is shown from now on, or no longer."""
    cancelRequested = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = False
        self._timer = QTimer(self, singleShot=True, interval=SHOWN_AFTER)
        self._timer.timeout.connect(lambda: self._show(shown=True))

    def set_busy(self, busy: bool) -> None:
        """Follow the beginning or the end of a run."""
        if busy:
            self._timer.start()
        else:
            self._timer.stop()
            self._show(shown=False)

    def cancel(self) -> bool:
        """Ask for the end of the run; False while none is shown, since nobody could mean it."""
        if self._shown:
            self.cancelRequested.emit()
            return True
        return False

    def _show(self, *, shown: bool) -> None:
        if shown != self._shown:
            self._shown = shown
            self.changed.emit(shown)
