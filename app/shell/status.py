"""The right end of the status bar: activity, losses and zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QToolButton

from app.panels import labels

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStatusBar

    from app.canvas.view import CanvasView
    from app.evaluation.evaluator import Evaluator
    from app.panels.tables.losses import Losses

_BUSY_SHOWS_AFTER = 300
"""Milliseconds after which the status bar shows that a run is going on."""


class Status(QObject):
    """Keeps the labels of one status bar up to date."""

    def __init__(
        self, bar: QStatusBar, canvas: CanvasView, losses: Losses, evaluator: Evaluator
    ) -> None:
        super().__init__(bar)
        self._canvas = canvas
        self.busy, self.zoom = labels.plain(parent=bar), labels.plain(parent=bar)
        for label in (self.busy, self.zoom):
            label.setContentsMargins(8, 0, 8, 0)
        self.cancel = QToolButton(bar)
        self.cancel.setText(self.tr("Cancel"))
        self.cancel.setToolTip(self.tr("Give up what is being computed"))
        self.cancel.hide()
        for widget in (self.busy, self.cancel, losses, self.zoom):
            bar.addPermanentWidget(widget)
        bar.setSizeGripEnabled(False)
        self._timer = QTimer(self, singleShot=True, interval=_BUSY_SHOWS_AFTER)
        self._timer.timeout.connect(self._mention)
        evaluator.busyChanged.connect(self._show_busy)
        canvas.statusMessage.connect(bar.showMessage)
        canvas.zoomChanged.connect(self._show_zoom)
        self._show_zoom(canvas.zoom())

    def _show_zoom(self, zoom: float) -> None:
        self.zoom.setText(f"{100 * zoom / self._canvas.actual_zoom():.0f} %")

    def _show_busy(self, busy: bool) -> None:
        if busy:
            self._timer.start()
            return
        self._timer.stop()
        if self.busy.text():  # or else the whole window would be laid out again
            self.busy.clear()
            self.cancel.hide()

    def _mention(self) -> None:
        self.busy.setText(self.tr("Computing …"))
        self.cancel.show()
