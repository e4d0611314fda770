"""Cyclic garbage, collected in the thread of the windows alone."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QGuiApplication

INTERVAL = 500
"""Milliseconds between looks for garbage."""
_MOST = 1_000_000
"""Objects made since the last look that are not left to lie until a mouse button is released."""


class GarbageCollector(QObject):
    """Collects cyclic garbage in the thread of the event loop, in place of Python and for good.

    Python collects wherever something happens to allocate. In an evaluator's thread that would
    destroy objects of Qt: the evaluator holds a lock of Qt and waits for the interpreter, the
    window holds the interpreter and waits for the lock, and neither ever goes on. In the window's
    own thread the destructor of a QObject allocates while it holds such a lock: if the garbage
    includes another QObject, the thread waits for itself. So Python's collector stays off as long
    as the process may destroy a QObject, which is until it ends. What is there before the first
    window, that is modules and what they hold, is not looked at again: it never becomes garbage,
    and is most of what there is to look at.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        gc.freeze()
        self._timer = QTimer(self, interval=INTERVAL)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the generations that are due by Python's own thresholds."""
        if QGuiApplication.mouseButtons() and gc.get_count()[0] < _MOST:
            return  # what the hand drags would stop for a moment
        counts = zip(gc.get_count(), gc.get_threshold(), strict=True)
        due = [generation for generation, (count, most) in enumerate(counts) if count > most]
        if due:
            gc.collect(due[-1])
