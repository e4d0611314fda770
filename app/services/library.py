"""The folder of pages that the user shares between files."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import PROMPT, SUFFIX, Diagram, answered, load

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.app.services.settings import Settings

_MOST = 500
"""Files of the folder that are listed."""


class FileLibrary(QObject):
    """Lists and reads the files of the folder in ``settings``, which need not exist."""

    changed = Signal()
    """A file has come, gone or changed, or the folder is another."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._read: dict[Path, tuple[tuple[int, int], Diagram]] = {}
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self.refresh)
        self._names: list[str] | None = None
        self._watch()

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._settings.library

    def choose(self, folder: Path) -> None:
        """Use another folder."""
        self._settings.library = folder
        self.refresh()

    def refresh(self) -> None:
        """Look at the folder again."""
        self._names = None
        self._watch()
        self.changed.emit()

    def names(self) -> list[str]:
        """Names of the files without their suffix, in order; none if the folder can't be read.

        The folder, which may be far away, is read only after it has changed.
        """
        if self._names is None:
            try:
                files = answered(self.folder, partial(_files, self.folder), PROMPT)
            except (OSError, FileError):
                files = []
            names = [name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX)]
            self._names = names[:_MOST]
        return self._names

    def path(self, name: str) -> Path:
        """The file of that name."""
        return self.folder / f"{name}{SUFFIX}"

    def read(self, name: str) -> Diagram:
        """The diagram in a file, read again if that has changed. Raises GradwireError, OSError."""
        path = self.path(name)
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = stamp, load(path)
        return known[1]

    def _watch(self) -> None:
        if watched := self._watcher.directories():
            self._watcher.removePaths(watched)
        with suppress(FileError):  # its drive does not answer
            if answered(self.folder, self.folder.is_dir, PROMPT):
                self._watcher.addPath(str(self.folder))


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())
