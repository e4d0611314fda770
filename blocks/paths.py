"""Paths of leaves in trees, and the patterns that select them.

A leaf has a path of keys from the root: text for a mapping, 0, 1, … for a sequence. In text its
parts are joined by ``/``: ``encoder/w``, ``layers/0/b``. Within a part, ``% / : , * ?``, control
characters and a leading or trailing space are escaped as ``%2F`` and so on. An empty key is ``%``;
the empty text is the root.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from gradwire.blocks.globs import Glob, Token, Wild

Key: TypeAlias = str | int
Path: TypeAlias = tuple[Key, ...]

UNWRITTEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""A character that no path has as it is: a control character, or half of a surrogate pair."""

_ESCAPED = re.compile(r"[%/:,*?\x00-\x1f\x7f]|^ | $")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_ANY_DEPTH = "**"


def path_text(path: Path) -> str:
    """The path as text: ``encoder/w``."""
    return "/".join(map(_part_text, path))


def parse_path(text: str) -> tuple[str, ...]:
    """The parts of a path given as text; indices of sequences are digits."""
    if not text:
        return ()
    return tuple("" if part == "%" else _unescaped(part) for part in text.split("/"))


def matches(pattern: str, path: Path) -> bool:
    """Whether a pattern selects a leaf: it matches the path of the leaf or of a container above.

    It matches whole parts: ``enc`` selects ``enc/w`` and not ``encoder/w``. Within a part, ``*``
    stands for any characters and ``?`` for one; ``**`` stands for any number of parts. A trailing
    ``/`` has no effect.
    """
    parts = _compiled(pattern)
    states = _closed({0}, parts)
    for key in path:
        if len(parts) in states:
            return True
        text = str(key)
        ahead = set()
        for state in states:
            part = parts[state]
            if part is None:
                ahead.add(state)
            elif part.matches(text):
                ahead.add(state + 1)
        states = _closed(ahead, parts)
    return len(parts) in states


def effort(patterns: Iterable[str], paths: Iterable[Path]) -> int:
    """Comparisons, at most, of parts of the patterns with parts of the paths.

    Without ``**`` a part of a path is compared with one part of a pattern, else with all.
    """
    compiled = map(_compiled, patterns)
    return sum(len(parts) if None in parts else 1 for parts in compiled) * sum(map(len, paths))


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> tuple[Glob | None, ...]:
    """One glob for each part; None for ``**``."""
    if not pattern:
        return ()
    parts = pattern.removesuffix("/").split("/")
    kept = [a for a, b in pairwise([*parts, ""]) if not a == b == _ANY_DEPTH]  # two are as one
    return tuple(None if part == _ANY_DEPTH else Glob(_tokens(part)) for part in kept)


def _tokens(part: str) -> tuple[Token, ...]:
    if part == "%":
        return ()
    wild = {"*": (Wild.ANY,), "?": (Wild.ONE,)}
    pieces = re.split(r"([*?])", part)
    return tuple(token for piece in pieces for token in wild.get(piece) or _unescaped(piece))


def _closed(states: set[int], parts: tuple[Glob | None, ...]) -> set[int]:
    """The states, and those reached if ``**`` matches no part."""
    found: set[int] = set()
    for state in states:
        while state not in found:
            found.add(state)
            if state < len(parts) and parts[state] is None:
                state += 1
    return found


@lru_cache(maxsize=4096, typed=True)
def _part_text(part: Key) -> str:
    """One part; the same keys come up in many paths."""
    return _ESCAPED.sub(_escape, str(part)) or "%"


def _escape(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _unescaped(part: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), part)
