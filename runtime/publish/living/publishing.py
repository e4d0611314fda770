"""Publishes a diagram as a living page, or as a picture with the reason why it can't live."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.diagram.model import MAIN
from gradwire.runtime.diagram.paths import ROOT, PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.expressions.goals import asked_in
from gradwire.runtime.lessons.notes import note_text, with_numbers
from gradwire.runtime.publish.living.computing.verification import verify
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.drawn.picture import pictures, shown_views
from gradwire.runtime.publish.living.drawn.svg import svg
from gradwire.runtime.publish.living.lesson import FOR_ANYONE, Exercise
from gradwire.runtime.publish.living.writing.html import page, picture_page

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram

_SYMBOL = 3
"""The place of a block's symbol in what ``pictures`` gives."""
_LETTERS = 22
"""Characters that a line of a face has room for."""


@dataclass(frozen=True, slots=True)
class Published:
    """The HTML of a page; ``obstacle`` says why it is a picture, and is empty if it computes."""

    html: str
    obstacle: str = ""


@explained
def publish(diagram: Diagram, seed: int = 0, learners: Sequence[str] = ()) -> str:
    """The HTML of a page that computes the diagram in a browser, offline.

    ``seed`` chooses the numbers of a lesson, and 0 leaves that to the reader; with ``learners``
    the reader chooses a name, of which the first has seed 1. The same diagram gives the same
    bytes. Every combination of switches is compared with the runtime first. Raises RunError with
    the reason if a browser can't compute the diagram, or if a comparison fails.
    """
    living = living_data(diagram, exercise=Exercise(seed, tuple(learners)))
    verify(living)
    return page(living.data, still(diagram))


def published(diagram: Diagram, exercise: Exercise = FOR_ANYONE) -> Published:
    """As ``publish``; a diagram that a browser can't compute becomes a picture.

    Raises RunError if a comparison with the runtime fails, or if there is no such exercise.
    """
    exercise.require(diagram)
    try:
        living = living_data(diagram, exercise=exercise)
    except GradwireError as error:
        reason = str(error)
        language = diagram.lesson.language if diagram.lesson else ""
        html = picture_page(diagram.title, diagram.description, still(diagram), reason, language)
        return Published(html, reason)
    verify(living)
    return Published(page(living.data, still(diagram)))


class ExercisePages:
    """Pages of a lesson that differ by their exercise; they are compared with the runtime once.

    Raises RunError if the numbers of the diagram don't vary, or if a comparison fails, and
    GradwireError with the reason if a browser can't compute it.
    """

    def __init__(self, diagram: Diagram) -> None:
        Exercise(seed=1).require(diagram)
        living = living_data(diagram)
        if "lesson" not in living.data:
            raise RunError(
                "The lesson has no steps.", next_step="Give it one, or publish it as a page."
            )
        verify(living)
        self._diagram, self._data, self._still = diagram, living.data, still(diagram)

    def page(self, exercise: Exercise) -> str:
        """The same HTML as ``published`` gives. Raises RunError if there is no such exercise."""
        exercise.require(self._diagram)
        lesson = self._data["lesson"] | exercise.to_record()
        return page(self._data | {"lesson": lesson}, self._still)


def still(diagram: Diagram) -> str:
    """The picture of a diagram's main page, as SVG.

    That of a lesson has no gradients, and nothing else that the lesson asks for.
    """
    lesson = diagram.lesson
    hidden = asked_in(lesson) | {"gradients"} if lesson and lesson.steps else frozenset()
    diagram = with_numbers(diagram) if not hidden else _with_open_notes(diagram)
    flow = analyse(diagram)
    states = {wire: str(state) for wire, state in flow.states().items()}
    drawn = pictures(diagram, flow.program, {} if hidden else shown_views(diagram))
    main = drawn["pages"][drawn["uses"][""]]
    for block in main["blocks"] if hidden else ():
        block[_SYMBOL] = block[_SYMBOL].replace("∇", "")  # ∇ stands before gradients alone
    notes = main["notes"]
    for shown, note in zip(notes, diagram.main.notes.values(), strict=True):
        shown[0] = note.text  # as a whole: nothing follows here
    states = {} if "states" in hidden else states
    return svg(diagram.title, drawn, states, _face_numbers(diagram, hidden))


def _with_open_notes(diagram: Diagram) -> Diagram:
    """The diagram with … for the numbers in the notes of its main page."""
    notes = {key: replace(note, text=note_text(note.text, None))
             for key, note in diagram.main.notes.items()}  # fmt: skip
    return diagram.with_page(MAIN, replace(diagram.main, notes=notes))


def _face_numbers(diagram: Diagram, hidden: Collection[str]) -> dict[str, list[str]]:
    """The value, and for a variable the gradient, of each block of the main page, without what is
    ``hidden``; none of a diagram that can't be run.
    """
    try:
        run = Session(diagram).backward(contributions=True)
    except GradwireError:
        return {}
    values = defaultdict(list)
    for port, value in run.values.items():
        values[PortPath(port).block].append(value)
    found = {}
    for name, block in diagram.main.blocks.items():
        path = ROOT / name
        if "values" in hidden and not isinstance(block, Source):
            continue
        if len(values[path]) == 1:
            found[name] = [_face_number(values[path][0])]
            if path in run.gradients and "gradients" not in hidden:
                found[name].append(f"∇ {_face_number(run.gradients[path])}")
    return found


def _face_number(array: Array | None) -> str:
    text = amount(array)
    return text if len(text) <= _LETTERS else size(array)
