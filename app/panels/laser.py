"""A laser pointer for presentations: a dot where the pointer is, and the trail behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QTimer
from PySide6.QtGui import QColor, QCursor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gradwire.app.services.theme import current_theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.services.settings import Settings

KEY = Qt.Key.Key_L
"""Held down, it shows the pointer."""
_RADIUS = 8.0
_LENGTH = 18
"""Points of the trail."""
_EVERY = 30
"""Milliseconds until the trail loses a point."""


class Laser(QWidget):
    """Lies over a widget, and is shown while the key is held there and ``is_wanted()``."""

    def __init__(self, over: QWidget, settings: Settings, is_wanted: Callable[[], bool]) -> None:
        super().__init__(over)
        self._over, self._settings, self._is_wanted = over, settings, is_wanted
        self.trail: list[QPointF] = []
        """Where the pointer was, the newest place last."""
        self._fading = QTimer(self, interval=_EVERY)
        self._fading.timeout.connect(self._fade)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        over.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.KeyPress | QEvent.Type.KeyRelease:
                return self._hold(cast("QKeyEvent", event))
            case QEvent.Type.MouseMove if self.isVisible():
                self._move(cast("QMouseEvent", event).position())
            case QEvent.Type.FocusOut:
                self._end()
        return False

    def _hold(self, event: QKeyEvent) -> bool:
        if event.key() != KEY or event.modifiers() or not self._is_wanted():
            return False
        if event.type() == QEvent.Type.KeyPress and not self.isVisible():
            self.setGeometry(self._over.rect())
            self.trail = [QPointF(self._over.mapFromGlobal(QCursor.pos()))]
            self.show()
            self.raise_()
        elif event.type() == QEvent.Type.KeyRelease and not event.isAutoRepeat():
            self._end()
        return True

    def _move(self, at: QPointF) -> None:
        kept = [] if self._settings.reduced_motion else self.trail[-_LENGTH:]
        self.trail = [*kept, at]
        if len(self.trail) > 1:
            self._fading.start()
        self.update()

    def _fade(self) -> None:
        self.trail = self.trail[1:] if len(self.trail) > 1 else self.trail
        if len(self.trail) <= 1:
            self._fading.stop()
        self.update()

    def _end(self) -> None:
        self._fading.stop()
        self.trail = []
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            colour = QColor(current_theme().error)
            for place in range(1, len(self.trail)):
                share = place / len(self.trail)
                colour.setAlphaF(0.7 * share)
                pen = QPen(colour, 2.0 * _RADIUS * share)
                pen.setCapStyle(Qt.PenCapStyle.RoundCap)
                painter.setPen(pen)
                painter.drawLine(self.trail[place - 1], self.trail[place])
            if self.trail:
                colour.setAlphaF(0.9)
                painter.setPen(QPen(QColor(current_theme().canvas), 2.0))
                painter.setBrush(colour)
                painter.drawEllipse(self.trail[-1], _RADIUS, _RADIUS)
