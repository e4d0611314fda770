"""Arrays in npz and safetensors files: those stored as they are stay in the file."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.npy import Header, mapped, read_bytes, read_header, require_shape
from gradwire.runtime.data.files.zips import open_zip
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from io import BufferedReader

    from gradwire.blocks.values import Array

MAX_MEMBERS = 10_000
"""Arrays in one file."""
MAX_UNPACKED = 2**30
"""Bytes of the compressed arrays that are read from a file: they can't be mapped, but are unpacked
to memory."""
MAX_HEADER = 100 * 2**20
"""Bytes of the header of a safetensors file; the format's own limit."""

_LOCAL = struct.Struct("<4s5H3I2H")
_SUFFIX = ".npy"
_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "F16": "float16", "F32": "float32", "F64": "float64",
}  # fmt: skip


# ---- npz --------------------------------------------------------------------------------------


@contextmanager
def _zip_errors(path: Path) -> Iterator[None]:
    """Raise what zipfile raises for damaged files as FileErrors.

    It has no base class for them: RuntimeError is for encrypted members, NotImplementedError for
    methods of compression, and the rest comes through from the readers of fields and of deflate.
    """
    try:
        yield
    except (
        zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, struct.error, zlib.error,
        ValueError, OverflowError,
    ) as error:  # fmt: skip
        raise FileError(f"The npz file is damaged: {error}.", path=str(path)) from None


def npz_headers(file: BufferedReader, path: Path) -> dict[str, Header]:
    """The arrays of an npz file by name, from their headers; raises FileError."""
    with _zip_errors(path), open_zip(file, path, MAX_MEMBERS) as archive:
        members = _members(archive)
        found = {}
        for name, info in members.items():
            with archive.open(info) as member:
                found[name] = read_header(member, f"{path}:{name}")
        return found


def npz_arrays(file: BufferedReader, path: Path, names: Iterable[str]) -> dict[str, Array]:
    """Arrays of an npz file by name; raises FileError, before any is read if they are too large."""
    with _zip_errors(path), open_zip(file, path, MAX_MEMBERS) as archive:
        members = _members(archive)
        wanted = {name: members[name] for name in names}
        packed = sum(info.file_size for info in wanted.values() if not _is_stored(info))
        require_at_most(
            "The compressed arrays are too large to be unpacked.",
            packed,
            MAX_UNPACKED,
            "bytes",
            path=str(path),
            next_step="Save them with numpy.savez, or as npy; then they stay in their file.",
        )
        if sum(info.file_size for info in wanted.values()) - packed > file.seek(0, os.SEEK_END):
            raise zipfile.BadZipFile("its members overlap")
        return {name: _array(file, archive, info, path, name) for name, info in wanted.items()}


def _array(
    file: BufferedReader, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, name: str
) -> Array:
    place = f"{path}:{name}"
    if not _is_stored(info):
        with archive.open(info) as member:
            return _unpacked(member, read_header(member, place), place, path.name)
    file.seek(info.header_offset)
    local = _LOCAL.unpack(file.read(_LOCAL.size))
    start = info.header_offset + _LOCAL.size + local[-2] + local[-1]
    file.seek(start)
    header = read_header(file, place)
    if header.offset + header.size > start + info.file_size:
        raise FileError("The array is larger than its place in the file.", path=place)
    return mapped(file, header, place, path.name)


def _is_stored(info: zipfile.ZipInfo) -> bool:
    """Whether a member lies in the file as it is."""
    return info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    return {info.filename.removesuffix(_SUFFIX): info for info in infos if not info.is_dir()}


def _unpacked(member: IO[bytes], header: Header, place: str, name: str) -> Array:
    """A compressed array. As many bytes are unpacked as its header says, and not one more, and at
    most as many as the archive states.
    """
    found = read_bytes(member, header.size, name)
    is_short = len(found) < header.size
    if is_short or member.read(1):
        what = "ends before its array does" if is_short else "is longer than its array"
        raise FileError(f"The member {what}.", path=place, next_step="Write the file again.")
    flat = np.frombuffer(found, header.dtype)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


# ---- safetensors ------------------------------------------------------------------------------


def safetensors_headers(file: BufferedReader, path: Path) -> dict[str, Header]:
    """The arrays of a safetensors file by name; raises FileError.

    The library checks the file as a whole: sizes, offsets and gaps.
    """
    from safetensors import SafetensorError, safe_open

    opened = Path(f"/dev/fd/{file.fileno()}")
    try:
        with safe_open(opened if opened.exists() else path, framework="numpy"):
            pass
        file.seek(0)
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MAX_HEADER:
            raise ValueError(f"its header has {length:,} bytes")
        header = json.loads(file.read(length))
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError, struct.error) as error:
        reason = str(error)[:200]
        raise FileError(f"This is no safetensors file: {reason}.", path=str(path)) from None
    header.pop("__metadata__", None)
    require_at_most("The file has too many arrays.", len(header), MAX_MEMBERS, path=str(path))
    return {name: _tensor(entry, 8 + length, f"{path}:{name}") for name, entry in header.items()}


def _tensor(entry: Mapping[str, Any], start: int, place: str) -> Header:
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise FileError(
            "The dtype of the array is not supported.",
            path=place,
            expected="one of " + ", ".join(_DTYPES),
            got=str(entry["dtype"])[:20],
        )
    require_shape(entry["shape"], place)
    little = np.dtype(dtype).newbyteorder("<")
    return Header(tuple(entry["shape"]), little, False, start + entry["data_offsets"][0])
