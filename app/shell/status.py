"""The right end of the status bar: whether something is computed, the losses, the zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QLabel

if TYPE_CHECKING:
    from app.shell.main_window import MainWindow

_BUSY_SHOWS_AFTER = 300
"""Milliseconds a run may take before the status bar speaks of it."""


class Status(QObject):
    """Tells of one window what is always told."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._canvas = window.canvas
        self.busy, self.zoom = QLabel(window), QLabel(window)
        for label in (self.busy, self.zoom):
            label.setContentsMargins(8, 0, 8, 0)
        for widget in (self.busy, window.losses, self.zoom):
            window.statusBar().addPermanentWidget(widget)
        window.statusBar().setSizeGripEnabled(False)
        self._timer = QTimer(self, singleShot=True, interval=_BUSY_SHOWS_AFTER)
        self._timer.timeout.connect(lambda: self.busy.setText(self.tr("Computing …")))
        window.evaluator.busyChanged.connect(self._show_busy)

    def show_zoom(self, zoom: float) -> None:
        """Tell how large the page is shown; ``zoom`` is widget px per scene unit."""
        self.zoom.setText(f"{100 * zoom / self._canvas.actual():.0f} %")

    def _show_busy(self, busy: bool) -> None:
        if busy:
            self._timer.start()
        else:
            self._timer.stop()
            self.busy.clear()
