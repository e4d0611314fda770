"""Parses strict JSON and reports errors by line and column.

A fast parser does the work. Only what it refuses, and what may hold a number or a key that JSON
has no place for, is read by the standard library's, which tells where the error is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from pydantic_core import from_json

from gradwire.blocks.errors import FileError, Location
from gradwire.blocks.limits import MAX_CONTAINERS, MAX_ENTRIES
from gradwire.runtime.diagram.files.scanning import (
    TextLimits,
    TextSurvey,
    first_outside,
    members,
    object_closed,
    offset_of,
    survey,
)

MAX_CHARACTERS = 64 * 2**20
"""Maximum length of a diagram file, not counting the array file."""
MAX_DEPTH = 100
"""Maximum depth of nested brackets: an array of 64 axes fits."""

_BESIDE = "Save large arrays in a file beside the diagram."

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices, from the outermost value inwards."""

_LONG_INTEGER = r"-?[0-9]{4301,}+"
"""What Python takes for too long to convert."""
_EXCESSES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "depth": (f"Brackets are nested more than {MAX_DEPTH} deep.", {}),
    "containers": (
        "The file has too many lists and objects.",
        {"expected": f"at most {MAX_CONTAINERS:,}", "next_step": _BESIDE},
    ),
    "entries": (
        "The file has too many values.",
        {"expected": f"at most {MAX_ENTRIES:,}", "next_step": _BESIDE},
    ),
}
"""The message for each limit that a text may pass."""


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


def check_limits(text: str, source: str | None = None) -> TextSurvey:
    """What a text holds. Raises FileError, with the place, if that is more than can be read."""
    if len(text) > MAX_CHARACTERS:
        raise FileError(
            "The file is too large.",
            path=source,
            expected=f"at most {MAX_CHARACTERS:,} characters",
            got=f"{len(text):,}",
        )
    surveyed = survey(text, TextLimits(MAX_DEPTH, MAX_ENTRIES, MAX_CONTAINERS))
    if surveyed.excess is not None:
        name, offset = surveyed.excess
        what, more = _EXCESSES[name]
        raise file_error(what, text, offset, source, Flaw((), "", **more))
    return surveyed


def parse(text: str, source: str | None = None) -> Any:
    """Parse a JSON text.

    Raises FileError for invalid JSON, duplicate keys, non-finite numbers, and texts that are too
    long or too deeply nested.
    """
    surveyed = check_limits(text, source)
    if not surveyed.may_overflow:
        with suppress(ValueError, TypeError):  # TypeError: a text that UTF-8 can't express
            found = from_json(text, allow_inf_nan=False, cache_strings="none")
            if _members_of(found, surveyed.objects) == surveyed.members:  # no key appears twice
                return found
    return _explained(text, surveyed, source)


def _members_of(value: Any, count: int) -> int:
    """How many members the objects of a value have, of which there are ``count``."""
    objects: list[dict[str, Any]] = []
    lists: list[Any] = [[value]]
    found = 0
    while objects or (count and lists):
        if objects:
            one = objects.pop()
            count -= 1
            found += len(one)
            inside = one.values()
        else:
            inside = lists.pop()
        for each in inside:
            if (kind := type(each)) is dict:
                objects.append(each)
            elif kind is list:
                lists.append(each)
    return found


def _explained(text: str, surveyed: TextSurvey, source: str | None) -> Any:
    """What the standard library reads; raises FileError as ``parse`` does."""
    objects = _Objects()
    try:
        return json.loads(
            text,
            object_pairs_hook=objects.read,
            parse_constant=_refuse,
            parse_float=_finite if surveyed.may_overflow else None,
        )
    except json.JSONDecodeError as error:
        raise file_error(
            f"Not JSON: {error.msg.removesuffix(' at')}.", text, error.pos, source
        ) from None
    except _Duplicate:
        key, offset = _duplicate(text, object_closed(text, objects.count, MAX_DEPTH))
        raise file_error(f"The key {key!r} appears twice.", text, offset, source) from None
    except _NotFinite as error:
        token = re.escape(error.args[0])  # first, so that the search is for a plain text
        raise _number_error(text, rf"{token}(?<![\w.+-]{token})", source) from None
    except ValueError:  # of an integer
        raise _number_error(text, _LONG_INTEGER, source) from None


_NAMES = ("NaN", "Infinity", "-Infinity")
"""What Python reads as numbers, and JSON has no numbers for."""


def _number_error(text: str, number: str, source: str | None) -> FileError:
    """The error of the first number of a text that matches a pattern."""
    pattern = re.compile(rf"{number}(?![\w.+-])")
    offset = first_outside(text, pattern)
    token = pattern.match(text, offset)
    found = token[0][:40] if token else "This"
    return file_error(
        f"{found} is {'not a JSON number' if found in _NAMES else 'too large for a number'}.",
        text,
        offset,
        source,
        Flaw((), "", next_step='If the parameter allows it, write "nan", "inf" or "-inf".'),
    )


def _duplicate(text: str, at: int) -> tuple[str | int, int]:
    """The first key of an object that appears for the second time, and its offset."""
    seen: set[str | int] = set()
    for member in members(text, at):
        if member.part in seen:
            return member.part, member.key
        seen.add(member.part)
    raise AssertionError("the parser saw a key twice")


class _Duplicate(Exception):
    """An object has the same key twice."""


class _NotFinite(Exception):
    """A number that no finite float is; its text."""


class _Objects:
    """Counts the objects that are read, so that the one with a flaw can be found again."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """The object; raises _Duplicate for a key that appears twice."""
        found = dict(pairs)
        if len(found) < len(pairs):
            raise _Duplicate
        self.count += 1
        return found


def _refuse(constant: str) -> float:
    raise _NotFinite(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _NotFinite(digits)
    return value
