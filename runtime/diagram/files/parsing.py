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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONTAINERS, MAX_ENTRIES
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from collections.abc import Iterator


# Scans JSON texts piece by piece: what they hold, and where, without parsing them.
#
# Every offset counts characters. Memory is bounded by the size of a piece, so that a text of 60 MB
# is looked through in a fraction of a second, beside little more than itself.

_PIECE = 1 << 20
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_scan = json.JSONDecoder().raw_decode
_space = re.compile(r"[ \t\n\r]*").match


@by_identity
class TextPiece(NamedTuple):
    """A part of a text, one code for each character, and which of them are outside strings."""

    start: int
    codes: NDArray[np.uint8]
    outside: NDArray[np.bool_]

    def places(self, *characters: str) -> NDArray[np.bool_]:
        """Where one of these characters is outside a string."""
        found = np.zeros(len(self.codes), np.bool_)
        for character in characters:
            found |= self.codes == ord(character)
        return found & self.outside


def pieces(text: str) -> Iterator[TextPiece]:
    """The parts of a text; escaped characters in strings are blanked out."""
    start, inside = 0, False
    while start < len(text):
        data = text[start : start + _PIECE].encode("latin-1", "replace")
        if (len(data) - len(data.rstrip(b"\\"))) % 2 and start + len(data) < len(text):
            data = data[:-1]  # a backslash stays with what it escapes
        length = len(data)
        if b"\\" in data:
            data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        codes = np.frombuffer(data, np.uint8)
        quoted = _odd_so_far(codes == ord('"')) ^ inside
        inside = quoted[-1]
        yield TextPiece(start, codes, ~quoted)
        start += length


def _odd_so_far(marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether an odd number of marks is true up to each; 64 of them in a word at a time."""
    words = np.zeros(-(-len(marks) // 64), "<u8")
    packed = np.packbits(marks, bitorder="little")
    words.view(np.uint8)[: len(packed)] = packed
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    odd = np.bitwise_xor.accumulate(words >> np.uint64(63))
    words[1:] ^= -odd[:-1]  # all bits of a word before which the number is odd
    return np.unpackbits(words.view(np.uint8), count=len(marks), bitorder="little").view(np.bool_)


class TextLimits(NamedTuple):
    """What a text may hold at most: brackets inside one another, values, lists and objects."""

    depth: int
    entries: int
    containers: int


class TextSurvey(NamedTuple):
    """What a text holds: where it passes a limit, whether a number may be infinite, its objects
    and how many members they have together, each key as often as it appears.
    """

    excess: tuple[str, int] | None
    """The name of the first limit that is passed, and the offset where it is."""
    may_overflow: bool
    objects: int
    members: int


def survey(text: str, limits: TextLimits) -> TextSurvey:
    """Look through a text once; no further than the first limit that it passes."""
    depth = entries = containers = objects = members = 0
    overflow = False
    for piece in pieces(text):
        members += int(np.count_nonzero(piece.places(":")))
        places = np.flatnonzero(piece.places(*"[]{},"))
        if not len(places):
            overflow = overflow or _may_overflow(piece)
            continue
        codes = piece.codes[places]
        steps = _STEPS[codes]
        depths = np.cumsum(steps, dtype=np.int32) + depth
        opening = steps > 0
        separating = opening | (codes == ord(","))
        found = (
            ("depth", _first(depths > limits.depth)),
            ("containers", _nth(opening, limits.containers - containers)),
            ("entries", _nth(separating, limits.entries - entries)),
        )
        passed = [(at, name) for name, at in found if at is not None]
        if passed:
            at, name = min(passed)
            return TextSurvey((name, piece.start + int(places[at])), overflow, objects, members)
        depth = int(depths[-1])
        containers += int(np.count_nonzero(opening))
        objects += int(np.count_nonzero(codes == ord("{")))
        entries += int(np.count_nonzero(separating))
        overflow = overflow or _may_overflow(piece)
    return TextSurvey(None, overflow, objects, members)


def _first(mask: NDArray[np.bool_]) -> int | None:
    return int(mask.argmax()) if mask.any() else None


def _nth(mask: NDArray[np.bool_], number: int) -> int | None:
    """The place after ``number`` others; None where there are not so many."""
    if np.count_nonzero(mask) <= number:
        return None
    return int(np.flatnonzero(mask)[number])


def _may_overflow(piece: TextPiece) -> bool:
    """Whether a number has an exponent that is not negative, or enough digits, to be infinite.

    A number of 309 digits has 128 in one of the two pieces that it may extend across.
    """
    codes = piece.codes
    digits = (codes - ord("0") < 10) & piece.outside
    exponents = piece.outside & ((codes | 32) == ord("e"))
    raised = exponents[:-1] & (digits[1:] | (codes[1:] == ord("+")))
    if raised.any() or exponents[-1]:
        return True
    # Of 128 digits in a row, each 16th is eight in a row: few texts have so many of those.
    return _in_a_row(digits[::16], 8) and _in_a_row(digits, 128)


def _in_a_row(marks: NDArray[np.bool_], count: int) -> bool:
    """Whether so many neighbours are true, a power of two."""
    shift = 1
    while shift < count:
        marks = marks[:-shift] & marks[shift:]
        shift *= 2
    return bool(marks.any())


def first_outside(text: str, pattern: re.Pattern[str]) -> int:
    """The offset of the first match outside strings; 0 where there is none."""
    matches = pattern.finditer(text)
    match = next(matches, None)
    for piece in pieces(text):
        while match is not None and match.start() < piece.start + len(piece.codes):
            if piece.outside[match.start() - piece.start]:
                return match.start()
            match = next(matches, None)
    return 0


def object_closed(text: str, number: int, depth: int) -> int:
    """The offset of the object that is closed after ``number`` others, in a text so deep."""
    opened = np.zeros(depth + 2, np.int64)
    before = 0
    for piece in pieces(text):
        steps = np.where(piece.outside, _STEPS[piece.codes], 0)
        depths = np.cumsum(steps, dtype=np.int32) + before
        opening = np.flatnonzero(piece.places("{"))
        at = _nth(piece.places("}"), number)
        if at is not None:
            opening = opening[opening < at]
        opened[depths[opening]] = piece.start + opening
        if at is not None:
            return int(opened[depths[at] + 1])
        number -= int(np.count_nonzero(piece.places("}")))
        before = int(depths[-1])
    return 0


class Member(NamedTuple):
    """An entry of an object or list: its key or index, and the offsets of key and value.

    In a list the entry has no key: both offsets are those of the value.
    """

    part: str | int
    key: int
    value: int


def members(text: str, at: int) -> Iterator[Member]:
    """The entries of the object or list at an offset of a valid text; none of any other value."""
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return
    at, index = _after(text, at + 1), 0
    while text[at : at + 1] not in ("}", "]"):
        key, part = at, index
        if opening == "{":
            part, end = _scan(text, at)
            at = _after(text, _after(text, end) + 1)
        yield Member(part, key, at)
        at = _after(text, _scan(text, at)[1])
        if text[at : at + 1] != ",":
            return
        at, index = _after(text, at + 1), index + 1


def _after(text: str, at: int) -> int:
    found = _space(text, at)
    assert found is not None  # it may be empty
    return found.end()


def offset_of(text: str, path: tuple[str | int, ...]) -> int:
    """Where a path leads in the text: the key that names the value, or the value in a list.

    For a path that does not exist, this is the position of its last existing part.
    """
    at = offset = _after(text, 0)
    for part in path:
        found = next((member for member in members(text, at) if member.part == part), None)
        if found is None:
            break
        offset, at = found.key, found.value
    return offset


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

    def __init__(self, path: Path, what: str, **more: Any):
        super().__init__(what)
        self.path = path
        self.what = what
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
        **(flaw.more if flaw else {}),
    )


def check_limits(text: str, source: str | None = None) -> TextSurvey:
    """What a text holds. Raises FileError, with the place, if that is more than can be read."""
    require_at_most("The file is too large.", len(text), MAX_CHARACTERS, "characters", path=source)
    surveyed = survey(text, TextLimits(MAX_DEPTH, MAX_ENTRIES, MAX_CONTAINERS))
    if surveyed.excess is not None:
        name, offset = surveyed.excess
        what, more = _EXCESSES[name]
        raise file_error(what, text, offset, source, Flaw((), "", **more))
    return surveyed


def parse(text: str, source: str | None = None) -> object:
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


def _members_of(value: object, count: int) -> int:
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


def _explained(text: str, surveyed: TextSurvey, source: str | None) -> object:
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

    def read(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
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
