"""Questions about routes: the state of a wire, and what opening or closing a stop would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.flow.tools.interventions import CloseStop, OpenStop
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.quiz.numbers import losses_of, values_of
from gradwire.runtime.lessons.quiz.question import AnswerOption, Question, QuestionKind, options_of

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.lessons.expressions.facts import Facts

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
