"""The lock of a folder: one process at a time trains into it."""

from __future__ import annotations

import os
from pathlib import Path

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.locks import locked

LOCK = ".lock"
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class FolderLock:
    """Keeps other processes from training into a folder, where the system can."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def take(self) -> None:
        """Raises FileError if another process has it; it ends with the process that took it."""
        self._descriptor = os.open(self._folder / LOCK, _FLAGS, 0o666)
        try:
            is_free = locked(self._descriptor)
        except OSError:  # without locks
            self.release()
            return
        if not is_free:
            self.release()
            raise FileError(
                "Another process trains into this folder.", path=str(self._folder),
                next_step="Wait for it, or choose another folder.",
            )  # fmt: skip

    def release(self) -> None:
        """Let other processes have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
