"""Texts of lessons: ``{expressions}`` in them become numbers of the diagram; ``**bold**`` and
`` `code` `` are their only marks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.lessons.conditions import Condition, parse_condition
from runtime.lessons.expressions.evaluation import shown
from runtime.lessons.expressions.grammar import ConditionError

if TYPE_CHECKING:
    from runtime.lessons.expressions.facts import Facts

MARKED = re.compile(r"\*\*(.+?)\*\*|`([^`\n]+)`", re.DOTALL)
"""A marked part of a text: group 1 is bold, or group 2 is code."""


@dataclass(frozen=True)
class Template:
    """A text in parts: plain ones, and expressions with the index of their first character."""

    parts: tuple[str | tuple[int, Condition], ...]

    def text(self, facts: Facts) -> str:
        """The text with its numbers. Raises ConditionError."""
        return "".join(p if isinstance(p, str) else _number(*p, facts) for p in self.parts)


@lru_cache(maxsize=1024)
def parse_text(text: str) -> Template:
    """The template of a text: ``{{`` is a brace. Raises ConditionError with the character."""
    parts: list[str | tuple[int, Condition]] = []
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
        parts.append((start + 1, _parsed(text[start + 1 : end], start + 1)))
        at = end + 1
    return Template(tuple(part for part in parts if part))


def filled(text: str, facts: Facts) -> str:
    """A text with its numbers. Raises ConditionError."""
    return parse_text(text).text(facts)


def unmarked(text: str) -> str:
    """A text without its marks, for terminals and screen readers."""
    return MARKED.sub(lambda match: match[1] or match[2], text)


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


def _parsed(text: str, start: int) -> Condition:
    try:
        return parse_condition(text)
    except ConditionError as error:
        error.offset += start
        raise


def _number(start: int, condition: Condition, facts: Facts) -> str:
    try:
        return shown(condition.value(facts))
    except ConditionError as error:
        error.offset += start
        raise
