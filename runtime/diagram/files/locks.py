"""Locks of files, which the operating system ends with the process or when the file is closed."""

from __future__ import annotations

import errno
import os
import sys


def locked(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if it is locked already, even by this process.

    Raises OSError where the system or the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
    try:
        import fcntl
    except ImportError:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
