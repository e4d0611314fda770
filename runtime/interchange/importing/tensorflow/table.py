"""Reads the index of a checkpoint: a table of sorted keys in LevelDB's format."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.wire import varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_TRAILER = 5
"""Bytes after a block: how it is compressed, and its checksum."""
MAX_ENTRIES = 1_000_000
"""Keys of a table, at most."""
MAX_KEY = 10_000
"""Bytes of a key, at most."""


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
