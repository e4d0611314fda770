"""``gradwire grade LESSON ANSWERS…``: marks a class, and says which misconceptions it had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradwire.blocks.errors import FileError
from gradwire.runtime.cli.arguments import Json, path_argument, path_option
from gradwire.runtime.cli.output import (
    CLEAN,
    USAGE,
    UsageError,
    print_json,
    print_problems,
    problems_code,
)
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.data.files.csv_text import csv_text
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.lessons.course.marks import ClassMarks, Marks, StepMark, mark_class
from gradwire.runtime.publish.printable import title_line
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.text import Part, TextTable, show

if TYPE_CHECKING:
    from collections.abc import Sequence


def grade(
    lesson: Annotated[
        Path,
        path_argument("LESSON", "A diagram with a lesson."),
    ],
    answers: Annotated[
        list[Path],
        path_argument("ANSWERS", "Files of answers."),
    ],
    csv_file: Annotated[
        Path | None,
        path_option("--csv", metavar="FILE", help="Write a table, a row a learner."),
    ] = None,
    json: Json = False,
) -> None:
    """Mark learners' answers to a lesson, and count the misconceptions behind wrong ones.

    Every answer is judged again; files have no marks. A file that is malformed, was changed after
    it was saved, or answers another lesson is refused with the reason, as are two files of one
    learner: then the exit code is 2, and the others are marked all the same.
    """  # fmt: skip
    if csv_file is not None and csv_file.resolve() in {f.resolve() for f in (lesson, *answers)}:
        raise UsageError(
            f"{csv_file} is read: the table can't be written over it.",
            next_step="Give --csv the name of another file.",
        )
    session, problems = open_session(lesson)
    if has_errors(problems):
        print_problems(problems)
        raise typer.Exit(problems_code(problems))
    marks = mark_class(session.diagram, answers)
    refused = tuple(Problem.of_error(error) for error in marks.refused)
    if csv_file is not None:
        _write(csv_file, table(marks))
    if json:
        print_json(_json(str(lesson), marks, (*problems, *refused)))
    else:
        print_problems((*problems, *refused))
        title = f"{lesson}: {title_line(marks.title)}" if marks.title else str(lesson)
        show([title, *_parts(marks)])
    raise typer.Exit(USAGE if refused else CLEAN)


def table(marks: ClassMarks) -> str:
    """The marks as CSV."""
    rows: list[list[str | float | None]] = [
        ["learner", *_headings(marks), "points", "of", "hints", "confidence %", "right %",
         "misconceptions", "seed", "file"]
    ]  # fmt: skip
    rows += [
        [
            each.learner,
            *map(_points, each.steps),
            _short(each.points),
            _short(each.most),
            each.hints,
            _percent(each.confidence),
            _percent(each.right),
            "; ".join(each.misconceptions),
            each.seed,
            Path(each.file).name,
        ]
        for each in marks.learners
    ]
    return csv_text(rows, end="\r\n")


def _headings(marks: ClassMarks) -> list[str]:
    steps = marks.learners[0].steps if marks.learners else ()
    return [f"step {step.step} ({step.kind})" for step in steps]


def _points(step: StepMark) -> str:
    return _short(step.points) if step.answered else ""


def _short(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")


def _percent(value: float | None) -> str:
    return "" if value is None else _short(value)


def _parts(marks: ClassMarks) -> list[Part]:
    if not marks.learners:
        return ["No file of answers could be marked."]
    columns = ("learner", *(f"{s.step} {s.kind}" for s in marks.learners[0].steps), "points",
               "hints", "confident", "right")  # fmt: skip
    rows = tuple(_row(each) for each in marks.learners)
    parts: list[Part] = [TextTable("Marks", columns, rows)]
    if marks.misconceptions:
        counted = tuple((name, str(count)) for name, count in marks.misconceptions)
        parts.append(TextTable("Misconceptions", ("behind wrong answers", "learners"), counted))
    return parts


def _row(each: Marks) -> tuple[str, ...]:
    sure, right = (
        f"{_percent(p)} %" if p is not None else "" for p in (each.confidence, each.right)
    )
    total = f"{_short(each.points)} of {_short(each.most)}"
    return (each.learner, *map(_points, each.steps), total, str(each.hints), sure, right)


def _json(file: str, marks: ClassMarks, problems: Sequence[Problem]) -> dict[str, object]:
    return {
        "report": "grade",
        "version": 1,
        "file": file,
        "title": marks.title,
        "learners": [
            {
                "learner": each.learner,
                "file": each.file,
                "seed": each.seed,
                "points": each.points,
                "most": each.most,
                "hints": each.hints,
                "confidence": each.confidence,
                "right": each.right,
                "steps": [_step_json(step) for step in each.steps],
            }
            for each in marks.learners
        ],
        "misconceptions": [
            {"name": name, "learners": count} for name, count in marks.misconceptions
        ],
        "problems": [problem.to_json() for problem in problems],
    }


def _step_json(step: StepMark) -> dict[str, object]:
    return {
        "step": step.step,
        "do": step.kind,
        "answered": step.answered,
        "points": step.points,
        "right": step.right,
        "misconception": step.misconception or None,
        "confidence": step.confidence,
        "hints": step.hints,
    }


def _write(path: Path, text: str) -> None:
    if not path.parent.is_dir():
        raise FileError(
            "The table can't be written.",
            path=str(path),
            next_step=f"There is no folder {path.parent}: make it first.",
        )
    with system_errors(path, "write"):
        replace_file(path, text.encode("utf-8-sig"))
