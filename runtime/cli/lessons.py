"""What commands say about lessons and notes: their problems, with lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.runtime.cli.places import placed

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.publish.problems import Problem


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
