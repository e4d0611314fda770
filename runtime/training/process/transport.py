"""Messages between the two processes: pickles with their lengths, over pipes.

Both ends are this program, and nobody else has the pipes.
"""

from __future__ import annotations

import io
import pickle
import struct
from types import MappingProxyType
from typing import IO, Any

_LENGTH = struct.Struct("<Q")


class _Pickler(pickle.Pickler):
    """Also pickles read-only views of dictionaries, which blocks have."""

    def reducer_override(self, found: object) -> Any:
        if isinstance(found, MappingProxyType):
            return _read_only, (dict(found),)
        return NotImplemented


def _read_only(content: dict[object, object]) -> MappingProxyType[object, object]:
    """What a pickle calls: the class itself can't be named in one."""
    return MappingProxyType(content)


def packed(message: object) -> bytes:
    """The bytes of a message. Raises what pickling does."""
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(message)
    return content.getvalue()


def send(stream: IO[bytes], content: bytes) -> None:
    """Write the bytes of a message. Raises OSError once nobody reads."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Wait for a message; raises EOFError once nobody writes."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
