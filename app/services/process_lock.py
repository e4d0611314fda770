"""A file lock that ends with its process.

The operating system ties it to the open file. QLockFile instead stores a process id and a host
name, which identify nothing once the machine has been renamed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gradwire.runtime.diagram import locked

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))


class ProcessLock:
    """A lock that this process owns until :meth:`release`."""

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
