"""Plays a lesson without a window: its steps, its texts with their numbers, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, assert_never

from gradwire.blocks.errors import ChangeError, RunError
from gradwire.runtime.diagram.lesson import (
    BuildStep,
    ChangeStep,
    CheckStep,
    PaintStep,
    PredictStep,
    ShowStep,
)
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.answers import (
    FIELD,
    MAX_ANSWER,
    MAX_NAME,
    VERSION,
    Answer,
    AnswerError,
    are_numbers,
    lesson_digest,
    sealed,
)
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.goals import (
    GoalState,
    goal_states,
    right_option,
    wrong_value,
)
from gradwire.runtime.lessons.prediction import (
    MOST_POINTS,
    Guess,
    PredictionOutcome,
    guess_of,
    in_backward_order,
    is_answer,
    judge,
    painted_points,
)
from gradwire.runtime.lessons.setting import (
    MAX_SEED,
    settings_between,
    switched,
    variation,
    with_settings,
)
from gradwire.runtime.lessons.texts import filled
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from gradwire.runtime.diagram.lesson import Control, Lesson, LessonStep, Setting
    from gradwire.runtime.diagram.model import Diagram

MOST_BLOCKS = 2_000
"""Blocks of a diagram that a learner draws."""
MOST_NUMBERS = 5_000_000
"""Numbers that a diagram that a learner draws may compute."""
_NUMBERS: frozenset[Control] = frozenset({"values", "gradients", "states"})
_KIND = {"predict": "text", "paint": "painted", "build": "diagram", "check": "option"}
"""The field of an answer by the kind of its step; a change has values, stops, or a diagram."""


class Walk:
    """A learner's way through the lesson of a diagram.

    ``seed`` chooses the numbers of sources that vary; 0 leaves them as they are in the file.
    ``diagram`` is the learner's copy: each step sets it up on entry, and what is changed or drawn
    in a step stays if it meets the goals. Raises RunError for a diagram without a lesson, and
    ConditionError, here or later, for a text or a condition that has no value.
    """

    def __init__(self, diagram: Diagram, seed: int = 0) -> None:
        if diagram.lesson is None or not diagram.lesson.steps:
            raise RunError(
                "The diagram has no lesson." if diagram.lesson is None else "It has no steps.",
                next_step="Open a lesson, or write one in the field 'lesson'.",
            )
        if not 0 <= seed <= MAX_SEED:
            raise RunError("The seed is out of range.", expected=f"0 to {MAX_SEED}", got=str(seed))
        self.file = diagram
        self.lesson: Lesson = diagram.lesson
        self.seed = seed
        self.index = 0
        self.outcomes: dict[int, PredictionOutcome] = {}
        """The outcome of each step that was answered, by its index."""
        self._given: dict[int, Answer] = {}
        self._hints: dict[int, int] = {}
        self.diagram = with_settings(diagram, variation(self.lesson, seed))
        self.session = Session(self.diagram)
        self._left: list[Diagram] = []
        self._facts: Facts | None = None
        self._enter(self.diagram)

    # ---- the step that is shown ---------------------------------------------------------------

    @property
    def step(self) -> LessonStep:
        """The step that is shown."""
        return self.lesson.steps[self.index]

    @property
    def is_last(self) -> bool:
        """Whether no step follows."""
        return self.index == len(self.lesson.steps) - 1

    @property
    def is_done(self) -> bool:
        """Whether the step is answered, and its goals are met; a step that only shows is."""
        if isinstance(self.step, ChangeStep | BuildStep):
            return self.index in self.outcomes and self.outcomes[self.index].right
        return isinstance(self.step, ShowStep) or self.index in self.outcomes

    @property
    def hidden(self) -> frozenset[Control]:
        """The controls that are hidden now."""
        ended = self.lesson.steps[: self.index]
        if self.is_done and not isinstance(self.step, ShowStep):
            ended = (*ended, self.step)
        return frozenset(self.lesson.hide) - {name for step in ended for name in step.reveal}

    @property
    def facts(self) -> Facts:
        """The facts about the diagram as it is, for the losses of the step."""
        if self._facts is None:
            self._facts = Facts(self.session, self.step.losses)
        return self._facts

    def text(self) -> str:
        """The text of the step, with its numbers."""
        return filled(self.step.text, self.facts)

    def after(self) -> str:
        """What is shown once the step is answered."""
        return filled(self.step.after, self.facts)

    def options(self) -> list[str]:
        """The texts of the options of a transfer question."""
        options = self.step.options if isinstance(self.step, CheckStep) else ()
        return [filled(option.text, self.facts) for option in options]

    def goals(self) -> list[GoalState]:
        """The goals of the step, for the diagram as it is."""
        step = self.step
        return goal_states(step, self.facts) if isinstance(step, ChangeStep | BuildStep) else []

    def hint(self) -> str | None:
        """The next hint, which is counted; None if there are no more."""
        taken = self._hints.get(self.index, 0)
        if taken >= len(self.step.hints):
            return None
        self._hints[self.index] = taken + 1
        return filled(self.step.hints[taken], self.facts)

    @property
    def hints_taken(self) -> int:
        """How many hints of this step were taken."""
        return self._hints.get(self.index, 0)

    # ---- going on -----------------------------------------------------------------------------

    def advance(self) -> bool:
        """Go to the next step; False at the last one."""
        if self.is_last:
            return False
        unmet = isinstance(self.step, ChangeStep | BuildStep) and not self.is_done
        self._left[self.index :] = [self._entered if unmet else self.diagram]
        self.index += 1
        self._enter(self._left[-1])
        return True

    def back(self) -> bool:
        """Go to the step before; False at the first one."""
        if self.index == 0:
            return False
        self.index -= 1
        self._enter(self._left[self.index - 1] if self.index else None)
        self._show(self._left.pop())
        return True

    def _enter(self, diagram: Diagram | None) -> None:
        start = self._start if diagram is None else diagram
        self._entered = with_settings(start, self.step.setup)
        self._show(self._entered)

    @cached_property
    def _start(self) -> Diagram:
        return with_settings(self.file, variation(self.lesson, self.seed))

    def _show(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.session.update(diagram)
        self._facts = None

    # ---- answers ------------------------------------------------------------------------------

    def answer(self, answer: Answer) -> PredictionOutcome:
        """Answer the step. Predictions and options are committed: they are answered once. Changes
        and drawings may be tried until they meet the goals, and before later steps are answered.

        Raises AnswerError for what is no answer to this step; it is not taken.
        """
        step = self.step
        if isinstance(step, ShowStep):
            raise AnswerError("This step asks nothing.")
        if isinstance(step, ChangeStep | BuildStep) and max(self.outcomes, default=0) > self.index:
            raise AnswerError("Later steps are answered already, for the diagram as it was.")
        if self.is_done:
            raise AnswerError("This step is answered already.")
        _require_kind(step, answer)
        outcome = self._own_feedback(self._outcome(step, answer))
        self.outcomes[self.index] = outcome
        self._given[self.index] = answer
        return outcome

    def answers(self, learner: str) -> dict[str, object]:
        """The record of all answers and hints so far, with its digest; it is JSON.

        Raises AnswerError without the name of a learner.
        """
        if not 0 < len(learner.strip()) <= MAX_NAME:
            raise AnswerError(
                "Answers need the name of a learner.", expected=f"1 to {MAX_NAME} characters"
            )
        numbers = sorted({*self._given, *self._hints})
        steps = [
            self._given.get(i, Answer()).to_record(i + 1, self._hints.get(i, 0)) for i in numbers
        ]
        return sealed(
            {
                FIELD: VERSION,
                "lesson": lesson_digest(self.file),
                "title": self.file.title,
                "learner": learner,
                "seed": self.seed,
                "steps": steps,
            }
        )

    def _outcome(
        self,
        step: PredictStep | PaintStep | ChangeStep | BuildStep | CheckStep,
        answer: Answer,
    ) -> PredictionOutcome:
        match step:
            case PredictStep():
                return self._predicted(step, guess_of(step, answer.text or ""))
            case PaintStep():
                return self._painted(step, answer)
            case ChangeStep():
                return self._changed(step, answer)
            case BuildStep():
                assert answer.diagram is not None  # by _require_kind
                return self._tried(step, _require_small(answer.diagram), "your diagram")
            case CheckStep():
                return self._checked(step, answer.option or 0)
            case _:
                assert_never(step)

    def _own_feedback(self, outcome: PredictionOutcome) -> PredictionOutcome:
        own = self.step.feedback.get(outcome.misconception)
        return outcome if own is None else replace(outcome, feedback=filled(own, self.facts))

    def _predicted(self, step: PredictStep, guess: Guess) -> PredictionOutcome:
        outcome = judge(self.facts, guess)
        # What a belief gives may be within a factor of two of what is asked for.
        for wrong in () if outcome.right and step.answer != "estimate" else step.wrong:
            if is_answer(self.facts, guess, wrong_value(wrong, self.facts)):
                text = filled(wrong.feedback, self.facts)
                return replace(
                    outcome, points=0.0, right=False, misconception=wrong.name, feedback=text
                )
        return outcome

    def _painted(self, step: PaintStep, answer: Answer) -> PredictionOutcome:
        painted = answer.painted or {}
        for wire, state in painted.items():
            if wire not in step.wires:
                raise AnswerError(f"{wire} is not asked for.", expected=", ".join(step.wires))
            if step.states and state not in step.states:
                raise AnswerError(
                    f"{state} is not offered.", expected="one of " + ", ".join(step.states)
                )
        each = {w: judge(self.facts, Guess("state", w, text)) for w, text in painted.items()}
        wrong = [w for w in step.wires if w not in each or not each[w].right]
        ordered = in_backward_order(self.facts, wrong)
        first = next((each[wire] for wire in ordered if wire in each), None)
        return PredictionOutcome(
            points=painted_points(step.wires, each),
            right=not wrong,
            yours=_listed({wire: found.yours for wire, found in each.items()}),
            actual=_listed({wire: self.facts.state(wire) for wire in step.wires}),
            misconception=first.misconception if first else "",
            feedback=first.feedback if first else "",
            place=ordered[0] if ordered else "",
            disagreements=tuple(ordered),
        )

    def _changed(self, step: ChangeStep, answer: Answer) -> PredictionOutcome:
        try:
            settings = self._settings(answer)
            diagram = with_settings(self._entered, settings)
        except ChangeError as error:
            raise AnswerError(
                error.what, expected=error.expected, got=error.got, next_step=error.next_step
            ) from error
        for path in settings:
            if step.only and path not in step.only:
                raise AnswerError(
                    f"{path} is not to be changed in this step.",
                    expected="changes of " + ", ".join(step.only),
                )
        return self._tried(step, diagram, _listed(settings))

    def _settings(self, answer: Answer) -> dict[str, Setting]:
        values, opened = answer.values, answer.open
        if answer.diagram is not None:
            values, opened = settings_between(self._entered, answer.diagram)
        for path, value in values.items():
            if not are_numbers(value):
                raise AnswerError(f"{path} gets no number.", got=str(value)[:60])
        return {**values, **switched(opened)}

    def _tried(
        self, step: ChangeStep | BuildStep, diagram: Diagram, yours: str
    ) -> PredictionOutcome:
        """Whether a diagram meets the goals; it stays if it does."""
        facts = Facts(Session(diagram), step.losses)
        states = goal_states(step, facts)
        unmet = [state for state in states if not state.met]
        if not unmet:
            self._show(diagram)
        right = not unmet
        told = () if self.hidden & _NUMBERS else unmet  # reasons say what is computed
        return PredictionOutcome(
            points=MOST_POINTS * right,
            right=right,
            yours=yours,
            actual="; ".join(state.words for state in states),
            feedback=" ".join(state.reason for state in told if state.reason),
        )

    def _checked(self, step: CheckStep, chosen: int) -> PredictionOutcome:
        if chosen >= len(step.options):
            raise AnswerError(
                "There is no such option.",
                expected=f"0 to {len(step.options) - 1}",
                got=str(chosen),
            )
        right = right_option(step, self.facts)
        texts = self.options()
        return PredictionOutcome(
            points=MOST_POINTS * (chosen == right),
            right=chosen == right,
            yours=texts[chosen],
            actual=texts[right],
            feedback=filled(step.options[chosen].feedback, self.facts),
        )


def _require_kind(step: LessonStep, answer: Answer) -> None:
    """Raise AnswerError for an answer to another kind of step, or one too long to be stored."""
    if len(answer.text or "") > MAX_ANSWER:
        raise AnswerError("The answer is too long.", expected=f"at most {MAX_ANSWER} characters")
    given = {
        name
        for name in ("text", "painted", "diagram", "option")
        if getattr(answer, name) is not None
    }
    given |= {"values"} if answer.values or answer.open else set()
    wanted = {_KIND[step.do]} if step.do in _KIND else {"values", "diagram"}
    if not given or not given <= wanted or len(given) > 1:
        raise AnswerError(
            "This is an answer to another kind of step.",
            expected=f"an answer to a step that says {step.do!r}",
            got=", ".join(sorted(given)) or "no answer",
        )


def _require_small(diagram: Diagram) -> Diagram:
    """The diagram of a learner, unless it is too large to be run while others wait."""
    blocks = sum(len(page.blocks) for page in diagram.pages.values())
    require_at_most("The diagram is too large.", blocks, MOST_BLOCKS, "blocks", AnswerError)
    numbers = sum(value.size for value in Session(diagram, partial=True).program.ports.values())
    what = "The diagram computes too many numbers."
    require_at_most(what, numbers, MOST_NUMBERS, error=AnswerError)
    return diagram


def _listed(found: Mapping[str, object]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in found.items())
