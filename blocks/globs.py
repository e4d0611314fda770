"""Patterns with wildcards, compared with a text one character at a time.

No pattern makes a comparison go back, as one of a backtracking engine does: each character of the
text is looked at once. What the pattern may have matched so far is a set of places in it, the bits
of one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple, TypeAlias


class Wild(Enum):
    """Tokens that stand for something else than themselves."""

    ONE = auto()
    """Any character."""
    ANY = auto()
    """Any characters, or none."""


class CharacterSet(NamedTuple):
    """One character in any of these ranges, their ends included; none of them if ``negated``."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def accepts(self, character: str) -> bool:
        """Whether it stands for the character."""
        return any(low <= character <= high for low, high in self.ranges) is not self.negated


Token: TypeAlias = str | Wild | CharacterSet
"""One character, or what stands for some."""


class Glob:
    """A sequence of tokens, ready to be compared with texts."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._literal = (
            "".join(str(token) for token in tokens)
            if all(isinstance(token, str) for token in tokens)
            else None
        )
        self._characters: dict[str, int] = {}
        self._sets: list[tuple[CharacterSet, int]] = []
        self._one = self._any = 0
        bit = 1
        for token in tokens:
            if token is Wild.ANY:
                self._any |= bit
                continue
            if token is Wild.ONE:
                self._one |= bit
            elif isinstance(token, CharacterSet):
                self._sets.append((token, bit))
            else:
                self._characters[str(token)] = self._characters.get(str(token), 0) | bit
            bit <<= 1
        self._end = bit

    def matches(self, text: str) -> bool:
        """Whether the whole of ``text`` is what the tokens stand for."""
        if self._literal is not None:
            return text == self._literal
        places = 1
        for character in text:
            places = (places & self._accepting(character)) << 1 | places & self._any
            if not places:
                return False
        return bool(places & self._end)

    def _accepting(self, character: str) -> int:
        """The places whose token stands for the character."""
        places = self._characters.get(character, 0) | self._one
        for characters, bit in self._sets:
            if characters.accepts(character):
                places |= bit
        return places


@lru_cache(maxsize=1024)
def glob(pattern: str) -> Glob:
    """A pattern with ``*``, ``?``, ``[…]`` and ``[!…]``, case mattering, as shells have them."""
    return Glob(tuple(_tokens(pattern)))


def _tokens(pattern: str) -> Iterator[Token]:
    at, last = 0, pattern.rfind("]")
    while at < len(pattern):
        character = pattern[at]
        first = at + 2 if pattern.startswith("[!", at) else at + 1
        if character == "[" and last > first:
            end = pattern.find("]", first + 1)  # a bracket that comes first stands for itself
            yield CharacterSet(tuple(_ranges(pattern[first:end])), negated=first == at + 2)
            at = end
        elif character == "*":
            yield Wild.ANY
        elif character == "?":
            yield Wild.ONE
        else:
            yield character
        at += 1


def _ranges(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        spans = at + 2 < len(text) and text[at + 1] == "-"
        yield text[at], text[at + 2 if spans else at]
        at += 3 if spans else 1


def captures(pattern: str, text: str) -> tuple[str, ...]:
    """What each ``*``, ``?`` and ``[…]`` of a pattern stands for in a text that it matches.

    Where there is a choice, earlier ``*`` stand for as little as possible.
    """
    runs: list[list[Token]] = [[]]
    for token in _tokens(pattern):
        if token is Wild.ANY:
            runs.append([])
        else:
            runs[-1].append(token)
    found: list[str] = []
    at = 0
    for number, run in enumerate(runs):
        start = at
        if number == len(runs) - 1 and number:
            at = len(text) - len(run)  # the last run ends the text
        elif number:
            at = next(i for i in range(start, len(text) + 1) if _fits(run, text, i))
        if number:
            found.append(text[start:at])
        found += [text[at + i] for i, token in enumerate(run) if not isinstance(token, str)]
        at += len(run)
    return tuple(found)


def _fits(run: Sequence[Token], text: str, at: int) -> bool:
    return at + len(run) <= len(text) and all(
        token is Wild.ONE
        or (token == text[at + i] if isinstance(token, str) else _accepts(token, text[at + i]))
        for i, token in enumerate(run)
    )


def _accepts(token: Token, character: str) -> bool:
    return isinstance(token, CharacterSet) and token.accepts(character)
