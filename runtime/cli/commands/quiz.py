"""``gradwire quiz FILE``: questions about the gradients of a diagram, with computed answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.cli.arguments import DiagramFile, Json, Losses
from runtime.cli.output import print_json, print_problems, problems_code
from runtime.cli.sessions import choose_losses, has_errors, open_session
from runtime.lessons.quiz import Question
from runtime.lessons.quiz import quiz as questions_of
from runtime.publish.text import show

if TYPE_CHECKING:
    from collections.abc import Sequence

_LETTERS = "abcd"


def quiz(
    file: DiagramFile,
    count: Annotated[
        int, typer.Option("--count", min=1, max=1000, help="How many questions, at most.")
    ] = 10,
    seed: Annotated[
        int, typer.Option("--seed", help="Another seed draws other numbers and other orders.")
    ] = 1,
    answers: Annotated[
        bool, typer.Option("--answers", help="Show the answers, and what to say to wrong ones.")
    ] = False,
    loss: Losses = None,
    json: Json = False,
) -> None:
    """Ask which gradients the variables of a diagram get, with several answers to choose from.

    Every wrong answer is computed from a misconception, such as that of several uses only one
    counts. The same seed asks the same questions; JSON always has the answers.
    """
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    found = questions_of(session, count, seed, choose_losses(session, loss))
    if json:
        print_json(
            {
                "report": "quiz",
                "version": 1,
                "file": str(file),
                "seed": seed,
                "questions": [_json(question) for question in found],
                "problems": [problem.to_json() for problem in problems],
            }
        )
    elif not found:
        show([f"{file}\nNo question about this diagram has two wrong answers that differ."])
    else:
        parts = [_text(number, question) for number, question in enumerate(found, 1)]
        show([str(file), *parts, *([_key(found)] if answers else [])])


def _text(number: int, question: Question) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in question.values.items())
    lines = [f"{number}. {question.text}   with {values}"]
    choices = zip(_LETTERS, question.options, strict=False)
    lines += [f"   {letter}) {option.text}" for letter, option in choices]
    return "\n".join(lines)


def _key(questions: Sequence[Question]) -> str:
    lines = ["Answers"]
    for number, question in enumerate(questions, 1):
        lines.append(f"{number}. {_LETTERS[question.answer]}")
        lines += [
            f"   {letter}) {option.misconception}: {option.feedback}"
            for letter, option in zip(_LETTERS, question.options, strict=False)
            if not option.is_right
        ]
    return "\n".join(lines)


def _json(question: Question) -> dict[str, Any]:
    return {
        "variable": question.variable,
        "text": question.text,
        "values": dict(question.values),
        "answer": question.answer,
        "options": [
            {
                "text": option.text,
                "misconception": option.misconception or None,
                "feedback": option.feedback,
            }
            for option in question.options
        ],
    }
