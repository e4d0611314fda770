"""``gradwire quiz FILE``: questions about the gradients of a diagram, with computed answers."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gradwire.runtime.cli.arguments import DiagramFile, Json, Losses
from gradwire.runtime.cli.output import print_json, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_losses, has_errors, open_session
from gradwire.runtime.lessons.quiz.asking import quiz as questions_of
from gradwire.runtime.lessons.quiz.question import Question, QuestionKind
from gradwire.runtime.publish import quiz as formats
from gradwire.runtime.publish.quiz import QuestionDiagrams
from gradwire.runtime.publish.text import show

if TYPE_CHECKING:
    from collections.abc import Sequence

_LETTERS = formats.LETTERS.lower()


class QuizFormat(StrEnum):
    """How the questions are written."""

    TEXT = "text"
    GIFT = "gift"
    AIKEN = "aiken"
    MOODLE = "moodle"
    JSON = "json"


def quiz(
    file: DiagramFile,
    count: Annotated[
        int, typer.Option("--count", min=1, max=1000, help="How many questions, at most.")
    ] = 10,
    seed: Annotated[
        int, typer.Option("--seed", help="Another seed draws other numbers and other orders.")
    ] = 1,
    about: Annotated[
        list[QuestionKind] | None,
        typer.Option("--about", help="Only questions of this kind. May be repeated."),
    ] = None,
    written: Annotated[
        QuizFormat,
        typer.Option("--format", help="Text, JSON, or what Moodle and other platforms import."),
    ] = QuizFormat.TEXT,
    answers: Annotated[
        bool, typer.Option("--answers", help="Show the answers, and what to say to wrong ones.")
    ] = False,
    loss: Losses = None,
    json: Json = False,
) -> None:
    """Ask about gradients, states, values and stops of a diagram, with answers to choose from.

    Every second question about a single number asks to type it. Questions carry the diagram in
    words, and in GIFT and Moodle's XML as a picture too.

    Every wrong answer is computed from a misconception, such as that of several uses only one
    counts. The same seed asks the same questions. GIFT, Moodle's XML, Aiken and JSON always have
    the answers.
    """
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    kinds = tuple(about or QuestionKind)
    found = questions_of(session, count, seed, choose_losses(session, loss), kinds)
    title, diagrams = session.diagram.title, QuestionDiagrams(session.diagram)
    if json or written is QuizFormat.JSON:
        report = formats.report(str(file), seed, found, diagrams)
        print_json({**report, "problems": [problem.to_json() for problem in problems]})
    elif not found:
        show([f"{file}\nNo question about this diagram has two wrong answers that differ."])
    elif written is QuizFormat.TEXT:
        parts = [_text(number, question) for number, question in enumerate(found, 1)]
        about_it = "\n".join(["The diagram", *(f"   {line}" for line in diagrams.words())])
        show([str(file), about_it, *parts, *([_key(found)] if answers else [])])
    else:
        match written:
            case QuizFormat.GIFT:
                text = formats.gift(title, found, diagrams)
            case QuizFormat.AIKEN:
                text = formats.aiken(found, diagrams)
            case _:
                text = formats.moodle(title, found, diagrams)
        typer.echo(text, nl=False)


def _text(number: int, question: Question) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in question.values.items())
    lines = [f"{number}. {question.text}   with {values}"]
    if question.is_numerical:
        return "\n".join([*lines, "   a number: ______"])
    choices = zip(_LETTERS, question.options, strict=False)
    lines += [f"   {letter}) {option.text}" for letter, option in choices]
    return "\n".join(lines)


def _key(questions: Sequence[Question]) -> str:
    lines = ["Answers"]
    for number, question in enumerate(questions, 1):
        right = question.options[question.answer].text
        lines.append(f"{number}. {right if question.is_numerical else _LETTERS[question.answer]}")
        lines += [
            f"   {option.text if question.is_numerical else letter}) {formats.said(option)}"
            for letter, option in zip(_LETTERS, question.options, strict=False)
            if not option.is_right
        ]
    return "\n".join(lines)
