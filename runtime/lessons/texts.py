"""Texts of lessons: ``{expressions}`` in them become numbers of the diagram; ``**bold**`` and
`` `code` `` are their only marks.

``{grad("w"):.2f}`` has two digits behind the point, as in Python; up to nine can be asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.lessons.conditions import Condition, parse_condition
from gradwire.runtime.lessons.expressions.evaluation import shown
from gradwire.runtime.lessons.expressions.grammar import ConditionError

if TYPE_CHECKING:
    from gradwire.runtime.lessons.expressions.facts import Facts

_CODE = r"`[^`\n]+`"
MARKED = re.compile(rf"\*\*((?:{_CODE}|`(?!{_CODE[1:]})|[^`])+?)\*\*|`([^`\n]+)`")
"""A marked part of a text: group 1 is bold, and may have code inside, or group 2 is code."""
_PLACES = re.compile(r":\s*\.(\d)f\s*$")
"""How many digits behind the point an expression is written with, at its end."""


class TextSlot(NamedTuple):
    """An expression in a text, with the index of its first character, and how many digits behind
    the point its numbers have; None for as many as they need.
    """

    start: int
    condition: Condition
    places: int | None

    def text(self, facts: Facts) -> str:
        """Its value as texts write it. Raises ConditionError."""
        try:
            return shown(self.condition.value(facts), self.places)
        except ConditionError as error:
            error.offset += self.start
            raise


@dataclass(frozen=True)
class Template:
    """A text in parts: plain ones and expressions."""

    parts: tuple[str | TextSlot, ...]

    def text(self, facts: Facts) -> str:
        """The text with its numbers. Raises ConditionError."""
        return "".join(p if isinstance(p, str) else p.text(facts) for p in self.parts)


@lru_cache(maxsize=1024)
def parse_text(text: str) -> Template:
    """The template of a text: ``{{`` is a brace. Raises ConditionError with the character."""
    parts: list[str | TextSlot] = []
    at = 0
    while at < len(text):
        start = text.find("{", at)
        if start < 0:
            parts.append(text[at:])
            break
        parts.append(text[at:start])
        if text[start + 1 : start + 2] == "{":
            parts.append("{")
            at = start + 2
            continue
        end = _closing(text, start)
        parts.append(_slot(text[start + 1 : end], start + 1))
        at = end + 1
    return Template(tuple(part for part in parts if part))


def filled(text: str, facts: Facts) -> str:
    """A text with its numbers. Raises ConditionError."""
    return parse_text(text).text(facts)


def unmarked(text: str) -> str:
    """A text without its marks, for terminals and screen readers."""
    return MARKED.sub(lambda match: unmarked(match[1]) if match[1] else match[2], text)


def _closing(text: str, start: int) -> int:
    """The index of the brace that closes the one at ``start``; those in quotes don't count."""
    quote = ""
    for at in range(start + 1, len(text)):
        if quote:
            quote = "" if text[at] == quote else quote
        elif text[at] in "\"'":
            quote = text[at]
        elif text[at] == "}":
            return at
    raise ConditionError(
        "This brace is never closed.", start, next_step="Write {{ for a brace in a text."
    )


def _slot(text: str, start: int) -> TextSlot:
    places = _PLACES.search(text)
    try:
        condition = parse_condition(text[: places.start()] if places else text)
    except ConditionError as error:
        error.offset += start
        raise
    return TextSlot(start, condition, int(places[1]) if places else None)
