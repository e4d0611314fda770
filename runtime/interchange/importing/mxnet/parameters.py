"""Reads the parameters beside a symbol: arrays by name, in MXNet's own binary format."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_AXES, MAX_ELEMENTS
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

_T = TypeVar("_T")
MAX_BYTES = 2 * 2**30
_LIST = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
"""What an array begins with, by version; an older one begins with its rank."""
_DENSE = (0, -1, 0xFFFFFFFF)
_DTYPES = {
    0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64",
    7: "bool",
}  # fmt: skip
_PREFIXES = ("arg:", "aux:")


def parameters_beside(symbol: Path) -> Path | None:
    """The file of parameters of a symbol, ``net-0007.params`` for ``net-symbol.json``.

    Of several epochs, the last; None where there is none.
    """
    stem = symbol.stem.removesuffix("-symbol")
    found = sorted(
        path.name
        for path in symbol.parent.iterdir()
        if path.suffix == ".params" and _is_of(path.stem, stem)
    )
    return symbol.parent / found[-1] if found else None


def _is_of(name: str, stem: str) -> bool:
    epoch = name.removeprefix(stem)
    return name == stem or (name.startswith(stem) and epoch[:1] == "-" and epoch[1:].isdecimal())


def read_parameters(path: Path) -> dict[str, Array]:
    """The arrays of a file by their names, without the prefixes of arguments and states.

    Raises FileError where the sizes in the file don't fit its length, UnsupportedError for sparse
    arrays and dtypes that no value has.
    """
    reader = _Reader(read_regular(path, MAX_BYTES, path.parent), str(path))
    magic, _ = reader.numbers("QQ")
    if magic != _LIST:
        raise FileError("The file has no MXNet parameters.", path=str(path))
    (count,) = reader.numbers("Q")
    arrays = list(_some(reader, count, reader.array))
    (named,) = reader.numbers("Q")
    if named != count:
        raise reader.wrong(f"it has {count} arrays and {named} names")
    names = list(_some(reader, named, reader.name))
    if len(set(names)) < len(names):
        raise reader.wrong("two arrays have one name")
    return dict(zip(names, arrays, strict=True))


def _some(reader: _Reader, count: int, read: Callable[[], _T]) -> Iterator[_T]:
    """What ``read`` gives, as often as the file says; each takes four bytes or more."""
    if count * 4 > reader.left:
        raise reader.wrong(f"it is too short for {count} entries")
    for _ in range(count):
        yield read()


@dataclass
class _Reader:
    """Reads numbers and arrays one after the other; nothing is read past the end."""

    data: bytes
    path: str
    at: int = 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.at

    def wrong(self, why: str) -> FileError:
        """The error of a file that is not what it says."""
        return FileError(f"The parameters can't be read: {why}.", path=self.path)

    def bytes(self, count: int) -> bytes:
        """The next bytes; raises FileError where there are fewer."""
        if not 0 <= count <= self.left:
            raise self.wrong(f"it ends within an entry of {count} bytes")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, form: str) -> tuple[int, ...]:
        """The next numbers, little-endian."""
        return struct.unpack("<" + form, self.bytes(struct.calcsize("<" + form)))

    def name(self) -> str:
        """A name, without its prefix."""
        (length,) = self.numbers("Q")
        name = self.bytes(length).decode("utf-8", "replace")
        return next((name.removeprefix(p) for p in _PREFIXES if name.startswith(p)), name)

    def array(self) -> Array:
        """An array of any version."""
        (magic,) = self.numbers("I")
        if magic in (_V2, _V3):
            (storage,) = self.numbers("i")
            if storage not in _DENSE:
                raise UnsupportedError("A sparse array of parameters", f"{self.path} has one")
        shape = self._shape(magic)
        if shape is None:
            return np.zeros((0,), np.float32)
        self.numbers("ii")  # the device that it was on
        (code,) = self.numbers("i")
        if code not in _DTYPES:
            raise UnsupportedError("An array of parameters", f"no value has the dtype {code}")
        dtype = np.dtype(_DTYPES[code])
        raw = self.bytes(math.prod(shape) * dtype.itemsize)
        stored = np.frombuffer(raw, dtype.newbyteorder("<"))
        return stored.astype(dtype).reshape(shape)

    def _shape(self, magic: int) -> tuple[int, ...] | None:
        """The lengths of the axes; None for an array that has none, and nothing after it."""
        newer = magic in (_V1, _V2, _V3)
        rank = self.numbers("i")[0] if newer else magic
        if rank > MAX_AXES:
            raise self.wrong(f"an array has {rank} axes")
        if rank < 0 or (rank == 0 and magic != _V3):
            return None
        shape = self.numbers(f"{rank}{'q' if newer else 'I'}")
        if any(length < 0 for length in shape):
            raise self.wrong("an axis of an array has a negative length")
        if math.prod(max(length, 1) for length in shape) > MAX_ELEMENTS:
            raise self.wrong(f"an array has the shape {shape}")
        return shape
