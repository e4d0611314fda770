"""Publishes a diagram as a living page, or as a picture with the reason why it can't live."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gradwire.blocks.arguments import explained
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.diagram.paths import ROOT, PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.notes import with_numbers
from gradwire.runtime.publish.living.computing.verification import verify
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.drawn.picture import pictures
from gradwire.runtime.publish.living.drawn.svg import svg
from gradwire.runtime.publish.living.drawn.views import shown_views
from gradwire.runtime.publish.living.lesson import FOR_ANYONE, Exercise
from gradwire.runtime.publish.living.writing.html import page, picture_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.lessons.amounts import Array

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
        html = picture_page(diagram.title, diagram.description, still(diagram), reason)
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
    """The picture of a diagram's main page, as SVG."""
    diagram = with_numbers(diagram)
    flow = analyse(diagram)
    states = {wire: str(state) for wire, state in flow.states().items()}
    drawn = pictures(diagram, flow.program, shown_views(diagram))
    notes = drawn["pages"][drawn["uses"][""]]["notes"]
    for shown, note in zip(notes, diagram.main.notes.values(), strict=True):
        shown[0] = note.text  # as a whole: nothing follows here
    return svg(diagram.title, drawn, states, _face_numbers(diagram))


def _face_numbers(diagram: Diagram) -> dict[str, list[str]]:
    """The value, and for a variable the gradient, of each block of the main page; none of a
    diagram that can't be run.
    """
    try:
        run = Session(diagram).backward(contributions=True)
    except GradwireError:
        return {}
    values = defaultdict(list)
    for port, value in run.values.items():
        values[PortPath(port).block].append(value)
    found = {}
    for name in diagram.main.blocks:
        path = ROOT / name
        if len(values[path]) == 1:
            found[name] = [_face_number(values[path][0])]
            if path in run.gradients:
                found[name].append(f"∇ {_face_number(run.gradients[path])}")
    return found


def _face_number(array: Array | None) -> str:
    text = amount(array)
    return text if len(text) <= _LETTERS else size(array)
