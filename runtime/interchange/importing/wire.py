"""Protobuf as bytes: its fields, and a walk over a file before it is parsed.

A message of two bytes becomes an object of a hundred, so a file is parsed only once its messages
have been counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

MAX_DEPTH = 60
"""Messages inside one another."""
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""How the content of a field is written."""
_TEXT, _MESSAGE = 9, 11
_NODES = frozenset({"Node", "NodeProto"})


def require_harmless(
    data: bytes, kind: Descriptor, most: Mapping[str, int], path: str | None = None
) -> None:
    """Raise FileError unless the bytes are a message of bearable size.

    ``most`` are limits of "fields"; of "messages", with all else that has a length; of "numbers"
    outside of packed ones; and of "nodes".
    """
    counts = dict.fromkeys(most, 0)

    def count(what: str) -> None:
        if what in counts:
            counts[what] += 1
            if counts[what] > most[what]:
                raise _too_large(f"{most[what]:,} {what}", path)

    pending = [(kind, 0, len(data))]
    while pending:
        kind, place, end = pending.pop()
        inside = _inside(kind)
        while place < end:
            try:
                number, wire, start, place = field_at(data, place)
            except ValueError as error:
                raise _damaged(str(error), path) from error
            if place > end:
                raise _damaged("it ends within a field", path)
            count("fields")
            count("messages" if wire == BYTES else "numbers")
            if wire != BYTES or number not in inside:
                continue
            inner = inside[number]
            if inner is None:
                _require_text(data[start:place], path)
                continue
            if inner.name in _NODES:
                count("nodes")
            pending += [(kind, place, end), (inner, start, place)]
            break
        if len(pending) > MAX_DEPTH:
            raise _too_large(f"{MAX_DEPTH} messages inside one another", path)


def field_at(data: bytes, place: int) -> tuple[int, int, int, int]:
    """Number and kind of the field at a place, where its content begins, and where it ends.

    Raises ValueError, which says why, where there is no field.
    """
    tag, start = varint(data, place)
    number, kind = tag >> 3, tag & 7
    if kind == BYTES:
        length, start = varint(data, start)
        return number, kind, start, start + length
    if kind == VARINT:
        return number, kind, start, varint(data, start)[1]
    if kind in (FIXED32, FIXED64) and number:
        return number, kind, start, start + (4 if kind == FIXED32 else 8)
    raise ValueError("it has a field of a type that no such file has")


def varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and where it ends. Raises ValueError where there is none."""
    if place < len(data) and data[place] < 128:
        return data[place], place + 1
    number = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        number |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return number, place
        shift += 7
    raise ValueError("it ends within a number")


@cache
def _inside(kind: Descriptor) -> Mapping[int, Descriptor | None]:
    """The messages in a message by the numbers of their fields; None for texts."""
    fields = [field for field in kind.fields if field.type in (_TEXT, _MESSAGE)]
    return {field.number: field.message_type for field in fields}


def _require_text(data: bytes, path: str | None) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _damaged("a name in it is no text", path) from error


def _damaged(why: str, path: str | None) -> FileError:
    return FileError(f"The file is damaged: {why}.", next_step="Save it again.", path=path)


def _too_large(what: str, path: str | None) -> FileError:
    return FileError(f"The model is too large: it has more than {what}.", path=path)
