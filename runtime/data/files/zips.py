"""Looks at the directory of a zip before it is read: ``zipfile`` makes an object of each entry, of
which a file of a few megabytes may have millions.
"""

from __future__ import annotations

import os
import struct
import zipfile
from typing import IO, TYPE_CHECKING

from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from pathlib import Path

MOST_DIRECTORY = 32 << 20
"""Bytes of a directory that is looked at."""
_ENTRY, _END, _END_64, _LOCATOR = b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE, _MOST_COMMENT = 22, 20, 0xFFFF
_IN_64 = 0xFFFFFFFF
"""What stands for a number that only the 64-bit record has."""


def directory(file: IO[bytes]) -> bytes:
    """The directory of a zip, with the names of its members. Raises zipfile.BadZipFile where there
    is none, or one of more than ``MOST_DIRECTORY`` bytes.
    """
    length = file.seek(0, os.SEEK_END)
    start = max(0, length - _END_SIZE - _MOST_COMMENT - _LOCATOR_SIZE)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_SIZE:
        raise zipfile.BadZipFile("it has no directory")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    end = start + at
    locator = tail[max(0, at - _LOCATOR_SIZE) : at]
    if locator.startswith(_LOCATOR):
        (end_64,) = struct.unpack_from("<Q", locator, 8)
        # Some versions of zipfile read the record that is named, some the one that is ahead.
        ahead = max(0, end - _LOCATOR_SIZE - 56)
        records = set[bytes]()
        for place in (min(end_64, length), ahead):
            file.seek(place)
            records.add(file.read(56))
        found = [each for each in records if each.startswith(_END_64) and len(each) == 56]
        if len(found) > 1:
            raise zipfile.BadZipFile("it has two directories")
        if found:
            (size,) = struct.unpack_from("<Q", found[0], 40)
            end = ahead
    if size > MOST_DIRECTORY or size == _IN_64:
        raise zipfile.BadZipFile(f"its directory is larger than {MOST_DIRECTORY:,} bytes")
    file.seek(max(0, end - size))
    return file.read(size)


def require_few(file: IO[bytes], path: Path, most: int) -> None:
    """Raise FileError for a zip with more than so many members, BadZipFile for none."""
    count = directory(file).count(_ENTRY)  # each entry begins so
    require_at_most("The file has too many members.", count, most, path=str(path))


def open_zip(file: IO[bytes], path: Path, most: int) -> zipfile.ZipFile:
    """Open a zip to read at most so many members; raises FileError for one with more, and what
    ``zipfile.ZipFile`` raises.
    """
    require_few(file, path, most)
    return zipfile.ZipFile(file)
