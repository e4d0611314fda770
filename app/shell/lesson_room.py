"""Room for the diagram of a lesson in a narrow window: the blocks to choose from are put away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QStyle

from gradwire.app.canvas.scene.camera import NUMBERS, Camera
from gradwire.app.controllers.training.dock import shows_all
from gradwire.runtime.diagram import MAIN, BuildStep

if TYPE_CHECKING:
    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.shell.docks import Docks

_SETTLED = 100
"""Milliseconds after which panels have moved to their places."""
_PALETTE = "palette"


class LessonRoom(QObject):
    """Puts the palette away while a lesson needs its room, and gives it back afterwards.

    It does so where the palette keeps the diagram from being shown so large that faces have
    numbers, and no step that is left draws anything. A palette that the user opens stays open
    until the lesson ends.
    """

    def __init__(self, player: LessonPlayer, canvas: CanvasView, docks: Docks) -> None:
        super().__init__(docks)
        self._player, self._canvas, self._docks = player, canvas, docks
        self._dock = docks.by_name[_PALETTE]
        self._taken = 0
        """Width that the palette gave to the canvas; 0 while it is not put away."""
        self._is_wanted = self._is_moving = False
        """Whether the user opened it in this lesson, and whether it is moved without the user."""
        self._was_hidden = self._dock.isHidden()
        self._is_new = False
        """Whether the lesson has just begun, so that its diagram is fitted in any case."""
        self._settled = QTimer(self, singleShot=True, interval=_SETTLED)
        self._settled.timeout.connect(self._judge)
        self._fitted = QTimer(self, singleShot=True, interval=0)
        self._fitted.timeout.connect(canvas.zoom_to_fit)
        player.toggled.connect(self._follow)
        player.advanced.connect(self._settled.start)
        self._dock.toggleViewAction().toggled.connect(self._notice)
        canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self._player.is_on:
            self._settled.start()
        return False

    def end(self) -> None:
        """Give the palette back."""
        self._settled.stop()
        self._show(is_shown=True)

    def _follow(self, is_on: bool) -> None:
        """A lesson has begun or ended."""
        self._is_wanted, self._is_new = False, is_on
        if is_on:
            self._settled.start()
        else:
            self.end()

    def _notice(self) -> None:
        """Remember that the user opened the palette."""
        is_hidden, was_hidden = self._dock.isHidden(), self._was_hidden
        self._was_hidden = is_hidden
        if self._is_moving or self._docks.are_concealed or not self._player.is_on:
            return
        if was_hidden and not is_hidden:
            self._is_wanted, self._taken = True, 0

    def _judge(self) -> None:
        """Put the palette away, or give it back, as the lesson and the window are now."""
        if QApplication.mouseButtons():  # a panel is being dragged
            self._settled.start()
        elif self._player.is_on and not self._docks.are_concealed:
            if self._canvas.view.scene.page_name == MAIN:
                self._show(is_shown=self._is_wanted or self._draws() or not self._is_narrow())
            self._is_new = False

    def _draws(self) -> bool:
        """Whether the step that is shown or a later one draws something."""
        walk = self._player.walk
        assert walk is not None
        return any(isinstance(step, BuildStep) for step in walk.lesson.steps[walk.index :])

    def _is_narrow(self) -> bool:
        """Whether the canvas beside the palette is too narrow for numbers on the diagram."""
        wide = self._canvas.width() - self._taken
        beside = self._zoom(wide)
        return beside < min(NUMBERS, self._zoom(wide + (self._taken or self._width())))

    def _zoom(self, wide: int) -> float:
        """The zoom at which all of the diagram is seen on a canvas of a width."""
        bounds = self._canvas.view.scene.bounds()
        if bounds is None:
            return 1.0
        return Camera.fitting(bounds, wide, self._canvas.height()).zoom

    def _width(self) -> int:
        """What the canvas gets if the palette is put away: nothing unless it is alone aside."""
        if self._dock.isHidden() or not self._docks.is_alone_aside(_PALETTE):
            return 0
        extent = QStyle.PixelMetric.PM_DockWidgetSeparatorExtent
        return self._dock.width() + self._dock.style().pixelMetric(extent, None, self._dock)

    def _show(self, *, is_shown: bool) -> None:
        if is_shown == (not self._taken):
            return
        is_fitted = self._is_new or shows_all(self._canvas)
        self._taken = 0 if is_shown else self._width()
        self._is_moving = True
        try:
            self._docks.give_back(_PALETTE) if is_shown else self._dock.hide()
        finally:
            self._is_moving = False
        if is_fitted and self._player.is_on:
            self._fitted.start()
