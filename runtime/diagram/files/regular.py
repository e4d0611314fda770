"""Opens regular files and nothing else.

Reading a pipe may block, reading a device may never end, and merely opening some devices has side
effects. So the path is checked before it is opened, and the open file is checked again.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError

if TYPE_CHECKING:
    from io import BufferedReader

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading; raises FileError unless it is regular, OSError as ``open`` does."""
    _require_regular(path, os.stat(path).st_mode)
    file = open(os.open(path, _FLAGS), "rb")
    try:
        _require_regular(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes; raises FileError, OSError.

    The limit also holds for a file that grows while it is read.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most + 1) if size <= most else b""
    if max(size, len(data)) > most:
        raise FileError(
            "The file is too large.",
            path=str(path),
            expected=f"at most {most:,} bytes",
            got=f"{max(size, len(data)):,}",
        )
    return data


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
