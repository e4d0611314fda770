"""A question with its options, and how options are chosen so that none is ambiguous."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from random import Random

MOST_OPTIONS = 4
"""Answers to choose from."""
_FEWEST_WRONG = 2


class QuestionKind(StrEnum):
    """What a question is about."""

    GRADIENT = "gradient"
    PRESENCE = "presence"
    STATE = "state"
    VALUE = "value"
    WHAT_IF = "what-if"


@dataclass(frozen=True)
class AnswerOption:
    """One answer: its text, what it says to who chose it, and the misconception behind it."""

    text: str
    feedback: str
    misconception: str = ""
    number: float | None = None
    """The number that the text states, if it is a single one."""

    @property
    def is_right(self) -> bool:
        """Whether this is the answer."""
        return not self.misconception


@dataclass(frozen=True)
class Question:
    """A question about the ``place``, a variable, port, wire or stop by path, with the values that
    the variables have then.

    The texts of the options all differ, and one of them is right.
    """

    kind: QuestionKind
    place: str
    text: str
    values: Mapping[str, str]
    options: tuple[AnswerOption, ...]
    is_numerical: bool = False
    """Whether the number is to be typed where a platform can ask for one."""

    @property
    def number(self) -> float | None:
        """The right answer, if it is a single number."""
        return self.options[self.answer].number

    @property
    def answer(self) -> int:
        """The place of the right option."""
        return next(i for i, option in enumerate(self.options) if option.is_right)


def options_of(
    right: str, wrong: Iterable[AnswerOption], random: Random, number: float | None = None
) -> tuple[AnswerOption, ...] | None:
    """The right answer and the first wrong ones that differ from it and from each other, in any
    order; None where fewer than two differ.
    """
    found: dict[str, AnswerOption] = {right: AnswerOption(right, "Right.", number=number)}
    for option in wrong:
        if len(found) < MOST_OPTIONS:
            found.setdefault(option.text, option)
    options = [*found.values()]
    random.shuffle(options)
    return tuple(options) if len(options) > _FEWEST_WRONG else None
