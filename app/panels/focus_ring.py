"""Shows which widget has the keyboard focus, once the focus was moved by keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtGui import QMoveEvent, QPainter, QPaintEvent, QRegion, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDialog, QFocusFrame, QScrollArea, QWidget

from gradwire.app.services import theme

if TYPE_CHECKING:
    from collections.abc import Callable


WIDTH = 2
"""Width of the ring, px at the normal text size."""
_FRAME = 48
"""Height of a window's title and borders, px."""
_MOST = 100
"""Number of widgets out of sight to skip."""


class FocusRing(QFocusFrame):
    """A ring around a widget, in the accent colour, until the focus leaves it.

    Widgets differ in what they show by themselves, down to nothing for areas that scroll and for
    text with links; a ring for all of them is what people look for.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()  # until there is something to show it around
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._leave)

    def move_on(self, move: Callable[[], bool]) -> bool:
        """Call ``move`` until the focus is on something that is seen, and show the ring there.

        Panels behind a tab, and what does not fit the window, accept the focus unseen.
        """
        before = QApplication.focusWidget()
        moved = move()
        for _ in range(_MOST):
            at = QApplication.focusWidget()
            if at is None or at is before or _is_seen(at):
                break
            moved = move()
        self.show_focus()
        return moved

    def show_focus(self) -> None:
        """Show the ring around the widget with the focus; around none in another window."""
        at = QApplication.focusWidget()
        self._surround(at if at is not None and at.window() is self.window() else None)
        self.raise_()  # some styles have it under the widget
        self._trim()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme.current_theme().accent)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._trim()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._trim()

    def _trim(self) -> None:
        """Keep the ring within the part that its parent shows."""
        parent = self.parentWidget()
        if parent is None:
            return
        outer = parent.rect().translated(-self.pos()).intersected(self.rect())
        width = max(theme.scaled(WIDTH), WIDTH)
        inner = outer.adjusted(width, width, -width, -width)
        self.setMask(QRegion(outer) - QRegion(inner))

    def _leave(self, before: QWidget | None, now: QWidget | None) -> None:
        if self.widget() is not None and now is not self.widget():
            self._surround(None)

    def _surround(self, widget: QWidget | None) -> None:
        self.setWidget(widget)  # type: ignore[arg-type]  # None is for no widget


class Dialog(QDialog):
    """A dialog that shows where Tab leads, and that fits the screen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.focus_ring = FocusRing(self)

    def showEvent(self, event: QShowEvent) -> None:
        """Leave room on the screen for the frame that the window manager adds."""
        most = self.screen().availableSize() - QSize(0, _FRAME)
        self.resize(self.size().boundedTo(most))
        super().showEvent(event)

    def focusNextPrevChild(self, following: bool) -> bool:
        """Move the focus as Tab and Shift+Tab do, and show where it is."""
        move = super().focusNextPrevChild
        return self.focus_ring.move_on(lambda: move(following))


def _is_seen(widget: QWidget) -> bool:
    """Whether anything of a widget is seen, once the areas around it are scrolled to it."""
    above = widget.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(widget)
        above = above.parentWidget()
    return not widget.visibleRegion().isEmpty()
