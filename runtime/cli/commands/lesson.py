"""``gradwire lesson FILE``: a lesson in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradwire.blocks.errors import FileError
from gradwire.runtime.cli.arguments import DiagramFile, path_option
from gradwire.runtime.cli.output import CLEAN, UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session, parse_assignment
from gradwire.runtime.diagram import load
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.diagram.lesson import (
    BuildStep,
    ChangeStep,
    CheckStep,
    PaintStep,
    PredictStep,
    ShowStep,
)
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.lessons.answers import Answer, AnswerError, lesson_digest
from gradwire.runtime.lessons.course.progress import LessonProgress, ProgressFile, user_file
from gradwire.runtime.lessons.prediction import MOST_POINTS, guess_of, judge
from gradwire.runtime.lessons.texts import unmarked
from gradwire.runtime.lessons.walk import Walk
from gradwire.runtime.publish.printable import title_line, visible

if TYPE_CHECKING:
    from gradwire.runtime.lessons.prediction import PredictionOutcome

_LETTERS = "abcdefgh"
_HELP = "(h: a hint, s: skip, b: back, q: quit)"
_STATES = (State.CARRIES, State.ZERO, State.STOPPED, State.OFF_ROUTE, State.FROZEN)


class _LeaveError(Exception):
    """The learner leaves the step, by one of the letters b, s, q."""


def lesson(
    file: DiagramFile,
    answers: Annotated[
        Path | None,
        path_option("--answers", metavar="FILE", help="Write the answers to this file."),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner", metavar="NAME", help="Whose answers they are.", show_default=False
        ),
    ] = "",
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            max=2**32 - 1,
            help="The same exercise with other numbers; 0: as in the file.",
        ),
    ] = 0,
    no_keep: Annotated[
        bool, typer.Option("--no-keep", help="Do not remember how far you came.")
    ] = False,
) -> None:
    """Walk through a lesson: read, predict, change, and see what is computed.

    What you answer is compared with what the diagram gives. The answers can be graded with
    gradwire grade.
    """  # fmt: skip
    if answers is not None and not learner.strip():
        raise UsageError("Answers need a name.", expected="--learner NAME")
    if answers is not None and answers.resolve() == file.resolve():
        raise UsageError("The answers can't be written over the lesson.")
    session, problems = open_session(file)
    if has_errors(problems):
        print_problems(problems)
        raise typer.Exit(problems_code(problems))
    walk = Walk(session.diagram, seed)
    goal = unmarked(walk.lesson.goal)
    _say(f"{title_line(walk.file.title) or file.name}: {goal}".rstrip(": "))
    finished = _Terminal(walk).play()
    if answers is not None:
        text = json.dumps(walk.answers(learner.strip()), ensure_ascii=False, indent=1)
        with system_errors(answers, "write"):
            replace_file(answers, (text + "\n").encode("utf-8", "backslashreplace"))
        _say(f"Your answers are in {answers}.")
    if not no_keep:
        _remember(walk, finished)
    raise typer.Exit(CLEAN)


def _remember(walk: Walk, finished: bool) -> None:
    asking = sum(not isinstance(step, ShowStep) for step in walk.lesson.steps)
    best = sum(outcome.points for outcome in walk.outcomes.values())
    reached = LessonProgress(
        walk.file.title, finished, round(best, 2), MOST_POINTS * asking, walk.index + 1
    )
    try:
        aside = ProgressFile(user_file()).put(lesson_digest(walk.file), reached)
    except FileError as error:
        _say(f"Your progress can't be kept: {error}")
        return
    if aside is not None:
        _say(f"The file of your progress was damaged. It is kept as {aside}.")


class _Terminal:
    """Plays a walk by reading lines."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._ask: dict[type, Callable[[], None]] = {
            ShowStep: lambda: None,
            PredictStep: self._predict,
            PaintStep: self._paint,
            ChangeStep: self._change,
            BuildStep: self._build,
            CheckStep: self._check,
        }

    def play(self) -> bool:
        """Whether the learner came to the end."""
        while True:
            self._show()
            try:
                if self._walk.is_done and not isinstance(self._walk.step, ShowStep):
                    self._line("Enter goes on. ")
                else:
                    self._ask[type(self._walk.step)]()
                    if isinstance(self._walk.step, ShowStep):
                        self._line("Enter goes on. ")
            except _LeaveError as leave:
                if str(leave) == "q":
                    return False
                if str(leave) == "b":
                    self._walk.back()
                    continue
            if not self._walk.advance():
                return True

    def _show(self) -> None:
        walk = self._walk
        _say(f"\nStep {walk.index + 1} of {len(walk.lesson.steps)}")
        _read(walk.text())

    def _line(self, prompt: str) -> str:
        """A line that was typed. Raises _LeaveError for one that leaves, and at the end."""
        while True:
            sys.stdout.write(visible(prompt))
            sys.stdout.flush()
            try:
                read = sys.stdin.readline(4_000) if sys.stdin is not None else ""
            except (KeyboardInterrupt, UnicodeDecodeError):
                read = ""
            typed = read.strip()
            if not read or typed in ("q", "b", "s"):
                raise _LeaveError(typed if read else "q")
            if typed != "h":
                return typed
            hint = self._walk.hint()
            _read("There are no more hints." if hint is None else hint)

    def _answered(self, prompt: str) -> Iterator[str]:
        """Lines until the step is answered."""
        _say(_HELP)
        while not self._walk.is_done:
            yield self._line(prompt)

    def _try(self, answer: Answer) -> bool:
        """Whether the answer was taken, right or wrong."""
        try:
            outcome = self._walk.answer(answer)
        except (AnswerError, FileError) as error:
            _say(str(error))
            return False
        _tell(outcome)
        if self._walk.is_done and self._walk.step.after:
            _read(self._walk.after())
        return True

    def _confidence(self) -> int | None:
        typed = self._line("How sure are you, 50 to 100 %? (Enter: no answer) ").rstrip(" %")
        return int(typed) if typed.isdecimal() and 50 <= int(typed) <= 100 else None

    def _predict(self) -> None:
        step = self._walk.step
        assert isinstance(step, PredictStep)
        what = f"∂/∂{step.gradient}" if step.gradient else step.value
        kind = {
            "estimate": " (within a factor of two)",
            "sign": " (+, − or 0)",
            "decade": " (a power of ten, such as 1e-6)",
        }
        for typed in self._answered(f"{what}{kind.get(step.answer, '')} = "):
            try:
                judge(self._walk.facts, guess_of(step, typed))
            except AnswerError as error:  # before it is asked how sure the learner is
                _say(str(error))
                continue
            self._try(Answer(text=typed, confidence=self._confidence()))

    def _paint(self) -> None:
        step = self._walk.step
        assert isinstance(step, PaintStep)
        states = step.states or _STATES
        listed = ", ".join(f"{letter}) {s}" for letter, s in zip(_LETTERS, states, strict=False))
        _say(_HELP)
        while not self._walk.is_done:
            painted = {}
            for wire in step.wires:
                typed = self._line(f"{wire}: {listed}? ")
                if len(typed) == 1 and typed in _LETTERS[: len(states)]:
                    painted[wire] = str(states[_LETTERS.index(typed)])
            self._try(Answer(painted=painted, confidence=self._confidence()))

    def _change(self) -> None:
        step = self._walk.step
        assert isinstance(step, ChangeStep)
        can = ", ".join(step.only) or "any source or stop"
        _say(f"You can change {can}: type “w = 3”, “open sg” or “close sg”, one a line.")
        so_far = Answer()
        for typed in self._answered("change: "):
            word, _, stop = typed.partition(" ")
            if word in ("open", "close") and "=" not in typed:
                opened = {**so_far.open, stop.strip(): word == "open"}
                attempt = replace(so_far, open=opened)
            else:
                try:
                    name, literal = parse_assignment(typed)
                except UsageError:
                    _say("Type what changes, such as w = 3 or open sg.")
                    continue
                value: Any = literal.tensor.to_json()
                attempt = replace(so_far, values={**so_far.values, name: value})
            if self._try(attempt):
                so_far = attempt

    def _build(self) -> None:
        _say("Draw it in the editor, save it under another name, and give the name of that file.")
        for typed in self._answered("file: "):
            try:
                drawn = load(Path(typed))
            except FileError as error:
                _say(str(error))
                continue
            self._try(Answer(diagram=drawn))

    def _check(self) -> None:
        for letter, text in zip(_LETTERS, self._walk.options(), strict=False):
            _read(f"{letter}) {text}")
        for typed in self._answered("answer: "):
            place = _LETTERS.find(typed) if len(typed) == 1 else -1
            if place < 0:
                _say("Type the letter of an answer.")
            else:
                self._try(Answer(option=place, confidence=self._confidence()))


def _tell(outcome: PredictionOutcome) -> None:
    points = f"{outcome.points:.2f}".rstrip("0").rstrip(".")
    _say(f"{'Right' if outcome.right else 'Not quite'}: {points} of {MOST_POINTS:g} points.")
    if not outcome.right:
        _read(f"  yours   {outcome.yours}")
        _read(f"  actual  {outcome.actual}")
    if outcome.feedback:
        _read(outcome.feedback)


def _read(text: str) -> None:
    """Print a text of the lesson, without its marks."""
    _say(unmarked(text))


def _say(text: str) -> None:
    typer.echo(visible(text))
