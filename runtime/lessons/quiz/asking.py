"""Makes a quiz about any diagram: gradients, values, states, None beside 0, and what-ifs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import RunError
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.misconceptions import MOST_BLOCKS, Backpropagation
from gradwire.runtime.lessons.quiz.numbers import (
    gradient_questions,
    presence_questions,
    value_questions,
)
from gradwire.runtime.lessons.quiz.question import QuestionKind
from gradwire.runtime.lessons.quiz.structure import state_questions, what_if_questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.engine import Session
    from gradwire.runtime.lessons.quiz.question import Question

    _Asking = Callable[[Facts, Random], Iterator[Question]]

_NUMBERS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.5)
"""What the variables of further questions are."""
_TRIES = 40
_ASKING: dict[QuestionKind, _Asking] = {
    QuestionKind.GRADIENT: gradient_questions,
    QuestionKind.STATE: state_questions,
    QuestionKind.PRESENCE: presence_questions,
    QuestionKind.WHAT_IF: what_if_questions,
    QuestionKind.VALUE: value_questions,
}
"""The questions of each kind, in the order in which they take turns."""
_ABOUT_NUMBERS = (QuestionKind.GRADIENT, QuestionKind.VALUE)
"""Kinds that are asked again with other numbers."""


@explained
def quiz(
    session: Session,
    count: int = 10,
    seed: int = 0,
    losses: Sequence[str] | None = None,
    kinds: Collection[QuestionKind] = tuple(QuestionKind),
) -> list[Question]:
    """At most ``count`` questions; equal calls give equal ones. The session stays as it is.

    First the diagram is asked about as it is, the kinds by turns, then with other numbers in its
    scalar variables. Every second question about a single number is to be answered by typing it. A
    question needs two wrong answers that differ from the right one and from
    each other as they are written; where there are fewer, it is not asked.

    Raises RunError for a count below 1, without a loss, and for a diagram of more than MOST_BLOCKS
    blocks; and what ``Session.backward`` does.
    """
    if count < 1:
        raise RunError("A quiz has questions.", expected="a count from 1 on", got=str(count))
    random = Random(seed)
    found: dict[tuple[QuestionKind, str, str], Question] = {}
    original = dict(session.values)
    drawn = [name for name in session.program.trainable if not original[name].shape]
    try:
        for attempt in range(_TRIES):
            asked = [k for k in _ASKING if k in kinds and (not attempt or k in _ABOUT_NUMBERS)]
            if attempt and not (drawn and asked):
                break
            for name in drawn if attempt else ():
                session.set(name, random.choice(_NUMBERS))
            facts = _facts(session, losses)
            turns = zip_longest(*(_ASKING[kind](facts, random) for kind in asked))
            for question in (each for turn in turns for each in turn if each is not None):
                key = question.kind, question.place, str(sorted(question.values.items()))
                found.setdefault(key, question)
            if len(found) >= count:
                break
    finally:
        for name in drawn:
            session.set(name, original[name])
    return _numerical([*found.values()][:count])


def _numerical(questions: list[Question]) -> list[Question]:
    """The questions, every second of those about single numbers to be answered by typing it."""
    turn, made = False, []
    for question in questions:
        turn = turn if question.number is None else not turn
        made.append(replace(question, is_numerical=turn and question.number is not None))
    return made


def _facts(session: Session, losses: Sequence[str] | None) -> Facts:
    facts = Facts(session, losses or ())
    if not facts.timeline.steps.run.losses:
        raise RunError(
            "There is no loss, so nothing has a gradient.",
            next_step="Put a Loss block behind what is to become small.",
        )
    blocks = len(Backpropagation(facts.timeline))
    if blocks > MOST_BLOCKS:
        raise RunError(
            "The diagram is too large for questions.",
            expected=f"at most {MOST_BLOCKS} blocks",
            got=str(blocks),
        )
    return facts
