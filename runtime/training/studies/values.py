"""The values of ``--vary NAME=VALUES``: lists, ranges of integers, and numbers between two ends.

``1e-3,1e-2``                a list; an entry is JSON, or a word for itself
``0..9``, ``0..100..10``     integers from one end to the other, by steps, as in a shell's braces
``linspace(0, 1, 5)``        so many numbers at equal distances, both ends among them, as numpy's
``geomspace(1e-4, 1, 5)``    likewise at equal ratios
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradwire.blocks.errors import ParameterError
from gradwire.runtime.diagram.files.models import whole_numbers

MOST = 10_000
"""Trainings of one study, and values of one name."""
EXPECTED = (
    "a list such as 1e-3,1e-2, a range of integers such as 0..9 or 0..100..10, "
    "linspace(FIRST, LAST, COUNT) or geomspace(FIRST, LAST, COUNT)"
)
_RANGE = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)(?:\.\.(\d+))?")
_SPACE = re.compile(r"(linspace|geomspace)\((.*)\)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d][\w./*-]*")
_DIGITS = 18
"""Of an integer at the end of a range, at most."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)
"""A quoted text, or one character."""


def parse_varied(text: str) -> tuple[str, tuple[Any, ...]]:
    """``"lr=1e-3,1e-2"`` as a name and its values; raises ParameterError."""
    name, equals, values = text.partition("=")
    name = name.strip()
    if not (name and equals and values.strip()):
        raise ParameterError(
            f"--vary {text!r} is not NAME=VALUES.",
            expected="NAME=VALUES",
            next_step="For example --vary lr=1e-3,1e-2 --vary seed=0..9.",
        )
    return name, parse_values(name, values)


def parse_values(name: str, text: str) -> tuple[Any, ...]:
    """The values of a name as JSON data, none of them twice; raises ParameterError."""
    found: list[Any] = []
    for entry in _entries(name, text):
        found += _values(name, entry)
        if len(found) > MOST:
            raise _wrong(name, text, "has too many values", f"at most {MOST:,}")
    seen = set()
    for value in found:
        key = json.dumps(whole_numbers(value), sort_keys=True)
        if key in seen:
            raise ParameterError(f"--vary {name} has the value {key} twice.")
        seen.add(key)
    return tuple(found)


def _entries(name: str, text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets and no quotes."""
    closing: list[str] = []
    entry = ""
    for part in _PART.findall(text):
        if part == "," and not closing:
            yield entry.strip()
            entry = ""
            continue
        entry += part
        if part in _PAIRS:
            closing.append(_PAIRS[part])
        elif closing and part == closing[-1]:
            closing.pop()
    if closing:
        raise _wrong(name, text, f"lacks a {closing[-1]}")
    yield entry.strip()


def _values(name: str, entry: str) -> list[Any]:
    if found := _RANGE.fullmatch(entry):
        return _integers(name, entry, *found.groups())
    if found := _SPACE.fullmatch(entry):
        return _spaced(name, entry, found[1], found[2])
    if _NUMBER.fullmatch(entry):
        return [_number(name, entry)]
    try:
        return [json.loads(entry, parse_constant=_refuse)]
    except (ValueError, RecursionError):
        word = {"True": True, "False": False, "None": None}.get(entry, entry)
        if word != entry or _WORD.fullmatch(entry):
            return [word]
    raise _wrong(name, entry, "can't be read")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _number(name: str, text: str) -> int | float:
    """An integer if it is written as one; whole floats are integers to whoever needs these."""
    if len(text) <= _DIGITS and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise _wrong(name, text, "is too large")
    return value


def _integers(name: str, entry: str, first: str, last: str, step: str | None) -> list[Any]:
    if max(map(len, (first, last, step or ""))) > _DIGITS:
        raise _wrong(name, entry, "is too large")
    begin, end, by = int(first), int(last), int(step or 1)
    if by == 0:
        raise _wrong(name, entry, "has a step of 0")
    found = range(begin, end + 1, by) if begin <= end else range(begin, end - 1, -by)
    if len(found) > MOST:
        raise _wrong(name, entry, "has too many values", f"at most {MOST:,}")
    return list(found)


def _spaced(name: str, entry: str, kind: str, arguments: str) -> list[Any]:
    try:
        begin, end, count = (json.loads(part) for part in arguments.split(","))
        first, last = float(begin), float(end)
    except (ValueError, TypeError, RecursionError):
        raise _wrong(name, entry, "can't be read", f"{kind}(FIRST, LAST, COUNT)") from None
    if not (type(count) is int and 2 <= count <= MOST):
        raise _wrong(name, entry, "has no such count", f"an integer from 2 to {MOST:,}")
    if not math.isfinite(last - first):
        raise _wrong(name, entry, "is too large")
    if kind == "geomspace" and not min(first, last) > 0:
        raise _wrong(name, entry, "has no equal ratios", "two positive ends")
    space = np.geomspace if kind == "geomspace" else np.linspace
    return [float(f"{value:.12g}") for value in space(first, last, count).tolist()]


def _wrong(name: str, text: str, what: str, expected: str = EXPECTED) -> ParameterError:
    return ParameterError(f"--vary {name} {what}.", expected=expected, got=repr(text[:80]))
