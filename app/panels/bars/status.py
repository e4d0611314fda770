"""The right end of the status bar: activity, losses and zoom."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, QUrl, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QDesktopServices
from PySide6.QtWidgets import QToolButton

from gradwire.app.panels import labels
from gradwire.app.services.background import tell
from gradwire.app.services.examples import SUFFIX
from gradwire.runtime.engine import listening
from gradwire.runtime.publish import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from PySide6.QtWidgets import QStatusBar

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.evaluation.evaluator import Evaluator
    from gradwire.app.panels.tables.losses import Losses
    from gradwire.runtime.engine import Compilation

_BUSY_SHOWS_AFTER = 300
"""Milliseconds after which the status bar shows that a run is going on."""
_WRITTEN_SHOWS_FOR = 20_000
"""Milliseconds for which the status bar shows what was written."""
_WHOLE = (SUFFIX, ".html", ".py", ".onnx")
"""How the names of files end that have all that a diagram has."""
_COST_SHOWS_FOR = 10_000
"""Milliseconds for which the status bar shows what compiling took."""


class StatusLabels(QObject):
    """Keeps the labels of one status bar up to date.

    Any thread compiles, also one in the process of a training; it is told in that of the window.
    """

    _compiled = Signal(object)

    def __init__(
        self, bar: QStatusBar, canvas: CanvasView, losses: Losses, evaluator: Evaluator
    ) -> None:
        super().__init__(bar)
        self._bar, self._canvas = bar, canvas
        self._is_busy = False
        self._compiling = ""
        """What is being compiled."""
        self._spent = 0.0
        """Seconds that compiling has taken since something is being computed."""
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
        self.written = labels.rich()
        self.written.setWordWrap(False)
        self.written.setContentsMargins(8, 0, 8, 0)
        self.written.linkActivated.connect(self._open)
        bar.addWidget(self.written, 1)
        self.written.hide()
        self._written_timer = QTimer(self, singleShot=True, interval=_WRITTEN_SHOWS_FOR)
        self._written_timer.timeout.connect(self.written.hide)
        self._timer = QTimer(self, singleShot=True, interval=_BUSY_SHOWS_AFTER)
        self._timer.timeout.connect(self._mention)
        evaluator.busyChanged.connect(self._show_busy)
        canvas.statusMessage.connect(bar.showMessage)
        canvas.zoomChanged.connect(self._show_zoom)
        self._show_zoom(canvas.zoom())
        self._compiled.connect(self._show_compilation)
        self._listening = ExitStack()
        self._listening.enter_context(listening(partial(tell, self._compiled)))

    def shutdown(self) -> None:
        """Listen no longer."""
        self._listening.close()

    def show_written(self, paths: Sequence[Path], includes: str = "") -> None:
        """Say which files were written, offer to open the first one and its folder, and say what of
        somebody's program a file of the whole diagram ``includes``; no path hides what was said
        before.
        """
        self.written.hide()
        if not paths:
            return
        path, more = paths[0].absolute(), len(paths) - 1
        text = self.tr("Saved {0} and {1} more") if more else self.tr("Saved {0}")
        text = text.format(path.name, more)
        parts = [escape(text)]
        if not path.name.endswith(SUFFIX):  # or it is open here
            parts.append(labels.link(str(path), self.tr("Open")))
        parts.append(labels.link(str(path.parent), self.tr("Show in folder")))
        if includes and path.name.endswith(_WHOLE):
            parts.append(escape(includes))
            text = f"{text}. {includes}"
        self._bar.clearMessage()
        self.written.setText(" · ".join(parts))
        self.written.show()
        self._written_timer.start()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.written, text))

    def _open(self, path: str) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
            self._bar.showMessage(self.tr("Nothing here opens {0}.").format(path))

    def _show_zoom(self, zoom: float) -> None:
        self.zoom.setText(f"{100 * zoom / self._canvas.actual_zoom():.0f} %")

    def _show_busy(self, busy: bool) -> None:
        self._is_busy, self._spent = busy, 0.0
        self._show()

    def _show_compilation(self, compilation: Compilation) -> None:
        if compilation.seconds is None:
            text = self.tr("Compiling {0} operations for JAX …")
            self._compiling = text.format(f"{compilation.operations:,}")
        else:
            self._compiling = ""
            self._spent += compilation.seconds
            text = self.tr("Compiled for JAX in {0}").format(time_text(self._spent))
            self._bar.showMessage(text, _COST_SHOWS_FOR)
            self._spent *= self._is_busy
        self._show()

    def _show(self) -> None:
        if self._is_busy or self._compiling:
            if self.busy.text():
                self._mention()
            elif not self._timer.isActive():
                self._timer.start()
            return
        self._timer.stop()
        if self.busy.text():  # or else the whole window would be laid out again
            self.busy.clear()
            self.cancel.hide()

    def _mention(self) -> None:
        self.busy.setText(self._compiling or self.tr("Computing …"))
        self.cancel.show()
