"""Files that the system asks the running editor to open, as Finder does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtGui import QFileOpenEvent

if TYPE_CHECKING:
    from gradwire.app.shell.windows import OpenWindows


class OpenedFiles(QObject):
    """Opens them in an empty window, or in one of their own.

    Only macOS asks in this way: elsewhere a filter would look at every event of the application
    for nothing.
    """

    def __init__(self, windows: OpenWindows, application: QCoreApplication) -> None:
        super().__init__(application)
        self._windows = windows
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QFileOpenEvent):
            return False
        if path := event.file():  # empty for an address, which nothing here opens
            self._windows.open(Path(path), self._windows.active())
        return True
