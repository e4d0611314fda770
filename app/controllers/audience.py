"""The window for the audience: the canvas, and the lesson that is played there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.audience import AudienceWindow
from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.panels.workspace import Workspace


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
