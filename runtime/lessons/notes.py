"""Notes that state numbers: ``{expressions}`` in their texts, as in those of lessons, become what
the diagram computes now, whatever was switched or edited.

Paths are those of the whole diagram, on inner pages too. A text that is no template, or asks for
what there is not, stays as it was written.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, Location
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.observed import ObservedFlow
from gradwire.runtime.flow.observing import run_losses
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.grammar import ConditionError
from gradwire.runtime.lessons.expressions.wording import trials_in
from gradwire.runtime.lessons.texts import filled, parse_text

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram
    from gradwire.runtime.lessons.expressions.wording import Trial

MOST_TRIALS = 32
"""What-ifs that are computed for the notes of a diagram after each edit: each is one more run."""


@dataclass(frozen=True)
class NoteProblem:
    """What is wrong with the text of a note, by its page and id."""

    page: str
    note: str
    diagnostic: Diagnostic


def asks(text: str) -> bool:
    """Whether a text has an expression; False too where what is in braces is none."""
    try:
        return any(not isinstance(part, str) for part in parse_text(text).parts)
    except ConditionError:
        return False


def note_text(text: str, facts: Facts | None) -> str:
    """The text of a note with its numbers, … where these are not known yet; as it was written where
    it has none.
    """
    if not asks(text):
        return text
    try:
        if facts is None:
            return "".join(p if isinstance(p, str) else "…" for p in parse_text(text).parts)
        return filled(text, facts)
    except GradwireError:
        return text


def with_numbers(diagram: Diagram, session: Session | None = None) -> Diagram:
    """The diagram with the numbers of all notes, those that the session has now, written out."""
    if not _has_expressions(diagram):
        return diagram
    try:
        facts = Facts(session or Session(diagram))
    except GradwireError:
        return diagram
    for name, page in diagram.pages.items():
        notes = {
            key: replace(note, text=note_text(note.text, facts)) for key, note in page.notes.items()
        }
        diagram = diagram.with_page(name, replace(page, notes=notes))
    return diagram


def note_trials(session: Session, most: int | None = None) -> dict[Trial, ObservedFlow]:
    """The flows of the what-ifs that the notes of a session's diagram ask about, with the numbers
    that the session has now. One that can't be tried is left out, and so are all after the first
    ``MOST_TRIALS``: their notes are shown as they were written.

    With more than ``most`` losses, only their sum is run.
    """
    from gradwire.runtime.flow.tools.repairs import trial  # few notes try anything

    texts = [note.text for page in session.diagram.pages.values() for note in page.notes.values()]
    parts = [part for text in texts if asks(text) for part in parse_text(text).parts]
    slots = [part for part in parts if not isinstance(part, str)]
    asked = dict.fromkeys(steps for slot in slots for steps in trials_in(slot.condition.tree))
    found = {}
    for steps in islice(asked, MOST_TRIALS):
        try:
            changed, _ = trial(session, steps)
            flow = analyse(changed.program)
            runs = run_losses(changed, flow, most=most)
        except GradwireError:
            continue
        assert runs is not None  # nothing supersedes it
        found[steps] = ObservedFlow(flow, runs, diagram=changed.diagram)
    return found


def check_notes(diagram: Diagram) -> list[NoteProblem]:
    """The notes whose expressions are none, or have no value: warnings, as they show their text."""
    found, facts = [], None
    for name, page in diagram.pages.items():
        for key, note in page.notes.items():
            if "{" not in note.text:
                continue
            try:
                facts = facts or Facts(Session(diagram))
                filled(note.text, facts)
            except ConditionError as error:
                found.append(_problem(name, key, f"character {error.offset + 1}: {error.what}",
                                      error.next_step))  # fmt: skip
            except GradwireError as error:
                found.append(_problem(name, key, error.what, error.next_step))
    return found


def _has_expressions(diagram: Diagram) -> bool:
    return any(asks(note.text) for page in diagram.pages.values() for note in page.notes.values())


def _problem(page: str, note: str, what: str, next_step: str | None) -> NoteProblem:
    text = f"Note {note} of the page {page} shows its braces: {what}"
    return NoteProblem(
        page, note, Diagnostic("warning", Location(), text, next_step=next_step, code="note")
    )
