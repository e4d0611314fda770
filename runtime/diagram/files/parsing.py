"""Parses strict JSON and reports errors by line and column.

The fast parser of the standard library does the work. Only when it fails is the text scanned
again, slowly, to find the position of the error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from blocks.errors import FileError, Location

MAX_CHARACTERS = 64 * 2**20
"""Maximum length of a diagram file, not counting the array file."""
MAX_DEPTH = 100
"""Maximum depth of nested brackets: an array of 64 axes fits."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices, from the outermost value inwards."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


class Flaw(Exception):
    """An invalid value at ``path`` of a document; ``in_text`` converts it to a FileError."""

    def __init__(self, path: Path, what: str, *, location: Location | None = None, **more: Any):
        super().__init__(what)
        self.path = path
        self.what = what
        self.location = location
        self.more = more

    def in_text(self, text: str, source: str | None) -> FileError:
        """The FileError with line and column in the text."""
        return file_error(self.what, text, offset_of(text, self.path), source, self)


def file_error(
    what: str, text: str, offset: int, source: str | None, flaw: Flaw | None = None
) -> FileError:
    """A FileError with the line and column of an offset in characters."""
    return FileError(
        what,
        path=source,
        line=text.count("\n", 0, offset) + 1,
        column=offset - text.rfind("\n", 0, offset),
        location=flaw.location if flaw else None,
        **(flaw.more if flaw else {}),
    )


def parse(text: str, source: str | None = None) -> Any:
    """Parse a JSON text.

    Raises FileError for invalid JSON, duplicate keys, non-finite numbers, and texts that are too
    long or too deeply nested.
    """
    if len(text) > MAX_CHARACTERS:
        raise FileError(
            "The file is too large.",
            path=source,
            expected=f"at most {MAX_CHARACTERS:,} characters",
            got=f"{len(text):,}",
        )
    deep = _too_deep(text)
    if deep is not None:
        raise file_error(f"Brackets are nested more than {MAX_DEPTH} deep.", text, deep, source)
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise file_error(f"Not JSON: {error.msg}.", text, error.pos, source) from None
    except _Duplicate:
        spot = _first_duplicate(text)
        raise file_error(
            f"The key {spot.path[-1]!r} appears twice.", text, spot.key, source
        ) from None
    except ValueError:
        spot = next(spot for spot in spots(text) if _is_invalid_number(spot.text))
        raise file_error(
            f"{spot.text[:40]} is not a JSON number.",
            text,
            spot.value,
            source,
            Flaw((), "", next_step='If the parameter allows it, write "nan", "inf" or "-inf".'),
        ) from None


class _Duplicate(Exception):
    """An object has the same key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Duplicate
    return found


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(digits)
    return value


def _is_invalid_number(token: str) -> bool:
    try:
        json.loads(token or "0", parse_constant=_refuse, parse_float=_finite)
    except ValueError:
        return True
    return False


def _too_deep(text: str) -> int | None:
    """Offset of the first bracket beyond the limit; brackets in strings don't count."""
    data = text.encode("utf-8", "surrogatepass")
    plain = re.sub(rb"\\.", b"__", data, flags=re.DOTALL) if b"\\" in data else data
    codes = np.frombuffer(plain, np.uint8)
    outside = (np.cumsum(codes == ord('"'), dtype=np.int32) & 1) == 0
    steps = np.isin(codes, list(b"[{")).astype(np.int32) - np.isin(codes, list(b"]}"))
    beyond = np.flatnonzero(np.cumsum(steps * outside) > MAX_DEPTH)
    if not len(beyond):
        return None
    return len(data[: int(beyond[0])].decode("utf-8", "surrogatepass"))


class Spot(NamedTuple):
    """A JSON value in a text: its path, the offset of its key (of itself without a key), its own
    offset, and its text, which is empty for objects and arrays.
    """

    path: Path
    key: int
    value: int
    text: str


def spots(text: str) -> Iterator[Spot]:
    """All values of a JSON text, in text order."""
    path: list[str | int] = []
    key_offsets: list[int | None] = []
    expects_key = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in ("]", "}"):
            path.pop()
            key_offsets.pop()
            expects_key = False
        elif token == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
            else:
                expects_key = True
        elif token == ":":
            pass
        elif expects_key:
            path[-1] = json.loads(token)
            key_offsets[-1] = match.start()
            expects_key = False
        else:
            key = key_offsets[-1] if key_offsets else None
            at = match.start()
            opens = token in ("[", "{")
            yield Spot(tuple(path), at if key is None else key, at, "" if opens else token)
            if opens:
                path.append(0 if token == "[" else "")
                key_offsets.append(None)
                expects_key = token == "{"


def offset_of(text: str, path: Path) -> int:
    """Offset of the key of the value at ``path``, or of the value itself inside an array.

    If there is no such value, the offset of its innermost existing parent.
    """
    best, offset = -1, 0
    for spot in spots(text):
        depth = len(spot.path)
        if depth > best and spot.path == path[:depth]:
            best, offset = depth, spot.key
    return offset


def _first_duplicate(text: str) -> Spot:
    seen: set[Path] = set()
    for spot in spots(text):
        if spot.path in seen:
            return spot
        seen.add(spot.path)
    raise AssertionError("the parser saw a key twice")
