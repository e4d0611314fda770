"""The recovery journal: unsaved diagrams on disk, one entry per open document.

Each process writes to a folder of its own and locks it. An unlocked folder was left by a process
that crashed. Under ``folder``::

    <session>/lock
    <session>/3.gradwire.json     the diagram (large arrays beside it)
    <session>/3.origin            the file that the diagram belongs to; empty when it has none
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QSaveFile

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime import diagram as files
from gradwire.runtime.diagram import at_home, locked, read_regular

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

_FLAGS = os.O_RDWR | os.O_CREAT | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))

SUFFIX = ".gradwire.json"
_ORIGIN = ".origin"
_LOCK = "lock"
_LONGEST_PATH = 1 << 16
"""Bytes."""

Failed = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An unsaved diagram of a process that crashed."""

    file: Path
    diagram: Diagram
    path: Path | None
    """The file it belongs to; None if it was never saved."""
    time: datetime
    """When it was written, in local time."""


class _Wanted(NamedTuple):
    """The entry to write for a document."""

    diagram: Diagram
    path: Path | None
    failed: Failed


class Journal:
    """Writes the entries of this process on a thread, and reads those of crashed processes.

    Nothing is created on disk before the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder
        self._folder = folder / f"{os.getpid()}-{secrets.token_hex(6)}"
        self._lock: ProcessLock | None = None
        self._claims: dict[Path, ProcessLock] = {}
        self._thread = ThreadPoolExecutor(1, "journal")
        self._guard = threading.Lock()
        self._pending: dict[int, _Wanted | None] = {}
        self._keys = itertools.count(1)

    def key(self) -> int:
        """A new key, for the entries of one document."""
        return next(self._keys)

    def write(self, key: int, diagram: Diagram, path: Path | None, failed: Failed) -> None:
        """Replace the entry ``key`` by a diagram; returns at once.

        If writing fails, ``failed`` is called with the reason, on the journal's thread. Of several
        diagrams waiting to be written only the last one is.
        """
        self._schedule(key, _Wanted(diagram, path, failed))

    def forget(self, key: int) -> None:
        """Remove the entry, since the document was saved or discarded; returns at once."""
        self._schedule(key, None)

    def close(self) -> None:
        """End the thread after its pending work, and remove the folder if it has no entries."""
        self._thread.submit(self._close_folder)
        self._thread.shutdown(wait=False)
        for folder in list(self._claims):
            self._claims.pop(folder).release()

    def orphans(self) -> list[JournalEntry]:
        """The entries of crashed processes, newest first, claimed for this process.

        Entries equal to their file are removed; unreadable ones are left alone.
        """
        found = [entry for folder in self._crashed() for entry in self._entries(folder)]
        return sorted(found, key=lambda entry: entry.time, reverse=True)

    def discard(self, entry: JournalEntry) -> Future[None]:
        """Remove an orphan, after all pending writes."""
        return self._thread.submit(self._discard, entry.file)

    # ---- on the thread ------------------------------------------------------------------------

    def _schedule(self, key: int, wanted: _Wanted | None) -> None:
        with self._guard:
            scheduled = key in self._pending
            self._pending[key] = wanted
        if not scheduled:
            self._thread.submit(self._write_next, key)

    def _write_next(self, key: int) -> None:
        with self._guard:
            wanted = self._pending.pop(key)
        if wanted is None:
            if self._lock is not None:
                _remove(self._file(key))
            return
        try:
            self._open_folder()
            _write_text(_origin(self._file(key)), str(wanted.path or ""))
            files.save(wanted.diagram, self._file(key))
        except (GradwireError, OSError) as error:
            wanted.failed(str(error))

    def _discard(self, file: Path) -> None:
        _remove(file)
        self._clear(file.parent)

    def _clear(self, folder: Path) -> None:
        """Remove the folder of a crashed session once it has no entries."""
        if folder in self._claims and not any(folder.glob(f"*{SUFFIX}")):
            lock = self._claims.pop(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    def _open_folder(self) -> None:
        if self._lock is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = ProcessLock.take(self._folder / _LOCK)
            if lock is None:
                raise FileError("Can't lock the journal.", path=str(self._folder))
            self._lock = lock

    def _close_folder(self) -> None:
        if self._lock is not None and not any(self._folder.glob(f"*{SUFFIX}")):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()

    def _file(self, key: int) -> Path:
        return self._folder / f"{key}{SUFFIX}"

    # ---- entries of crashed processes ---------------------------------------------------------

    def _crashed(self) -> Iterator[Path]:
        """Folders of crashed sessions, claimed for this process."""
        for folder in sorted(self._root.glob("*/")):
            if folder == self._folder or not (folder / _LOCK).is_file():
                continue
            if folder not in self._claims:
                lock = ProcessLock.take(folder / _LOCK)
                if lock is not None:
                    self._claims[folder] = lock
            if folder in self._claims:
                yield folder

    def _entries(self, folder: Path) -> list[JournalEntry]:
        entries = []
        for file in folder.glob(f"*{SUFFIX}"):
            entry = _read(file)
            if entry is not None and _is_saved(entry):
                with suppress(OSError):
                    _remove(file)
            elif entry is not None:
                entries.append(entry)
        self._clear(folder)
        return entries


def _write_text(path: Path, text: str) -> None:
    file = QSaveFile(str(path))
    if not (
        file.open(QSaveFile.OpenModeFlag.WriteOnly)
        and file.write(text.encode("utf-8", "surrogateescape")) >= 0
        and file.commit()
    ):
        raise FileError(f"Can't write the file: {file.errorString()}.", path=str(path))


def _read(file: Path) -> JournalEntry | None:
    try:
        origin = read_regular(_origin(file), _LONGEST_PATH)
        path = origin.decode("utf-8", "surrogateescape")
        time = datetime.fromtimestamp(file.stat().st_mtime)
        home = Path(path) if path else None
        return JournalEntry(file, at_home(files.load(file), home), home, time)
    except Exception:  # a broken entry must not keep the editor from starting
        return None


def _is_saved(entry: JournalEntry) -> bool:
    """Whether the file of an entry holds the same diagram."""
    if entry.path is None:
        return not any(page.blocks or page.notes for page in entry.diagram.pages.values())
    try:
        return files.load(entry.path) == entry.diagram
    except Exception:  # nor must a broken file
        return False


def _origin(file: Path) -> Path:
    return file.with_name(file.name.removesuffix(SUFFIX) + _ORIGIN)


def _remove(file: Path) -> None:
    """Remove an entry, its diagram first: files without a diagram are no entry."""
    file.unlink(missing_ok=True)
    stem = file.name.removesuffix(SUFFIX)
    for other in file.parent.glob(f"{stem}.*"):
        other.unlink(missing_ok=True)


class ProcessLock:
    """A lock that this process owns until :meth:`release`, or until it ends.

    The operating system ties it to the open file. QLockFile instead stores a process id and a host
    name, which identify nothing once the machine has been renamed.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> ProcessLock | None:
        """Lock the file ``path``, which is created; None if it is locked already, or on error.

        A second lock fails even in the same process.
        """
        try:
            descriptor = os.open(path, _FLAGS, 0o600)
        except OSError:
            return None
        try:
            is_ours = locked(descriptor)
        except OSError:
            is_ours = False
        if not is_ours:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
