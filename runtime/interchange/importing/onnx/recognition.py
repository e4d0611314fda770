"""Tells ONNX files by their first bytes, without the package onnx."""

from __future__ import annotations

from pathlib import Path

from gradwire.runtime.interchange.importing.wire import BYTES, VARINT, field_at

_HEADS = {1: VARINT, 2: BYTES, 3: BYTES, 4: BYTES, 5: VARINT, 6: BYTES, 7: BYTES, 8: BYTES}
"""Fields that the first bytes of a model may have, with how they are written."""
MAX_VERSION = 64
"""The largest version of the format that a file may name; 14 are known."""


def is_onnx(head: bytes, path: Path) -> bool:
    """Whether a file begins like an ONNX model: a version, then fields of a model.

    A saved model of TensorFlow begins with a version as well, but the field after it is no text.
    """
    place, seen = 0, []
    while place < len(head):
        try:
            number, kind, start, end = field_at(head, place)
        except ValueError:
            break
        if _HEADS.get(number) != kind:
            return False
        if number in (2, 3, 4, 6) and not _is_text(head[start:end]):
            return False
        if number == 1 and not 0 < head[start] <= MAX_VERSION:
            return False
        seen.append(number)
        place = end
    return seen[:1] == [1] and len(seen) > 1


def _is_text(data: bytes) -> bool:
    try:
        return len(data) < 1000 and data.decode().isprintable()
    except UnicodeDecodeError:
        return False
