"""Checks that a lesson can be played: every path, text, question and goal, for several seeds."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Literal

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, Location
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic, Severity
from gradwire.runtime.diagram.lesson import (
    BuildStep,
    ChangeStep,
    CheckStep,
    PaintStep,
    PredictStep,
    ShowStep,
)
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.conditions import parse_goal
from gradwire.runtime.lessons.expressions.evaluation import equal
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.goals import right_option, wrong_value
from gradwire.runtime.lessons.expressions.grammar import ConditionError
from gradwire.runtime.lessons.misconceptions import NAMES
from gradwire.runtime.lessons.prediction import askable, guess_of, read_state
from gradwire.runtime.lessons.setting import adjustable, with_settings
from gradwire.runtime.lessons.texts import filled

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.lesson import Lesson, LessonStep, WrongAnswer
    from gradwire.runtime.diagram.model import Diagram

MOST_VARIATIONS = 12
"""Combinations of varied numbers that are tried."""


@dataclass(frozen=True)
class LessonProblem:
    """Something wrong with a lesson; ``step`` counts from 1, None for the lesson as a whole."""

    step: int | None
    diagnostic: Diagnostic


def check_lesson(diagram: Diagram) -> list[LessonProblem]:
    """Everything wrong with the lesson of a diagram; nothing for a diagram without one.

    Errors keep a lesson from being played or graded, warnings don't. The lesson is played with the
    numbers of the file and with MOST_VARIATIONS others at most; what a learner changes or draws is
    unknown, so that the steps after it are checked for the diagram as it was before.
    """
    if diagram.lesson is None:
        return []
    found: dict[tuple[int | None, str], LessonProblem] = {}
    for each in (*_outline(diagram.lesson), *_vary(diagram)):
        found.setdefault((each.step, each.diagnostic.what), each)
    for variation in _variations(diagram.lesson):
        try:
            played = _Check(diagram, variation).problems()
        except GradwireError:
            break  # of the numbers themselves, which _vary has reported
        for each in played:
            found.setdefault((each.step, each.diagnostic.what), each)
        if any(each.diagnostic.severity == "error" for each in played):
            break  # with other numbers it would mostly be the same
    return sorted(found.values(), key=lambda each: each.step or 0)


def _problem(
    step: int | None, what: str, severity: Severity = "error", next_step: str | None = None
) -> LessonProblem:
    place = "Lesson: " if step is None else f"Lesson, step {step}: "
    found = Diagnostic(severity, Location(), place + what, next_step=next_step, code="lesson")
    return LessonProblem(step, found)


def _outline(lesson: Lesson) -> Iterator[LessonProblem]:
    """What a lesson should have as a whole."""
    kinds = [type(step) for step in lesson.steps]
    checks = kinds.count(CheckStep)
    for missing, what in (
        (not lesson.goal, "There is no goal: one sentence about what the learner can do after it."),
        (not kinds, "There are no steps."),
        (kinds[:1] != [ShowStep], "It does not begin with a step that shows what it is about."),
        (not {PredictStep, PaintStep} & {*kinds}, "Nothing is predicted or painted."),
        (not {ChangeStep, BuildStep} & {*kinds}, "There is nothing to change or to build."),
        (
            not any(isinstance(step, ShowStep) and step.play for step in lesson.steps),
            "No step plays the pass that shows the answer.",
        ),
        (checks != 1 or kinds[-1:] != [CheckStep], "It does not end with one transfer question."),
    ):
        if missing:
            yield _problem(None, what, "warning")
    for number, step in enumerate(lesson.steps, 1):
        for control in step.reveal:
            if control not in lesson.hide:
                yield _problem(number, f"It reveals {control}, which is not hidden.", "warning")
        for name in step.feedback:
            if name not in NAMES:
                what = f"There is no misconception {name!r}."
                yield _problem(number, what, "warning", did_you_mean(name, NAMES))


def _vary(diagram: Diagram) -> Iterator[LessonProblem]:
    """What is wrong with the numbers that a seed may choose."""
    assert diagram.lesson is not None
    for path, numbers in diagram.lesson.vary.items():
        address = resolve(diagram, InstancePath(path))
        value = getattr(None if address is None else address.block(diagram), "value", None)
        if value is None or value.array.ndim:
            what = f"{path!r} is varied, but it is no source of a single number."
            yield _problem(None, what, next_step=did_you_mean(path, list(adjustable(diagram))))
            continue
        try:
            for number in numbers:
                with_settings(diagram, {path: number})
        except GradwireError as error:
            yield _problem(None, f"{path!r} can't be varied: {error}")
        for step_number, step in enumerate(diagram.lesson.steps, 1):
            if path in step.setup:
                what = f"It sets {path} before anything is asked, so that varying it has no effect."
                yield _problem(step_number, what, "warning")
            if not isinstance(step, ShowStep):
                break


def _variations(lesson: Lesson) -> list[dict[str, float]]:
    """The numbers of the file, then combinations from all over the table of them."""
    total = 1
    for numbers in lesson.vary.values():
        total = min(total * len(numbers), 10_000)
    stride = max(1, total // MOST_VARIATIONS)
    combinations = islice(product(*lesson.vary.values()), 0, total, stride)
    found = [dict(zip(lesson.vary, numbers, strict=True)) for numbers in combinations]
    return [{}, *found[:MOST_VARIATIONS]] if lesson.vary else [{}]


def _holds(text: str, facts: Facts) -> bool:
    return parse_goal(text).holds(facts)


class _Check:
    """Plays a lesson with some numbers, and finds what can't be played."""

    def __init__(self, diagram: Diagram, variation: Mapping[str, float]) -> None:
        assert diagram.lesson is not None
        self._lesson = diagram.lesson
        self._diagram = with_settings(diagram, variation)
        self._session = Session(self._diagram)
        self._with = ", ".join(f"{path} = {number:g}" for path, number in variation.items())
        self._found: list[LessonProblem] = []
        self._number = 0
        self._facts = Facts(self._session)

    def problems(self) -> list[LessonProblem]:
        """All that was found."""
        for number, step in enumerate(self._lesson.steps, 1):
            self._number = number
            if self._enter(step):
                self._texts(step)
                self._step(step)
        return self._found

    def _enter(self, step: LessonStep) -> bool:
        try:
            self._diagram = with_settings(self._diagram, step.setup)
            self._session.update(self._diagram)
            self._facts = Facts(self._session, step.losses)
            _ = self._facts.timeline
        except GradwireError as error:
            self._report(f"It can't be played: {error}")
            return False
        return True

    def _texts(self, step: LessonStep) -> None:
        is_task = isinstance(step, ChangeStep | BuildStep)
        for text in (step.text, *step.hints):
            self._try(text, partial(filled, text, self._facts))
        self._try(step.after, partial(filled, step.after, self._facts), may_be_none=is_task)
        for text in step.feedback.values():
            self._try(text, partial(filled, text, self._facts))

    def _try(self, text: str, compute: Callable[[], object], *, may_be_none: bool = False) -> bool:
        """Whether something can be computed; reports the character at which it can't."""
        try:
            compute()
        except ConditionError as error:
            if may_be_none and error.of_none:
                return True
            here = text[: error.offset] + "⟨here⟩" + text[error.offset :]
            start = max(0, error.offset - 30)
            self._report(f"{error} In: {here[start : start + 70]}")
            return False
        except GradwireError as error:
            self._report(str(error))
            return False
        return True

    def _step(self, step: LessonStep) -> None:
        match step:
            case ShowStep():
                for path in step.look:
                    if not self._exists(path):
                        self._report(f"There is no block, port or wire {path!r} to look at.")
            case PredictStep():
                self._predict(step)
            case PaintStep():
                self._paint(step)
            case ChangeStep() | BuildStep():
                self._task(step)
            case CheckStep():
                self._transfer(step)

    def _predict(self, step: PredictStep) -> None:
        if bool(step.gradient) == bool(step.value):
            self._report("It asks for one thing: a gradient or a value.")
            return
        about: Literal["gradient", "value"] = "gradient" if step.gradient else "value"
        place = guess_of(step, "").place
        if self._try("", partial(askable, self._facts, about, place)):
            for wrong in step.wrong:
                self._wrong(wrong, askable(self._facts, about, place))

    def _wrong(self, wrong: WrongAnswer, actual: Array | None) -> None:
        """A wrong answer of the author, beside the right one."""
        self._try(wrong.feedback, partial(filled, wrong.feedback, self._facts))
        if not self._try(wrong.answer, partial(wrong_value, wrong, self._facts)):
            return
        value = wrong_value(wrong, self._facts)
        if value is None or actual is None:
            same = value is actual
        else:
            same = value.shape == actual.shape and bool(equal(value, actual).all())
        if same:
            self._report(f"The wrong answer {wrong.answer} is the right one.")

    def _paint(self, step: PaintStep) -> None:
        if not step.wires:
            self._report("There are no wires to paint.")
        for name in step.states:
            self._try("", partial(read_state, name))
        offered = {name.replace("_", " ").upper() for name in step.states}
        for wire in step.wires:
            if not self._try("", partial(self._facts.state, wire)):
                continue
            state = self._facts.state(wire)
            if state == State.UNKNOWN or (offered and state not in offered):
                self._report(f"The wire into {wire} is {state}, which is not offered.")

    def _task(self, step: ChangeStep | BuildStep) -> None:
        if not step.goals:
            self._report("There are no goals.")
        met = [self._is_met(text, isinstance(step, BuildStep)) for text in step.goals]
        if met and all(met):
            self._report("All its goals are met before anything is done.")
        known = list(adjustable(self._diagram))
        for path in step.only if isinstance(step, ChangeStep) else ():
            if path not in known:
                what = f"{path!r} is neither a source of numbers nor a StopGradient."
                self._report(what, next_step=did_you_mean(path, known))

    def _is_met(self, text: str, may_be_missing: bool) -> bool:
        if not self._try(text, partial(parse_goal, text)):
            return False
        try:
            return _holds(text, self._facts)
        except ConditionError as error:
            if may_be_missing:
                what = f"A goal has no value before something is built: {error.what}"
                self._report(what, "info")
            elif not error.of_none:
                self._try(text, partial(_holds, text, self._facts))
            return False

    def _transfer(self, step: CheckStep) -> None:
        if len(step.options) < 2:
            self._report("A transfer question has two options at least.")
            return
        valid = [
            self._try(text, partial(filled, text, self._facts))
            for option in step.options
            for text in (option.text, option.feedback)
        ] + [self._try(o.holds, partial(_holds, o.holds, self._facts)) for o in step.options]
        if all(valid):
            self._try("", partial(right_option, step, self._facts))
            texts = [filled(option.text, self._facts) for option in step.options]
            if len({*texts}) < len(texts):
                self._report("Two options have the same text.")

    def _exists(self, path: str) -> bool:
        program = self._session.program
        places: tuple[Container[str], ...] = (
            program.flat.instances,
            program.ports,
            program.wire_sources,
        )
        known = any(path in place for place in places)
        return known or resolve(self._diagram, InstancePath(path)) is not None

    def _report(
        self, what: str, severity: Severity = "error", next_step: str | None = None
    ) -> None:
        with_numbers = f"With {self._with}: {what}" if self._with else what
        self._found.append(_problem(self._number, with_numbers, severity, next_step))
