"""Reads the file of a document, and watches it for changes by others."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime import diagram as files
from gradwire.runtime.data import keep_allowed
from gradwire.runtime.diagram import (
    MAX_CHARACTERS,
    PROMPT,
    Diagram,
    answered,
    home_of,
    read_regular,
    tensors_named,
)
from gradwire.runtime.interchange import DEFAULTS, ImportOptions, import_apart, is_model

if TYPE_CHECKING:
    from gradwire.app.document.document import Document
    from gradwire.runtime.interchange import Imported

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


class Loaded(NamedTuple):
    """A diagram read from a file. A copy has no path, so that saving can't overwrite the file, nor
    has the import of another system's model.
    """

    diagram: Diagram
    path: Path | None
    stamp: Stamp | None
    notice: str = ""
    """What reading a file of an older version changed to keep its meaning."""
    imported: Imported | None = None
    """What is known of a model that was imported; None for a diagram."""

    def copy(self) -> Loaded:
        """The same diagram without a file."""
        return Loaded(self.diagram, None, None, self.notice)


def read_file(path: Path, pulse: files.Pulse, options: ImportOptions = DEFAULTS) -> Loaded:
    """Read a diagram, or import a model as ``options`` say; raises GradwireError and OSError."""
    if is_model(path):
        found = _import(path, options, pulse)
        return Loaded(found.diagram, None, None, imported=found)
    before = stamp(path)  # first: a write during the read counts as a change
    notices: list[str] = []
    return Loaded(files.load(path, pulse, notices.append), path, before, "\n".join(notices))


def _import(path: Path, options: ImportOptions, pulse: files.Pulse) -> Imported:
    """Import a model; ``pulse`` is called again and again, since it also ends what is cancelled."""
    reached = 0.0

    def advance(what: str, share: float) -> None:
        nonlocal reached
        reached = share

    def cancelled() -> bool:
        pulse(reached)
        return False

    return import_apart(path, options, progress=advance, cancelled=cancelled)


def stamp_of_equal(path: Path, diagram: Diagram, pulse: files.Pulse) -> Stamp | None:
    """The stamp of a file that has this diagram; None if it has another."""
    found = read_file(path, pulse)
    return found.stamp if found.diagram == diagram else None


def write_file(path: Path, diagram: Diagram, pulse: files.Pulse) -> Stamp | None:
    """Write a diagram to a file, and return its stamp.

    Data files that lie outside of its folder, and that the diagram could read before, are allowed
    as if the user had chosen them.
    """
    files.save(diagram, path, pulse)
    keep_allowed(diagram, home_of(path))
    return stamp(path)


def saved_diagram(path: Path | None) -> Diagram:
    """The diagram in a file; an empty one without a file, or if it can't be read."""
    try:
        return Diagram() if path is None else files.load(path)
    except (GradwireError, OSError):
        return Diagram()


def stem_of(diagram: Diagram) -> str:
    """A file name made from the title of a diagram, without a suffix."""
    words = (diagram.title or "diagram").casefold().split()
    return "_".join("".join(c for c in word if c.isalnum()) for word in words)[:60]
