"""Watches a document's file for changes by other programs, as opposed to our own saves."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import MAX_CHARACTERS, PROMPT, answered, read_regular, tensors_named

if TYPE_CHECKING:
    from gradwire.app.document.document import Document

SETTLED = 200
"""Milliseconds to wait after the last event, since programs write in several steps."""


class Stamp(NamedTuple):
    """Identifies the content of a diagram file and of its array file."""

    digest: bytes
    arrays: tuple[int, int] | None
    """Modification time (ns) and size of the array file; None without one."""


def stamp(path: Path | None) -> Stamp | None:
    """The current stamp of a file; None if it can't be read."""
    if path is None:
        return None
    try:
        data = read_regular(path, MAX_CHARACTERS)
    except (OSError, ValueError, FileError):
        return None
    return Stamp(hashlib.sha256(data).digest(), _arrays(path, data))


def _arrays(path: Path, data: bytes) -> tuple[int, int] | None:
    if name := tensors_named(data):
        with suppress(OSError):
            status = Path(os.path.realpath(path)).with_name(name).stat()
            return status.st_mtime_ns, status.st_size
    return None


def _places(path: Path) -> set[str]:
    """The file and its folder, links followed, as far as they exist."""
    target = Path(os.path.realpath(path))
    return {str(place) for place in (target, target.parent) if place.exists()}


class FileWatch(QObject):
    """Watches the file of a document and the folder it is in.

    The folder is needed because many programs write a new file and rename it. Each content is
    reported once.
    """

    changed = Signal()
    """Another program wrote a different diagram, or an unreadable file."""
    gone = Signal()
    """The file no longer exists."""
    settled = Signal()
    """The file and the document agree again."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._document = document
        self._reported: Stamp | None = None
        self._watcher = QFileSystemWatcher(self)
        self._timer = QTimer(self, singleShot=True, interval=SETTLED)
        self._timer.timeout.connect(self.check)
        self._watcher.fileChanged.connect(self._schedule)
        self._watcher.directoryChanged.connect(self._schedule)
        document.opened.connect(self._begin)
        document.pathChanged.connect(self._begin)
        document.saved.connect(self._begin)

    def check(self) -> None:
        """Check the file now."""
        document = self._document
        if document.path is None:
            return
        if document.busy:  # may be writing the file itself
            self._schedule()
            return
        path = document.path
        try:
            places, now = answered(path, lambda: (_places(path), stamp(path)), PROMPT)
        except FileError:  # its drive does not answer, so nothing is known of the file
            return
        self._watch(places)
        if now == document.stamp:
            self._reported = now
            if now is not None:
                self.settled.emit()
        elif now is None:
            self._reported = None
            document.keep_own()
            self.gone.emit()
        elif now != self._reported:
            self._reported = now
            if document.matches_file():
                self.settled.emit()
            else:
                self.changed.emit()

    def _schedule(self) -> None:
        self._timer.start()

    def _begin(self) -> None:
        self._reported = self._document.stamp
        path, places = self._document.path, set[str]()
        if path is not None:
            with suppress(FileError):
                places = answered(path, lambda: _places(path), PROMPT)
        self._watch(places)
        self.settled.emit()

    def _watch(self, wanted: set[str]) -> None:
        """Watch the file and its folder; Qt drops a file that is renamed over."""
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if watched - wanted:
            self._watcher.removePaths(sorted(watched - wanted))
        if wanted - watched:
            self._watcher.addPaths(sorted(wanted - watched))
