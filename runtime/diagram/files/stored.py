"""What takes long to make, in the user's cache folder, so that a later start need not make it:
machine code, unpacked fonts, and the Python part of PySide6.

The name of a file is a digest of what it is made of: for machine code of the text that was
compiled, of the versions of compiler and format, and of the processor with its features; for Python
of its text and of the version of its byte code. Its content starts with a digest of the rest. A
file or folder that belongs to somebody else, that others may write to or replace, or whose content
was changed is ignored, and a warning is logged once. No code comes from anywhere else, such as
beside a diagram. The programs that JAX keeps lie in a folder of the same kind.
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

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import is_own, open_own
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
        with open_own(path) as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, FileError) as error:
        _say_ignored(path, error.what if isinstance(error, FileError) else str(error))
        return None
    head, rest = content[: len(_FORMAT) + _DIGEST], content[len(_FORMAT) + _DIGEST :]
    if len(content) > LARGEST or head != _FORMAT + hashlib.sha256(rest).digest():
        _say_ignored(path, "Its content was changed.")
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
    return None if os.environ.get("GRADWIRE_KEEP_CODE") == "0" else own_folder("machine_code")


def own_folder(name: str) -> Path | None:
    """A folder of the cache for what is executed, which is made if need be.

    None if there is none, or if others may write to it or put another one in its place.
    """
    base = cache_folder()
    if base is None:
        return None
    try:
        folder = Path(os.path.realpath(base)) / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        is_safe = stat.S_ISDIR(found.st_mode) and is_own(found)
        is_safe = is_safe and not any(_may_be_emptied(above.lstat()) for above in folder.parents)
    except (OSError, ValueError):
        return None
    if not is_safe:
        _say_ignored(folder, "Others may write to it, or to a folder above it.")
        return None
    return folder


def all_own(folder: Path) -> bool:
    """Whether nobody else wrote what lies in an own folder; what somebody may have is named.

    JAX lets the user's group write where the user does; see ``_may_be_emptied``.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode) or _is_of_others(found):
                _say_ignored(Path(entry.path), "It is no file that only you may write to.")
                return False
    return True


def _may_be_emptied(found: os.stat_result) -> bool:
    """Whether others may rename what is in a folder that leads to an own one.

    The system's administrator may, and so may the user's group: it is often that of the user alone.
    """
    if not hasattr(os, "getuid"):
        return False
    is_open = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
    return bool(is_open) or found.st_uid not in (0, os.getuid())


def _is_of_others(found: os.stat_result) -> bool:
    """Whether others than the user's group may have written a file."""
    if not hasattr(os, "getuid"):
        return False
    return found.st_uid != os.getuid() or bool(found.st_mode & stat.S_IWOTH)


@cache
def _say_ignored(path: Path, why: str) -> None:
    import logging  # slow to import

    logging.getLogger(__name__).warning("A part of the cache is ignored: %s: %s", path, why)


def _make_room(folder: Path) -> None:
    """Remove the older half of the files once they are too large together."""
    found = sorted(((file.stat(), file) for file in folder.iterdir()), key=lambda x: x[0].st_mtime)
    if sum(status.st_size for status, _ in found) > MOST_BYTES:
        for _, file in found[: len(found) // 2 + 1]:
            file.unlink(missing_ok=True)
