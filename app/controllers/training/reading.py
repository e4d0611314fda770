"""Shows how far the reading of a large data file is, and cancels it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import tell
from gradwire.blocks.errors import FileError
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.runtime.data import listening

if TYPE_CHECKING:
    from gradwire.app.document.document import Document
    from gradwire.app.panels.bars.banner import ProgressBar
    from gradwire.app.panels.workspace import Workspace

_AFTER, _EVERY = 0.3, 0.1
"""Seconds after which progress is shown, and between two times that it is."""


class DataReading(WindowPart):
    """Shows the reading of data files of one window's document in its bar of progress.

    Any thread reads; what it reports is shown in that of the window.
    """

    _reported = Signal(str, float)

    def __init__(self, workspace: Workspace, progress: ProgressBar) -> None:
        super().__init__(workspace)
        self._progress = progress
        self._name, self._began, self._shown = "", 0.0, 0.0
        self._cancelled = ""
        """The name of the file whose reading the user has cancelled."""
        self._is_shown = False
        self._reported.connect(self._show)
        progress.cancelled.connect(self._cancel)
        self._listening = ExitStack()
        self._listening.enter_context(listening(self._listen))

    def shutdown(self) -> None:
        """Listen no longer."""
        self._listening.close()

    def _listen(self, name: str, fraction: float) -> None:
        """Called in the thread that reads. Raises FileError to cancel the reading."""
        if self._cancelled == name:
            self._cancelled = ""
            tell(self._reported, name, 1.0)
            raise FileError(
                "The reading of the data file was cancelled.",
                path=name,
                next_step="Choose Run > Evaluate Now to read it.",
            )
        now = time.monotonic()
        if name != self._name:
            self._name, self._began = name, now
        if fraction >= 1.0:
            self._name = ""
            tell(self._reported, name, 1.0)
        elif now - self._began > _AFTER and now - self._shown > _EVERY:
            self._shown = now
            tell(self._reported, name, fraction)

    def _show(self, name: str, fraction: float) -> None:
        if fraction >= 1.0:
            if self._is_shown:
                self._is_shown = False
                self._progress.hide()
        elif self._is_shown or name in _names(self._document):
            self._is_shown = True
            self._progress.show_progress(self.tr("Reading {0}").format(name), fraction)

    def _cancel(self) -> None:
        if self._is_shown:
            self._cancelled = self._name


def _names(document: Document) -> set[str]:
    """The names of the data files that a document reads."""
    blocks = [block for page in document.diagram.pages.values() for block in page.blocks.values()]
    paths = (block.path for block in blocks if is_dataset(block))
    return {PureWindowsPath(path).name for path in paths if path}  # with / or a backslash
