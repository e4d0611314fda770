"""Makes a quiz about any diagram: gradients, values, states, None beside 0, and what-ifs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import RunError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.flow.tools.interventions import CloseStop, OpenStop
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.misconceptions import MOST_BLOCKS, Backpropagation
from gradwire.runtime.lessons.quiz.numbers import (
    gradient_questions,
    losses_of,
    presence_questions,
    value_questions,
    values_of,
)
from gradwire.runtime.lessons.quiz.question import AnswerOption, Question, QuestionKind, options_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine import Session


# Questions about routes: the state of a wire, and what opening or closing a stop would change.

_ASKED = (State.CARRIES, State.ZERO, State.STOPPED, State.OFF_ROUTE, State.FROZEN)
"""States that are asked for and offered: each excludes the others, unlike PARTIAL and CARRIES."""
_WRONG: Mapping[State, Mapping[State, str]] = {
    State.CARRIES: {State.STOPPED: "stop blocks all", State.ZERO: "nothing arrives",
                    State.OFF_ROUTE: "route overlooked"},
    State.ZERO: {State.CARRIES: "zero ignored", State.STOPPED: "None for 0",
                 State.OFF_ROUTE: "None for 0"},
    State.STOPPED: {State.CARRIES: "stop ignored", State.ZERO: "None for 0",
                    State.OFF_ROUTE: "route overlooked"},
    State.OFF_ROUTE: {State.CARRIES: "all wires carry gradient", State.ZERO: "None for 0",
                      State.STOPPED: "stop blocks all"},
    State.FROZEN: {State.CARRIES: "frozen variables get gradient",
                   State.STOPPED: "frozen is stopped", State.ZERO: "None for 0"},
}  # fmt: skip
"""By the state of a wire, the states that are taken for it, and by which misconception."""
_MOST_VARIABLES = 8
"""Variables of the largest diagram of which all are named in an answer."""


def state_questions(facts: Facts, random: Random) -> Iterator[Question]:
    """Which state wires are in; first a wire in each state that occurs, then further ones."""
    observed = facts.observed
    states = {w: s for w, s in observed.states().items() if s in _ASKED}
    wires = list(states)
    random.shuffle(wires)
    first = {states[wire]: wire for wire in reversed(wires)}
    for wire in dict.fromkeys((*first.values(), *wires)):
        state = states[wire]
        why = observed.verdict(wire).sentence
        wrong = [AnswerOption(other.row.title, why, name) for other, name in _WRONG[state].items()]
        options = options_of(state.row.title, wrong, random)
        if options is not None:
            text = f"Which state is the wire into {wire} in, for {losses_of(facts)}?"
            yield Question(QuestionKind.STATE, wire, text, values_of(facts), options)


def what_if_questions(facts: Facts, random: Random) -> Iterator[Question]:
    """Which variables would get a gradient if one stop were opened or closed."""
    program = facts.session.program
    gradients = facts.timeline.steps.run.gradients
    if not 1 < len(gradients) <= _MOST_VARIABLES:
        return
    before = _names(name for name, gradient in gradients.items() if gradient is not None)
    losses = facts.timeline.steps.run.losses
    for path, instance in program.instances.items():
        block = instance.block
        if not isinstance(block, StopGradient) or not program.ports.keys() & {instance.port("out")}:
            continue
        after = _after(facts, path, block.open, losses)
        verb = "closed" if block.open else "opened"
        gained = _names(name for name in gradients if name in {*after} - {*before})
        kept = _names(name for name in before if name in after)
        others = _names(name for name in gradients if name not in after)
        change = f"It is {_listed(after)}: follow the routes from the loss with {path} {verb}."
        wrong = [
            AnswerOption(_listed(before), change, f"{verb} stops change nothing"),
            AnswerOption(_listed([*gradients]), change, "all variables get gradient"),
            AnswerOption(_listed(gained), change, "only what is behind the stop counts"),
            AnswerOption(_listed(kept), change, "other routes overlooked"),
            AnswerOption(_listed(others), change, "the other way round"),
        ]
        options = options_of(_listed(after), wrong, random)
        if options is not None:
            text = f"If {path} were {verb}, which variables would get a gradient?"
            yield Question(QuestionKind.WHAT_IF, path, text, values_of(facts), options)


def _after(facts: Facts, stop: InstancePath, is_open: bool, losses: tuple[str, ...]) -> list[str]:
    """The variables that get a gradient once a stop is switched."""
    step = CloseStop(stop) if is_open else OpenStop(stop)
    compared = WhatIf(facts.session, losses).take(step).compare()
    variables = facts.timeline.steps.run.gradients
    after = compared.variables()
    return _names(name for name in variables if after[name].after is not None)


def _names(found: Iterator[str]) -> list[str]:
    return [*found]


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none of them"


_Asking: TypeAlias = "Callable[[Facts, Random], Iterator[Question]]"
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
