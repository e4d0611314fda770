"""A second window for the audience: pictures of widgets side by side, until it is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QChildEvent, QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from gradwire.app.services.theme import current_theme

if TYPE_CHECKING:
    from PySide6.QtGui import QCloseEvent


_EVERY = 40
"""Milliseconds between a change of the canvas and its picture, so that many changes are one."""


class AudienceWindow(QWidget):
    """A picture of widgets side by side, kept up to date; a key turns it into a still."""

    closed = Signal()
    taken = Signal()
    """New pictures are shown."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._sources: tuple[QWidget, ...] = ()
        self._pictures: list[QPixmap] = []
        self._is_frozen = self._is_taking = False
        self._later = QTimer(self, singleShot=True, interval=_EVERY)
        self._later.timeout.connect(self._take)
        self.setWindowTitle(title)
        self.setAccessibleName(self.tr("What the audience sees"))

    @property
    def is_frozen(self) -> bool:
        """Whether it keeps what it shows."""
        return self._is_frozen

    def freeze(self, *, frozen: bool) -> None:
        """Keep what is shown, or follow again."""
        self._is_frozen = frozen
        if not frozen:
            self._take()

    def follow(self, *sources: QWidget) -> None:
        """Show ``sources`` from left to right instead of what was shown before."""
        self._watch(follow=False)
        self._sources = sources
        self._watch(follow=True)
        self._take()

    def sizeHint(self) -> QSize:
        sizes = [source.size() for source in self._sources]
        return QSize(sum(s.width() for s in sizes), max(s.height() for s in sizes))

    def pictures(self) -> list[QPixmap]:
        """What is shown, from left to right."""
        return self._pictures

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            self._watch_tree(event.child(), follow=True)
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
        self._watch(follow=False)
        event.accept()
        self.closed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        room, sizes = QRectF(self.rect()), [p.deviceIndependentSize() for p in self._pictures]
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.fillRect(room, QColor(current_theme().canvas))
            wide, high = sum(s.width() for s in sizes), max((s.height() for s in sizes), default=0)
            if not wide or not high:
                return
            scale = min(room.width() / wide, room.height() / high)
            left = room.center().x() - 0.5 * scale * wide
            top = room.center().y() - 0.5 * scale * high
            for picture, size in zip(self._pictures, sizes, strict=True):
                box = QRectF(left, top, scale * size.width(), scale * size.height())
                painter.drawPixmap(box, picture, QRectF(picture.rect()))
                left = box.right()

    def _watch(self, *, follow: bool) -> None:
        for source in self._sources:
            self._watch_tree(source, follow=follow)

    def _watch_tree(self, root: QObject, *, follow: bool) -> None:
        """Be told when ``root`` or anything in it is painted, or no longer."""
        for watched in (root, *root.findChildren(QWidget)):
            if follow:
                watched.installEventFilter(self)
            else:
                watched.removeEventFilter(self)

    def _take(self) -> None:
        """Take pictures of the sources as they are, unless this is frozen by now."""
        if self._is_frozen:
            return
        self._is_taking = True  # grabbing paints the sources as well
        try:
            self._pictures = [source.grab() for source in self._sources]
        finally:
            self._is_taking = False
        self.update()
        self.taken.emit()
