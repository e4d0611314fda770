"""The header of an array in numpy's format, and the array mapped from its file.

Source: numpy.lib.format, versions 1.0 to 3.0. Arrays of Python objects, which would be unpickled,
are refused before anything of them is read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_AXES, MAX_ELEMENTS
from gradwire.blocks.values import DTYPES
from gradwire.runtime.data.progress import report

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array


MAPPED = 2**26
"""Bytes from which an array stays in its file, and only the rows of a batch are read."""
PIECE = 2**20
"""Bytes that are read before it is said how far the reading is."""
_READERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}


_FLAWS = (
    ValueError, TypeError, EOFError, OverflowError, MemoryError, RecursionError, SyntaxError,
    TokenError,
)  # fmt: skip
"""What numpy raises for headers that are wrong; it reads those of old versions token by token."""


class Header(NamedTuple):
    """What is known of an array before it is read; ``offset`` is where its bytes begin."""

    shape: Shape
    dtype: np.dtype[np.generic]
    fortran: bool
    offset: int

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], path: str) -> Header:
    """The header at the place where the file is now; raises FileError."""
    try:
        version = npy_format.read_magic(file)
        if version not in _READERS:
            raise ValueError(f"version {version} is not known")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of headers that Python 2 wrote
            shape, fortran, dtype = _READERS[version](file)
    except _FLAWS as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileError(f"This is no array of numpy: {reason}.", path=path) from None
    require_numbers(dtype, path)
    require_shape(shape, path)
    return Header(tuple(shape), dtype, bool(fortran), file.tell())


def require_numbers(dtype: np.dtype[np.generic], path: str) -> None:
    """Raise FileError for a dtype of other things than numbers and booleans."""
    if dtype.newbyteorder("=").name not in DTYPES:
        what = "Python objects, which are not read" if dtype.hasobject else str(dtype)[:80]
        raise FileError(
            "The array has no numbers.", path=path, expected="one of " + ", ".join(DTYPES), got=what
        )


def require_shape(shape: Sequence[int], path: str) -> None:
    """Raise FileError for a shape that no array can have, or one without rows."""
    if len(shape) > MAX_AXES or any(type(n) is not int or n < 0 for n in shape):
        raise FileError("The shape of the array is wrong.", path=path, got=str(shape)[:80])
    if math.prod(shape) > MAX_ELEMENTS:
        raise FileError(
            "The array is too large.",
            path=path,
            expected=f"at most {MAX_ELEMENTS:,} elements",
            got=f"shape {list(shape)}"[:80],
        )
    if not shape or not shape[0]:
        raise FileError(
            "The array has no rows.", path=path, expected="rows along the first axis",
            got=f"shape {list(shape)}",
        )  # fmt: skip


def mapped(file: IO[bytes], header: Header, place: str, name: str) -> Array:
    """An array of an open file, read if it is small; raises FileError where bytes are missing.

    ``place`` is where it is, for messages, ``name`` that of the file.
    """
    file.seek(0, 2)
    available = file.tell() - header.offset
    if available < header.size:
        raise FileError(
            "The file ends before its array does.",
            path=place,
            expected=f"{header.size:,} bytes of shape {list(header.shape)}, {header.dtype}",
            got=f"{max(0, available):,}",
            next_step="Write or copy the file again.",
        )
    order: Literal["F", "C"] = "F" if header.fortran else "C"
    if header.size >= MAPPED:
        return np.memmap(file, header.dtype, "r", header.offset, header.shape, order)
    file.seek(header.offset)
    flat = np.frombuffer(read_bytes(file, header.size, name), header.dtype)
    return flat.reshape(header.shape, order=order)


def read_bytes(file: IO[bytes], size: int, name: str) -> memoryview:
    """So many bytes, or those up to the end; how far the reading is is reported, with the name of
    the file.
    """
    found = bytearray()
    while len(found) < size and (piece := file.read(min(size - len(found), PIECE))):
        found += piece
        if len(found) < size:
            report(name, len(found) / size)
    report(name, 1.0)
    return memoryview(found).toreadonly()
