"""Opens regular files and nothing else, and never waits for long.

Reading a pipe may block, reading a device may never end, and merely opening some devices has side
effects. So the path is checked before it is opened, and the open file is checked again. A drive or
a server that is gone may not even answer that: each path is opened on a thread of its own, for
which nobody waits longer than ``PATIENCE``.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import IOBase
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Never, TypeVar

from gradwire.blocks.errors import FileError
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from io import BufferedReader

_T = TypeVar("_T")

PATIENCE = 10.0
"""Seconds that a file system has to answer; a disk that stood still needs some."""
PROMPT = 1.0
"""Seconds that it has where a window waits for it."""
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path, folder: Path | None = None) -> BufferedReader:
    """Open a file for reading; raises FileError unless it is regular, OSError as ``open`` does.

    A file that belongs to others in ``folder`` must lie there, or in a folder inside: what another
    file names, or what is found beside it, may be a link to anywhere.
    """
    if folder is not None:
        _require_inside(path, folder)
    return answered(path, lambda: _opened(path))


def open_own(path: Path) -> BufferedReader:
    """Open a file that nobody but the user may write to, and that is no link.

    Raises FileError and OSError. It is for the user's own folders, which answer.
    """
    file = _opened(path, getattr(os, "O_NOFOLLOW", 0))
    if not is_own(os.fstat(file.fileno())):
        file.close()
        raise FileError("Others may write to the file.", path=str(path))
    return file


def is_own(found: os.stat_result) -> bool:
    """Whether only the user may write to a file. Windows keeps other users out of the folder."""
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def answered(path: Path, look: Callable[[], _T], patience: float | None = None) -> _T:
    """What ``look`` returns or raises, which asks the file system for ``path``.

    Raises FileError if there is no answer in time. What comes later is closed.
    """
    answers: SimpleQueue[Callable[[], _T]] = SimpleQueue()
    is_late = threading.Event()
    threading.Thread(target=_ask, args=(look, answers, is_late), name="file", daemon=True).start()
    try:
        return answers.get(timeout=PATIENCE if patience is None else patience)()
    except Empty:
        is_late.set()
    try:
        return answers.get_nowait()()
    except Empty:
        raise FileError(
            "Can't read the file: the drive or server that it is on does not answer.",
            path=str(path),
            next_step="Connect it again, or copy the file to another place.",
        ) from None


def _ask(
    look: Callable[[], _T], answers: SimpleQueue[Callable[[], _T]], is_late: threading.Event
) -> None:
    try:
        found = look()
    except BaseException as error:
        answers.put(partial(_fail, error))
        return
    answers.put(lambda: found)
    if is_late.is_set() and isinstance(found, IOBase):
        with suppress(Empty):  # taken after all
            answers.get_nowait()
            found.close()


def _fail(error: BaseException) -> Never:
    raise error


def read_regular(path: Path, most: int, folder: Path | None = None) -> bytes:
    """The content of a regular file of at most ``most`` bytes; see ``open_regular``.

    The limit also holds for a file that grows while it is read. Raises FileError, OSError.
    """
    with open_regular(path, folder) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most + 1) if size <= most else b""
    found = max(size, len(data))
    require_at_most("The file is too large.", found, most, "bytes", path=str(path))
    return data


def resolved(path: Path, patience: float | None = None) -> Path:
    """The path with all links followed; raises FileError, OSError and ValueError."""
    return answered(path, lambda: Path(os.path.realpath(path)), patience)


def lies_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, links followed; raises as ``resolved`` does."""
    return resolved(path).is_relative_to(resolved(folder))


def _require_inside(path: Path, folder: Path) -> None:
    if not lies_inside(path, folder):
        raise FileError(
            "The file leads out of the folder that it belongs to.",
            path=str(path),
            expected=f"a file in {folder}, or in a folder inside",
            next_step="Put the file itself there in place of a link.",
        )


def _opened(path: Path, flags: int = 0) -> BufferedReader:
    _require_regular(path, (os.lstat if flags else os.stat)(path).st_mode)
    file = open(os.open(path, _FLAGS | flags), "rb")
    try:
        _require_regular(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def _require_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise FileError(
            "Can't read the file: it is not a regular file.",
            path=str(path),
            expected="a regular file",
            got=kind_of(mode),
        )


def kind_of(mode: int) -> str:
    """What a file is that is not regular, by its mode: ``a pipe``."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")
