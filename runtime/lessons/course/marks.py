"""Marks a class: every answer is played again on the lesson, and no mark is taken from a file."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.diagram.lesson import ShowStep
from gradwire.runtime.lessons.answers import AnswerSheet, lesson_digest, read_sheet
from gradwire.runtime.lessons.prediction import MOST_POINTS
from gradwire.runtime.lessons.walk import Walk

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram


@dataclass(frozen=True)
class StepMark:
    """What a learner got for one step; ``points`` are 0 where it was not answered."""

    step: int
    kind: str
    answered: bool
    points: float
    right: bool
    misconception: str
    confidence: int | None
    hints: int


@dataclass(frozen=True)
class Marks:
    """What a learner got for a lesson: a mark for each step that asks something."""

    learner: str
    file: str
    seed: int
    steps: tuple[StepMark, ...]

    @property
    def points(self) -> float:
        """The sum of the points."""
        return round(sum(step.points for step in self.steps), 2)

    @property
    def most(self) -> float:
        """The points of who has everything right."""
        return MOST_POINTS * len(self.steps)

    @property
    def hints(self) -> int:
        """How many hints were taken."""
        return sum(step.hints for step in self.steps)

    @property
    def confidence(self) -> float | None:
        """The mean confidence of the answers that have one, in percent."""
        sure = [step.confidence for step in self.steps if step.confidence is not None]
        return round(sum(sure) / len(sure), 1) if sure else None

    @property
    def right(self) -> float | None:
        """How many of the answers with a confidence are right, in percent: who knows what they
        know has as many right as they are confident.
        """
        sure = [step.right for step in self.steps if step.confidence is not None]
        return round(100.0 * sum(sure) / len(sure), 1) if sure else None

    @property
    def misconceptions(self) -> tuple[str, ...]:
        """The misconceptions behind wrong answers, each once."""
        return tuple(dict.fromkeys(s.misconception for s in self.steps if s.misconception))


@dataclass(frozen=True)
class ClassMarks:
    """The marks of a class, and the files that were refused, each with the reason."""

    title: str
    learners: tuple[Marks, ...]
    refused: tuple[FileError, ...]

    @cached_property
    def misconceptions(self) -> list[tuple[str, int]]:
        """How many learners had each misconception, the most frequent first."""
        counts = Counter(name for marks in self.learners for name in marks.misconceptions)
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def mark_class(diagram: Diagram, files: Sequence[Path]) -> ClassMarks:
    """Mark files of answers to the lesson of a diagram. One that is wrong in any way is refused.

    Raises RunError for a diagram without a lesson.
    """
    Walk(diagram)
    digest = lesson_digest(diagram)
    sheets: list[tuple[Path, AnswerSheet]] = []
    refused: list[FileError] = []
    for file in files:
        try:
            sheets.append((file, _of_this_lesson(read_sheet(file), file, digest, diagram.title)))
        except FileError as error:
            refused.append(error)
    same = Counter(_known_as(sheet.learner) for _, sheet in sheets)
    marks: list[Marks] = []
    for file, sheet in sheets:
        try:
            if same[_known_as(sheet.learner)] > 1:
                raise _twice(sheet, file, sheets)
            marks.append(mark(diagram, sheet, file))
        except FileError as error:
            refused.append(error)
    return ClassMarks(diagram.title, tuple(marks), tuple(refused))


def mark(diagram: Diagram, sheet: AnswerSheet, file: Path) -> Marks:
    """The marks of one learner. Raises FileError for answers that don't fit the lesson."""
    walk = Walk(diagram, sheet.seed)
    steps = walk.lesson.steps
    for number in sheet.hints:
        if number > len(steps):
            raise _misfit(file, number, f"The lesson has no step {number}.", f"1 to {len(steps)}")
    found: list[StepMark] = []
    for number in range(1, len(steps) + 1):
        try:
            _play(walk, sheet, number)
        except GradwireError as error:
            raise _misfit(file, number, error.what, error.expected, error.got) from None
        if not isinstance(walk.step, ShowStep):
            found.append(_step_mark(walk, sheet, number))
        walk.advance()
    return Marks(sheet.learner, str(file), sheet.seed, tuple(found))


def _play(walk: Walk, sheet: AnswerSheet, number: int) -> None:
    for taken in range(sheet.hints.get(number, 0)):
        if walk.hint() is None:
            raise _NoHint(
                "More hints are counted than there are.",
                expected=f"at most {taken}",
                got=str(sheet.hints[number]),
            )
    if number in sheet.answers:
        walk.answer(sheet.answers[number])


class _NoHint(GradwireError):
    """More hints are counted than a step has."""


def _step_mark(walk: Walk, sheet: AnswerSheet, number: int) -> StepMark:
    outcome = walk.outcomes.get(number - 1)
    answer = sheet.answers.get(number)
    return StepMark(
        step=number,
        kind=walk.step.do,
        answered=outcome is not None,
        points=outcome.points if outcome else 0.0,
        right=bool(outcome and outcome.right),
        misconception=outcome.misconception if outcome else "",
        confidence=answer.confidence if answer else None,
        hints=walk.hints_taken,
    )


def _of_this_lesson(sheet: AnswerSheet, file: Path, digest: str, title: str) -> AnswerSheet:
    if sheet.lesson != digest:
        raise FileError(
            "These answers are to another lesson, or to another version of it.",
            path=str(file),
            expected=f"the lesson {title!r} ({digest[:12]}…)",
            got=f"{sheet.title[:80]!r} ({sheet.lesson[:12]}…)",
            next_step="Grade them with the lesson's file as the learner had it.",
        )
    return sheet


def _twice(sheet: AnswerSheet, file: Path, sheets: Iterable[tuple[Path, AnswerSheet]]) -> FileError:
    others = [
        str(other)
        for other, each in sheets
        if other != file and _known_as(each.learner) == _known_as(sheet.learner)
    ]
    return FileError(
        f"There is more than one file of {sheet.learner!r}.",
        path=str(file),
        got=", ".join(others[:3]) or "the same file twice",
        next_step="Decide which one counts, and grade without the others.",
    )


def _misfit(
    file: Path, step: int, what: str, expected: str | None = None, got: str | None = None
) -> FileError:
    return FileError(
        f"The answer to step {step} does not fit the lesson: {what}",
        path=str(file),
        expected=expected,
        got=got,
        next_step="Ask for the file as the lesson saved it.",
    )


def _known_as(name: str) -> str:
    """A name without differences that no reader sees."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
