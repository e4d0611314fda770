"""The panel of curves in the window: how high it is, and the page above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer

from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.theme import scaled

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDockWidget

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.panels.workspace import Workspace

_HEIGHT = 250
"""Height of the panel until the user chooses another, at the normal text size, px."""
_MOST = 0.6
"""Share of the window's height that it has at most when it opens."""
_SETTLED = 400
"""Milliseconds after which the panels have moved to their places."""


class CurvesDock(WindowPart):
    """Gives the panel of curves the height that the user gave it last, and fits the page again.

    The page is fitted only if all of it was in view before.
    """

    def __init__(self, workspace: Workspace, dock: QDockWidget) -> None:
        super().__init__(workspace)
        self._dock = dock
        self._is_open = self._is_whole = False
        """Whether the page is fitted to the canvas until the panels have moved."""
        self._is_near = False
        """Whether views had pictures before."""
        self._wanted = 0
        self._settled = QTimer(self, singleShot=True, interval=_SETTLED)
        self._settled.timeout.connect(self._settle)
        dock.visibilityChanged.connect(self._follow)
        dock.installEventFilter(self)
        self._canvas.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            if watched is self._canvas:
                self._fit()
            elif self._is_open and not (self._is_whole or self._settled.isActive()):
                self._settings.curves_height = self._dock.height()
        return False

    def _follow(self, is_visible: bool) -> None:
        """The panel has come to the front, or is hidden by now."""
        if is_visible == self._is_open or self._frame.isMinimized():
            return
        self._is_open = is_visible
        self._is_whole = shows_all(self._canvas)
        self._is_near = self._canvas.zoom() >= PLAIN
        self._settled.start()
        area = self._frame.dockWidgetArea(self._dock)
        if is_visible and area == Qt.DockWidgetArea.BottomDockWidgetArea:
            wanted = self._settings.curves_height or scaled(_HEIGHT)
            self._wanted = min(wanted, round(_MOST * self._frame.height()))
            self._resize(self._wanted)
            self._fit()

    def _fit(self) -> None:
        """Show the whole page while the panels move, though never so small that pictures on the
        faces of views, which a training is watched by, give way to icons.
        """
        if self._is_whole:
            self._canvas.zoom_to_fit()
            if self._is_near and self._canvas.zoom() < PLAIN:
                self._canvas.set_zoom(PLAIN)

    def _resize(self, height: int) -> None:
        self._frame.resizeDocks([self._dock], [height], Qt.Orientation.Vertical)

    def _settle(self) -> None:
        """Add what the tabs of several panels take, and look no longer after the page."""
        missing = self._wanted - self._dock.height()
        if self._is_open and missing > 0:
            self._resize(self._wanted + missing)
        QTimer.singleShot(0, self, self._leave)

    def _leave(self) -> None:
        self._fit()
        self._is_whole = False


def shows_all(canvas: CanvasView) -> bool:
    """Whether the whole page is in view."""
    bounds = canvas.view.scene.bounds()
    if bounds is None:
        return True
    corners = canvas.view.camera.to_widget(bounds.reshape(2, 2))
    return bool((corners >= 0.0).all() and (corners <= (canvas.width(), canvas.height())).all())
