"""Goals of steps, what steps ask about, and which option of a transfer question is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.diagram.lesson import CheckStep, PaintStep, PredictStep
from gradwire.runtime.lessons.conditions import parse_condition, parse_goal
from gradwire.runtime.lessons.expressions.grammar import ConditionError

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.lesson import (
        BuildStep,
        ChangeStep,
        Control,
        Lesson,
        LessonStep,
        WrongAnswer,
    )
    from gradwire.runtime.lessons.expressions.facts import Facts


@dataclass(frozen=True)
class GoalState:
    """A goal of a step in words, whether it is met now, and if not why."""

    words: str
    met: bool
    reason: str = ""


def goal_states(step: ChangeStep | BuildStep, facts: Facts) -> list[GoalState]:
    """The goals of a step for a diagram. One that has no value there is not met."""
    found = []
    for text in step.goals:
        try:
            goal = parse_goal(text)
        except GradwireError as error:
            found.append(GoalState("This goal is no expression.", False, str(error)))
            continue
        try:
            met = goal.holds(facts)
            found.append(GoalState(goal.words, met, "" if met else goal.reason(facts)))
        except GradwireError as error:
            found.append(GoalState(goal.words, False, str(error)))
    return found


def wrong_value(wrong: WrongAnswer, facts: Facts) -> Array | None:
    """What a wrong answer of the author is. Raises ConditionError, also if it is no number."""
    if wrong.answer.strip() == "None":
        return None
    found = parse_condition(wrong.answer).value(facts)
    if isinstance(found, str | bool):
        raise ConditionError(
            "A wrong answer is a number or None.", expected='value("w") / 2', got=repr(found)
        )
    return found


def asked_about(step: LessonStep) -> frozenset[Control]:
    """What a step asks for, of values, gradients and states: it is hidden until it is answered.

    A question about gradients or states may be about values as well, which it starts from.
    """
    if isinstance(step, PaintStep):
        return frozenset({"states", "gradients"})
    if isinstance(step, PredictStep):
        return frozenset({"gradients", "states" if step.gradient else "values"})
    if not isinstance(step, CheckStep):
        return frozenset()
    used = {name for option in step.options for name in parse_condition(option.holds).functions}
    if used & {"grad", "state"}:
        return frozenset({"gradients", "states"})
    return frozenset({"values"} if "value" in used else ())


def asked_in(lesson: Lesson) -> frozenset[Control]:
    """What a lesson hides at first, and all that its steps ask for: to see it is to have the
    answers before the lesson has begun. A question that is no expression may ask for anything.
    """
    found = set(lesson.hide)
    for step in lesson.steps:
        try:
            found |= asked_about(step)
        except ConditionError:
            found |= {"values", "gradients", "states"}
    return frozenset(found)


def right_option(step: CheckStep, facts: Facts) -> int:
    """The place of the only option that holds. Raises RunError if there is none, or more."""
    holding = [i for i, o in enumerate(step.options) if parse_condition(o.holds).holds(facts)]
    if len(holding) != 1:
        raise RunError(
            "A transfer question has one right option.",
            expected="one option that holds",
            got=f"{len(holding)}",
        )
    return holding[0]
