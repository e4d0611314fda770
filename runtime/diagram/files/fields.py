"""Reads the fields of a document; each function raises Flaw where one is not what it should be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from reprlib import Repr
from typing import Any, TypeVar

from gradwire.blocks.limits import MAX_CONTRACTS
from gradwire.blocks.names import NAME_RULE, is_name
from gradwire.runtime.diagram.files.parsing import Flaw, Path
from gradwire.runtime.diagram.model import Point

_T = TypeVar("_T")
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist = 6, 20, 20
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 200


def shown(value: object) -> str:
    """The beginning of a value, however large it is."""
    return _SHORT.repr(value)[:40]


def read_object(value: object, path: Path) -> dict[str, object]:
    """An object as a dict."""
    if not isinstance(value, dict):
        raise Flaw(path, described(path, "is not an object"), expected="{…}", got=shown(value))
    return value


def only_fields(record: dict[str, object], known: tuple[str, ...], path: Path) -> None:
    """Refuse fields that are not ``known``."""
    for key in record:
        if key not in known:
            raise Flaw(
                (*path, key),
                f"There is no field {key!r} here.",
                expected="one of " + ", ".join(known),
            )


def read_text(value: object, path: Path) -> str:
    """A string."""
    if not isinstance(value, str):
        raise Flaw(path, described(path, "is not a string"), expected='"…"', got=shown(value))
    return value


def read_lines(value: object, path: Path) -> tuple[str, ...]:
    """A list of strings, at most ``MAX_CONTRACTS``."""
    if not isinstance(value, list):
        raise Flaw(path, described(path, "is not a list"), expected='["…"]', got=shown(value))
    limit(len(value), MAX_CONTRACTS, "lines", path)
    return tuple(read_text(line, (*path, i)) for i, line in enumerate(value))


def read_name(name: str, path: Path, kind: str) -> str:
    """A name of something of a ``kind`` that follows ``NAME_RULE``."""
    if not is_name(name):
        raise Flaw(path, f"{name[:120]!r} is not a valid {kind} name.", expected=NAME_RULE)
    return name


def read_each(
    records: dict[str, object], kind: str, read_one: Callable[[Any, Path], _T], path: Path
) -> dict[str, _T]:
    """Records by name, each read by ``read_one``."""
    return {
        read_name(name, (*path, name), kind): read_one(value, (*path, name))
        for name, value in records.items()
    }


def limit(count: int, most: int, what: str, path: Path) -> None:
    """Refuse more than ``most`` of something."""
    if count > most:
        raise Flaw(path, f"Too many {what}.", expected=f"at most {most:,}", got=f"{count:,}")


def read_number(value: object, path: Path) -> float:
    """A number as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Flaw(path, described(path, "is not a number"), got=shown(value))
    try:
        return float(value)
    except OverflowError:
        raise Flaw(path, described(path, "is too large")) from None


def read_point(value: object, path: Path) -> Point:
    """A position ``[x, y]``."""
    if not isinstance(value, list) or len(value) != 2:
        raise Flaw(path, described(path, "is not a position"), expected="[x, y]", got=shown(value))
    return Point(read_number(value[0], (*path, 0)), read_number(value[1], (*path, 1)))


def read_flag(value: object, path: Path) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Flaw(path, described(path, "is neither true nor false"), got=shown(value))
    return value


def described(path: Path, verdict: str) -> str:
    """A sentence with what is at ``path`` as its subject."""
    if not path:
        return f"The document {verdict}."
    trailing = takewhile(lambda part: isinstance(part, int), reversed(path))
    entry = [str(int(part) + 1) for part in trailing][::-1]
    key = repr(path[-1 - len(entry)])
    return f"Entry {'.'.join(entry)} of {key} {verdict}." if entry else f"{key} {verdict}."
