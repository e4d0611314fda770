"""A second window for the audience: it shows what the canvas shows, until it is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from app.services.theme import LIGHT, follow_theme

if TYPE_CHECKING:
    from PySide6.QtGui import QCloseEvent

    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.services.theme import Theme

_EVERY = 40
"""Milliseconds between a change of the canvas and its picture, so that many changes are one."""


class AudienceWindow(QWidget):
    """A picture of a widget, kept up to date; a key turns it into a still."""

    closed = Signal()

    def __init__(self, source: QWidget, title: str) -> None:
        super().__init__()
        self._source = source
        self._theme = LIGHT
        self._picture = QPixmap()
        self._is_frozen = self._is_taking = False
        self._later = QTimer(self, singleShot=True, interval=_EVERY)
        self._later.timeout.connect(self._take)
        self.setWindowTitle(title)
        self.setAccessibleName(self.tr("What the audience sees"))
        source.installEventFilter(self)
        follow_theme(self)
        self._take()

    @property
    def is_frozen(self) -> bool:
        """Whether it keeps what it shows."""
        return self._is_frozen

    def freeze(self, *, frozen: bool) -> None:
        """Keep what is shown, or follow again."""
        self._is_frozen = frozen
        if not frozen:
            self._take()

    def set_theme(self, theme: Theme) -> None:
        """Use the ground of ``theme`` around the picture."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return self._source.size()

    def picture(self) -> QPixmap:
        """What is shown."""
        return self._picture

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_new = event.type() == QEvent.Type.Paint and not self._is_taking
        if is_new and not self._is_frozen and not self._later.isActive():
            self._later.start()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """F11 fills the screen and gives it back; Esc closes."""
        if event.key() == Qt.Key.Key_F11:
            self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)
        elif event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: object) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._later.stop()
        self._source.removeEventFilter(self)
        event.accept()
        self.closed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        room, size = QRectF(self.rect()), self._picture.deviceIndependentSize()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.fillRect(room, QColor(self._theme.canvas))
            if size.isEmpty():
                return
            size.scale(room.size(), Qt.AspectRatioMode.KeepAspectRatio)
            box = QRectF(0.0, 0.0, size.width(), size.height())
            box.moveCenter(room.center())
            painter.drawPixmap(box, self._picture, QRectF(self._picture.rect()))

    def _take(self) -> None:
        """Take a picture of the source as it is, unless this is frozen by now."""
        if self._is_frozen:
            return
        self._is_taking = True  # grabbing paints the source as well
        try:
            self._picture = self._source.grab()
        finally:
            self._is_taking = False
        self.update()


class Audience(QObject):
    """Opens, freezes and closes the window for the audience of one canvas."""

    changed = Signal(bool, bool)
    """Whether the window is open, and whether it is frozen."""

    def __init__(self, canvas: CanvasView, document: Document, parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._document = canvas, document
        self.window: AudienceWindow | None = None

    def toggle(self) -> None:
        """Open the window, or close it."""
        if self.window is not None:
            self.window.close()
            return
        title = self.tr("{0} — for the audience").format(self._document.name)
        self.window = AudienceWindow(self._canvas, title)
        self.window.closed.connect(self._forget)
        self.window.show()
        self._report()

    def freeze(self) -> None:
        """Keep what the audience sees, or let it follow again."""
        if self.window is None:
            self._canvas.hint(self.tr("First open the window for the audience."))
        else:
            self.window.freeze(frozen=not self.window.is_frozen)
        self._report()

    def close(self) -> None:
        """Close the window, since that of the diagram is closed."""
        if self.window is not None:
            self.window.close()

    def _forget(self) -> None:
        if self.window is not None:
            self.window.deleteLater()
            self.window = None
        self._report()

    def _report(self) -> None:
        window = self.window
        self.changed.emit(window is not None, window is not None and window.is_frozen)
