"""Looks over the bytes of a model before they are parsed, so that no file asks for too much memory.

A protobuf message of two bytes becomes an object of a hundred; so the messages are counted first.
"""

from __future__ import annotations

from gradwire.blocks.errors import FileError

MAX_MESSAGES = 5_000_000
"""Messages and texts in a model; each takes about a hundred bytes once it is parsed."""
MAX_NUMBERS = 50_000_000
"""Numbers in a model outside of packed ones."""
MAX_NODES = 200_000
"""Nodes in a model."""
MAX_DEPTH = 60
"""Messages inside one another."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_INSIDE: dict[str, dict[int, str]] = {
    "model": {
        2: "text", 3: "text", 4: "text", 6: "text", 7: "graph", 8: "entry", 14: "entry",
        20: "training", 25: "function", 26: "leaf",
    },
    "training": {1: "graph", 2: "graph", 3: "entry", 4: "entry"},
    "graph": {
        1: "node", 2: "text", 5: "tensor", 10: "text", 11: "value", 12: "value", 13: "value",
        14: "leaf", 15: "sparse", 16: "entry",
    },
    "function": {
        1: "text", 4: "text", 5: "text", 6: "text", 7: "node", 8: "text", 9: "entry", 10: "text",
        11: "attribute", 12: "value", 13: "text", 14: "entry",
    },
    "node": {
        1: "text", 2: "text", 3: "text", 4: "text", 5: "attribute", 6: "text", 7: "text",
        8: "text", 9: "entry", 10: "leaf",
    },
    "attribute": {
        1: "text", 5: "tensor", 6: "graph", 9: "leaf", 10: "tensor", 11: "graph", 13: "text",
        14: "type", 15: "type", 21: "text", 22: "sparse", 23: "sparse",
    },
    "tensor": {6: "leaf", 8: "text", 12: "text", 13: "entry", 16: "entry"},
    "sparse": {1: "tensor", 2: "tensor"},
    "value": {1: "text", 2: "type", 3: "text", 4: "entry"},
    "type": {1: "tensor type", 4: "holder", 5: "map", 6: "text", 8: "tensor type", 9: "holder"},
    "holder": {1: "type"},
    "map": {2: "type"},
    "tensor type": {2: "shape"},
    "shape": {1: "entry"},
    "entry": {1: "text", 2: "text", 3: "text"},
}  # fmt: skip
"""Messages by the fields of the messages that they are in."""
HEADS = {1: _VARINT, 2: _BYTES, 3: _BYTES, 4: _BYTES, 5: _VARINT, 6: _BYTES, 7: _BYTES, 8: _BYTES}
"""Fields that the first bytes of a model may have, with how they are written."""


def require_harmless(data: bytes) -> None:
    """Raise FileError unless the bytes are a protobuf message of bearable size."""
    _Scanner(data).model()


def field_at(data: bytes, place: int) -> tuple[int, int, int, int]:
    """Number and kind of the field at a place, where its content begins, and where it ends.

    Raises ValueError where there is no field.
    """
    tag, start = _varint(data, place)
    number, kind = tag >> 3, tag & 7
    if kind == _BYTES:
        length, start = _varint(data, start)
        return number, kind, start, start + length
    if kind == _VARINT:
        return number, kind, start, _varint(data, start)[1]
    if kind in (_FIXED32, _FIXED64) and number:
        return number, kind, start, start + (4 if kind == _FIXED32 else 8)
    raise ValueError("no field")


def _varint(data: bytes, place: int) -> tuple[int, int]:
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
    raise ValueError("no number")


class _Scanner:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._messages = self._numbers = self._nodes = 0

    def model(self) -> None:
        """Visit all messages, without recursion."""
        pending = [("model", 0, len(self._data))]
        while pending:
            kind, place, end = pending.pop()
            inside = _INSIDE[kind]
            while place < end:
                try:
                    number, wire, start, place = field_at(self._data, place)
                except ValueError:
                    place = end + 1
                if place > end:
                    raise FileError(
                        "The file is damaged: a message in it is not whole.",
                        next_step="Save it again.",
                    )
                content = inside.get(number) if wire == _BYTES else None
                if content == "text":
                    self._count_text(start, place)
                elif content is not None:
                    self._count_message(content)
                    if content != "leaf":
                        pending.append((kind, place, end))
                        pending.append((content, start, place))
                        break
                elif wire != _BYTES:
                    self._count_number()
            if len(pending) > MAX_DEPTH:
                raise _too_much(f"{MAX_DEPTH} messages inside one another")

    def _count_text(self, start: int, end: int) -> None:
        self._messages += 1
        if self._messages > MAX_MESSAGES:
            raise _too_much(f"{MAX_MESSAGES} messages")
        try:
            self._data[start:end].decode()
        except UnicodeDecodeError as error:
            raise FileError("The file is damaged: a name in it is no text.") from error

    def _count_number(self) -> None:
        self._numbers += 1
        if self._numbers > MAX_NUMBERS:
            raise _too_much(f"{MAX_NUMBERS} numbers")

    def _count_message(self, kind: str) -> None:
        self._messages += 1
        self._nodes += kind == "node"
        if self._nodes > MAX_NODES:
            raise _too_much(f"{MAX_NODES} nodes")
        if self._messages > MAX_MESSAGES:
            raise _too_much(f"{MAX_MESSAGES} messages")


def _too_much(what: str) -> FileError:
    return FileError(f"The model is too large: it has more than {what}.")
