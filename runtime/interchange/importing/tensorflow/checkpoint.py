"""Reads checkpoints: an index of tensors by key, and the files with their numbers beside it.

The index is a table of sorted keys in LevelDB's format.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.diagram.files.regular import open_regular, read_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.interchange.importing.stored import from_bytes, require_size
from gradwire.runtime.interchange.importing.tensorflow.messages import parse
from gradwire.runtime.interchange.importing.tensorflow.tensors import dtype_of, shape_of
from gradwire.runtime.interchange.importing.wire import varint

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

MAX_INDEX = 64 * 2**20
"""Bytes of an index, at most."""
_MOST_SHARDS = 10_000
_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
"""Bytes after a block: how it is compressed, and its checksum."""
MAX_ENTRIES = 1_000_000
"""Keys of a table, at most."""
MAX_KEY = 10_000
"""Bytes of a key, at most."""


class TensorFlowCheckpoint:
    """The tensors that lie under a prefix, ``variables/variables``; each is read once asked for.

    The files lie in ``folder``, which is that of the model.
    """

    def __init__(self, prefix: Path, folder: Path) -> None:
        self._prefix = prefix
        self._folder = folder
        self._source = f"{prefix}.index"
        table = read_table(read_regular(Path(self._source), MAX_INDEX, folder), self._source)
        header = parse("BundleHeader", table.pop(b"", b""), self._source)
        if header.endianness != 0:
            raise FileError(
                "The checkpoint has the bytes of its numbers reversed.", path=self._source
            )
        self._shards = header.shards
        if not 0 < self._shards <= _MOST_SHARDS:
            raise FileError(f"The checkpoint has {self._shards} files of data.", path=self._source)
        self._entries = table

    def array(self, key: str) -> Array:
        """The numbers under a key. Raises FileError where there are none, or their sizes lie."""
        where = f"the tensor {key!r}"
        stored = self._entries.get(key.encode())
        if stored is None:
            raise FileError(f"The checkpoint has no tensor {key!r}.", path=self._source)
        entry = parse("BundleEntry", stored, self._source)
        if entry.slices:
            raise FileError(f"The checkpoint has {where} in parts.", path=self._source)
        title = f"The tensor {key!r}"
        dtype, shape = dtype_of(entry.dtype, where), shape_of(entry.shape, title)
        if any(length < 0 for length in shape) or math.prod(shape) > MAX_CONSTANT:
            raise FileError(f"The shape of {where} can't be.", got=str(shape), path=self._source)
        require_size(title, shape, entry.size, np.dtype(dtype).itemsize)
        raw = self._bytes(entry.shard, entry.offset, entry.size, where)
        return from_bytes(raw, dtype, shape, title)

    def _bytes(self, shard: int, offset: int, size: int, where: str) -> bytes:
        if not 0 <= shard < self._shards or offset < 0:
            raise FileError(f"The place of {where} can't be.", path=self._source)
        path = Path(f"{self._prefix}.data-{shard:05d}-of-{self._shards:05d}")
        with system_errors(path, "read"), open_regular(path, self._folder) as file:
            file.seek(0, 2)
            if file.tell() < offset + size:
                raise FileError(f"The file ends before {where} does.", path=str(path))
            file.seek(offset)
            return file.read(size)


def read_table(data: bytes, source: str) -> dict[bytes, bytes]:
    """The values of a table by key. Raises FileError where its sizes don't fit."""
    reader = _Table(data, source)
    found: dict[bytes, bytes] = {}
    for _, handle in reader.entries(*reader.index()):
        offset, at = reader.varint(handle, 0)
        size, _ = reader.varint(handle, at)
        for key, value in reader.entries(offset, size):
            found[key] = value
            if len(found) > MAX_ENTRIES:
                raise reader.wrong(f"it has more than {MAX_ENTRIES:,} keys")
    return found


@dataclass
class _Table:
    data: bytes
    source: str
    read: int = 0
    """Bytes of blocks that were read; a table may name the same block again and again."""

    def wrong(self, why: str) -> FileError:
        """The error of a table that is not what it says."""
        return FileError(f"The index of the checkpoint can't be read: {why}.", path=self.source)

    def index(self) -> tuple[int, int]:
        """Where the block is that names all others, and how long it is."""
        footer = self.data[-_FOOTER:]
        if len(footer) < _FOOTER or struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
            raise self.wrong("it is no table")
        at = 0
        for _ in range(2):  # the block of statistics comes first
            _, at = self.varint(footer, at)
        offset, at = self.varint(footer, at)
        size, _ = self.varint(footer, at)
        return offset, size

    def entries(self, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a block; a key says how much it shares with the one before."""
        block = self._block(offset, size)
        (restarts,) = struct.unpack("<I", block[-4:])
        end = len(block) - 4 - 4 * restarts
        if end < 0:
            raise self.wrong("a block has more restarts than bytes")
        at, key = 0, b""
        while at < end:
            shared, at = self.varint(block, at)
            own, at = self.varint(block, at)
            length, at = self.varint(block, at)
            if shared > len(key) or shared + own > MAX_KEY or at + own + length > end:
                raise self.wrong("an entry reaches beyond its block")
            key = key[:shared] + block[at : at + own]
            yield key, block[at + own : at + own + length]
            at += own + length

    def _block(self, offset: int, size: int) -> bytes:
        self.read += size
        if size < 4 or offset + size + _TRAILER > len(self.data) or self.read > 2 * len(self.data):
            raise self.wrong("a block lies outside the file")
        if self.data[offset + size] != 0:
            raise self.wrong("it is compressed")
        return self.data[offset : offset + size]

    def varint(self, data: bytes, at: int) -> tuple[int, int]:
        """A number of seven bits a byte, and where it ends."""
        try:
            return varint(data, at)
        except ValueError as error:
            raise self.wrong(str(error)) from error
