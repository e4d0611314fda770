"""Places in files of problems that are known by their path in the document."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError, Location
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, offset_of
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.publish.problems import Problem

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.files.parsing import Path as Place
    from gradwire.runtime.engine import Session


def placed(found: Sequence[tuple[Diagnostic, Place]], file: Path) -> list[Problem]:
    """The problems with line and column, as far as the file can be read."""
    text = ""
    if found:
        with suppress(OSError, UnicodeDecodeError, FileError):
            text = read_regular(file, 4 * MAX_CHARACTERS).decode("utf-8")
    return [_problem(diagnostic, place, text, str(file)) for diagnostic, place in found]


def _problem(diagnostic: Diagnostic, place: Place, text: str, file: str) -> Problem:
    if not text:
        return Problem(diagnostic, file)
    offset = offset_of(text, place)
    line = text.count("\n", 0, offset) + 1
    return Problem(diagnostic, file, line, offset - text.rfind("\n", 0, offset))


# What commands say about lessons and notes: their problems, with lines.


def lesson_problems(diagram: Diagram, file: Path) -> list[Problem]:
    """Everything wrong with the lesson of a diagram, each with the line of its step."""
    if diagram.lesson is None:
        return []
    from gradwire.runtime.lessons.course.checking import check_lesson  # few diagrams have a lesson

    found = []
    for each in check_lesson(diagram):
        step = () if each.step is None else ("steps", each.step - 1)
        found.append((each.diagnostic, ("lesson", *step)))
    return placed(found, file)


def note_problems(diagram: Diagram, file: Path) -> list[Problem]:
    """The notes whose numbers can't be computed, each with its line."""
    if not any("{" in note.text for page in diagram.pages.values() for note in page.notes.values()):
        return []
    from gradwire.runtime.lessons.notes import check_notes  # few notes have numbers

    return placed(
        [
            (each.diagnostic, ("pages", each.page, "notes", each.note))
            for each in check_notes(diagram)
        ],
        file,
    )


# What commands say about recipes for training: their problems, with lines.

_CODE = "training"


def training_problems(session: Session, file: Path) -> list[Problem]:
    """Everything wrong with the recipe of a diagram, and what is worth saying about it.

    A trained variable that no optimiser owns is a warning.
    """
    training, program = session.diagram.training, session.rolled
    if training is None:
        return []
    from gradwire.runtime.flow.tools.contracts import unowned, unowned_sentence
    from gradwire.runtime.training.recipe import examine  # few diagrams have a recipe

    found = []
    remarks = examine(training, program)
    if remarks and program.flat.loops:  # they may be about what only the steps have
        program = session.program
        remarks = examine(training, program)
    for remark in remarks:
        diagnostic = Diagnostic.from_error(remark.error, _CODE)
        severity = diagnostic.severity if remark.is_error else "warning"
        found.append((replace(diagnostic, severity=severity), ("training", *remark.field)))
    for name in unowned(program, (), (), training):
        said = Diagnostic("warning", Location(block=name), unowned_sentence(name), code=_CODE)
        found.append((said, ("training",)))
    return placed(found, file)
