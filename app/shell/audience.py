"""A second window for the audience: the canvas and the lesson played there, until it is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QChildEvent, QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.theme import LIGHT, follow_theme

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QCloseEvent

    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.theme import Theme

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
        self._theme = LIGHT
        self._pictures: list[QPixmap] = []
        self._is_frozen = self._is_taking = False
        self._later = QTimer(self, singleShot=True, interval=_EVERY)
        self._later.timeout.connect(self._take)
        self.setWindowTitle(title)
        self.setAccessibleName(self.tr("What the audience sees"))
        follow_theme(self)

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

    def set_theme(self, theme: Theme) -> None:
        """Use the ground of ``theme`` around the pictures."""
        self._theme = theme
        self.update()

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
            painter.fillRect(room, QColor(self._theme.canvas))
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


class Audience(WindowPart):
    """Opens, freezes and closes the window for the audience of one canvas and its lesson."""

    changed = Signal(bool, bool)
    """Whether the window is open, and whether it is frozen."""

    def __init__(self, workspace: Workspace, lesson: Callable[[], LessonPlayer | None]) -> None:
        super().__init__(workspace)
        self._lesson = lesson
        self.window: AudienceWindow | None = None

    def toggle(self) -> None:
        """Open the window, or close it."""
        if self.window is not None:
            self.window.close()
            return
        title = self.tr("{0} — for the audience").format(self._document.name)
        self.window = AudienceWindow(title)
        self.window.closed.connect(self._forget)
        self.choose()
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

    def choose(self) -> None:
        """Show the canvas, and beside it the step of a lesson while one is played."""
        if self.window is not None:
            lesson = self._lesson()
            beside = () if lesson is None else (lesson.panel,)
            self.window.follow(self._canvas, *beside)

    def _forget(self) -> None:
        if self.window is not None:
            self.window.deleteLater()
            self.window = None
        self._report()

    def _report(self) -> None:
        window = self.window
        self.changed.emit(window is not None, window is not None and window.is_frozen)
