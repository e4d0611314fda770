"""What was not saved, kept on disk in case the editor dies: one entry for each open document.

Each process writes into a folder of its own and holds a lock there. A folder whose lock nobody
holds is what a process that died has left. Under ``folder``::

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
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QSaveFile

from app.services.process_lock import ProcessLock
from blocks.errors import FileError, GradwireError
from runtime import diagram as files
from runtime.diagram.files.regular import read_regular

if TYPE_CHECKING:
    from runtime.diagram import Diagram

SUFFIX = ".gradwire.json"
_ORIGIN = ".origin"
_LOCK = "lock"
_LONGEST_PATH = 1 << 16
"""Bytes."""

Failed = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A diagram that a process which died had not saved."""

    file: Path
    diagram: Diagram
    path: Path | None
    """The file it belongs to; None where it was never saved."""
    time: datetime
    """When it was written, in local time."""


class _Wanted(NamedTuple):
    """What is to be the entry of a document."""

    diagram: Diagram
    path: Path | None
    failed: Failed


class Journal:
    """The entries of this process, written by a thread of its own, and those of dead ones.

    Nothing is made on disk before the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder
        self._folder = folder / f"{os.getpid()}-{secrets.token_hex(6)}"
        self._held: ProcessLock | None = None
        self._claims: dict[Path, ProcessLock] = {}
        self._thread = ThreadPoolExecutor(1, "journal")
        self._guard = threading.Lock()
        self._waiting: dict[int, _Wanted | None] = {}
        self._keys = itertools.count(1)

    def key(self) -> int:
        """The key of the entries of one more document."""
        return next(self._keys)

    def write(self, key: int, diagram: Diagram, path: Path | None, failed: Failed) -> None:
        """Put a diagram in the place of the entry ``key``; returns at once.

        ``failed`` is called with the reason, in another thread, where it can't be written. Of
        diagrams that wait to be written only the last is.
        """
        self._want(key, _Wanted(diagram, path, failed))

    def forget(self, key: int) -> None:
        """Take the entry away: the document was saved or given up; returns at once."""
        self._want(key, None)

    def close(self) -> None:
        """Let the thread end after what it has to do, and leave nothing where nothing is kept."""
        self._thread.submit(self._leave)
        self._thread.shutdown(wait=False)
        for folder in list(self._claims):
            self._claims.pop(folder).release()

    def orphans(self) -> list[Entry]:
        """What dead processes left, the newest first; no other process will offer it meanwhile.

        What is the same as its file is cleared away; what can't be read is let be.
        """
        found = [entry for folder in self._dead() for entry in self._entries(folder)]
        return sorted(found, key=lambda entry: entry.time, reverse=True)

    def discard(self, entry: Entry) -> Future[None]:
        """Take an orphan away, after all that waits to be written is."""
        return self._thread.submit(self._discard, entry.file)

    # ---- in the thread ------------------------------------------------------------------------

    def _want(self, key: int, wanted: _Wanted | None) -> None:
        with self._guard:
            on_its_way = key in self._waiting
            self._waiting[key] = wanted
        if not on_its_way:
            self._thread.submit(self._work, key)

    def _work(self, key: int) -> None:
        with self._guard:
            wanted = self._waiting.pop(key)
        if wanted is None:
            if self._held is not None:
                _remove(self._file(key))
            return
        try:
            self._enter()
            _put(_origin(self._file(key)), str(wanted.path or ""))
            files.save(wanted.diagram, self._file(key))
        except (GradwireError, OSError) as error:
            wanted.failed(str(error))

    def _discard(self, file: Path) -> None:
        _remove(file)
        self._clear(file.parent)

    def _clear(self, folder: Path) -> None:
        """Take the folder of a dead session away once nothing is kept in it."""
        if folder in self._claims and not any(folder.glob(f"*{SUFFIX}")):
            lock = self._claims.pop(folder)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    def _enter(self) -> None:
        if self._held is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = ProcessLock.take(self._folder / _LOCK)
            if lock is None:
                raise FileError("Can't lock the journal.", path=str(self._folder))
            self._held = lock

    def _leave(self) -> None:
        if self._held is not None and not any(self._folder.glob(f"*{SUFFIX}")):
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._held is not None:
            self._held.release()

    def _file(self, key: int) -> Path:
        return self._folder / f"{key}{SUFFIX}"

    # ---- what others left ---------------------------------------------------------------------

    def _dead(self) -> Iterator[Path]:
        """Folders of sessions that nobody is in, claimed for this process."""
        for folder in sorted(self._root.glob("*/")):
            if folder == self._folder or not (folder / _LOCK).is_file():
                continue
            if folder not in self._claims:
                lock = ProcessLock.take(folder / _LOCK)
                if lock is not None:
                    self._claims[folder] = lock
            if folder in self._claims:
                yield folder

    def _entries(self, folder: Path) -> list[Entry]:
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


def _put(path: Path, text: str) -> None:
    file = QSaveFile(str(path))
    if not (
        file.open(QSaveFile.OpenModeFlag.WriteOnly)
        and file.write(text.encode("utf-8", "surrogateescape")) >= 0
        and file.commit()
    ):
        raise FileError(f"Can't write the file: {file.errorString()}.", path=str(path))


def _read(file: Path) -> Entry | None:
    try:
        origin = read_regular(_origin(file), _LONGEST_PATH)
        path = origin.decode("utf-8", "surrogateescape")
        time = datetime.fromtimestamp(file.stat().st_mtime)
        return Entry(file, files.load(file), Path(path) if path else None, time)
    except Exception:  # whatever is wrong with an entry, the editor starts
        return None


def _is_saved(entry: Entry) -> bool:
    """Whether the file that an entry belongs to holds the same diagram."""
    if entry.path is None:
        return not any(page.blocks or page.notes for page in entry.diagram.pages.values())
    try:
        return files.load(entry.path) == entry.diagram
    except Exception:  # nor does what is wrong with the file it belongs to keep it from starting
        return False


def _origin(file: Path) -> Path:
    return file.with_name(file.name.removesuffix(SUFFIX) + _ORIGIN)


def _remove(file: Path) -> None:
    """Take an entry's diagram away first: what is left without it is no entry."""
    file.unlink(missing_ok=True)
    stem = file.name.removesuffix(SUFFIX)
    for other in file.parent.glob(f"{stem}.*"):
        other.unlink(missing_ok=True)
