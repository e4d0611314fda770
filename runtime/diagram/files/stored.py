"""What takes long to make, in the user's cache folder, so that a later start need not make it:
machine code, unpacked fonts, and the Python part of PySide6.

The name of a file is a digest of what it is made of: for machine code of the text that was
compiled, of the versions of compiler and format, and of the processor with its features; for Python
of its text and of the version of its byte code. Its content starts with a digest of the rest. A
file or folder that belongs to somebody else, that others may write to, or whose content was changed
is ignored, and a warning is logged once. No code comes from anywhere else, such as beside a
diagram.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from gradwire.runtime.diagram.files.user_folders import cache_folder

_FORMAT = b"gradwire machine code 1\n"
_DIGEST = hashlib.sha256().digest_size
LARGEST = 1 << 24
"""Bytes of a file that is read."""

MOST_BYTES = 1 << 26
"""Bytes of all files from which the older half is removed."""


def key(parts: Sequence[str]) -> str:
    """A name for what is made of these parts, on this format."""
    digest = hashlib.sha256(_FORMAT)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """What was kept under a key; None if there is nothing that can be trusted."""
    folder = _folder()
    if folder is None:
        return None
    path = folder / name
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                _say_ignored(path, "others may write to it")
                return None
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        _say_ignored(path, error.strerror or "it can't be read")
        return None
    head, rest = content[: len(_FORMAT) + _DIGEST], content[len(_FORMAT) + _DIGEST :]
    if len(content) > LARGEST or head != _FORMAT + hashlib.sha256(rest).digest():
        _say_ignored(path, "its content was changed")
        return None
    return rest


def keep(name: str, content: bytes) -> None:
    """Keep something under a key; does nothing where that is not possible."""
    folder = _folder()
    if folder is None:
        return
    with suppress(OSError):
        _make_room(folder)
        handle, made = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(_FORMAT + hashlib.sha256(content).digest() + content)
        os.replace(made, folder / name)


def _folder() -> Path | None:
    """The folder, which is made if need be; None if there is none that can be trusted."""
    base = cache_folder()
    if base is None or os.environ.get("GRADWIRE_KEEP_CODE") == "0":
        return None
    folder = base / "machine_code"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode) or not _is_own(found):
        _say_ignored(folder, "others may write to it")
        return None
    return folder


def _is_own(found: os.stat_result) -> bool:
    """Whether only the user may write to a file. Windows keeps other users out of the folder."""
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def _say_ignored(path: Path, why: str) -> None:
    import logging  # slow to import

    logging.getLogger(__name__).warning("A file of the cache is ignored, because %s: %s", why, path)


def _make_room(folder: Path) -> None:
    """Remove the older half of the files once they are too large together."""
    found = sorted(((file.stat(), file) for file in folder.iterdir()), key=lambda x: x[0].st_mtime)
    if sum(status.st_size for status, _ in found) > MOST_BYTES:
        for _, file in found[: len(found) // 2 + 1]:
            file.unlink(missing_ok=True)
