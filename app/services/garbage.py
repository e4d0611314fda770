"""Cyclic garbage, collected in the thread of the windows alone."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL = 500
"""Milliseconds between looks for garbage."""


class GarbageCollector(QObject):
    """Collects cyclic garbage in the thread of the event loop, in place of Python.

    Python collects in whichever thread happens to allocate. An evaluator would destroy objects of
    Qt there: it holds a lock of Qt and waits for the interpreter, the window holds the interpreter
    and waits for the lock, and neither ever goes on.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the generations that are due by Python's own thresholds."""
        counts = zip(gc.get_count(), gc.get_threshold(), strict=True)
        due = [generation for generation, (count, most) in enumerate(counts) if count > most]
        if due:
            gc.collect(due[-1])

    def stop(self) -> None:
        """Let Python collect again."""
        self._timer.stop()
        gc.enable()
