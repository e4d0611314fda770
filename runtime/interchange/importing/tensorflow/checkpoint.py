"""Reads checkpoints: an index of tensors by key, and the files with their numbers beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.diagram.files.regular import open_regular, read_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.interchange.importing.tensorflow.messages import parse
from gradwire.runtime.interchange.importing.tensorflow.table import read_table
from gradwire.runtime.interchange.importing.tensorflow.tensors import (
    dtype_of,
    require_size,
    shape_of,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

MAX_INDEX = 64 * 2**20
"""Bytes of an index, at most."""
_MOST_SHARDS = 10_000


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
        dtype, shape = np.dtype(dtype_of(entry.dtype, where)), shape_of(entry.shape, where)
        if any(length < 0 for length in shape) or math.prod(shape) > MAX_CONSTANT:
            raise FileError(f"The shape of {where} can't be.", got=str(shape), path=self._source)
        require_size(where, entry.size, math.prod(shape) * dtype.itemsize)
        raw = self._bytes(entry.shard, entry.offset, entry.size, where)
        return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(shape)

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
