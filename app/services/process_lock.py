"""A lock on a folder that ends with its process, whatever the process and the machine are called.

The system keeps it for the open file. A number of a process and the name of a machine in a file,
as QLockFile writes them, say nothing once the machine has another name.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FLAGS = os.O_RDWR | os.O_CREAT | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))


class ProcessLock:
    """A lock that this process holds until :meth:`release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> ProcessLock | None:
        """The lock on the file ``path``, which is made; None while another holds it, or on error.

        Another may be this process, too.
        """
        try:
            descriptor = os.open(path, _FLAGS, 0o600)
        except OSError:
            return None
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    """Lock the open file; raises OSError at once where that can't be."""
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
