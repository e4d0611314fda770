"""The questions of a free prediction, and the comparison of all guesses at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.app.controllers.lessons.step_views import MOST_BRUSHES, USUAL
from gradwire.app.panels.lessons.outcomes import OutcomeRow
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import InstancePath, PortPath, WirePath
from gradwire.runtime.flow import State
from gradwire.runtime.lessons import (
    MOST_ELEMENTS,
    Facts,
    Guess,
    Phase,
    PredictionOutcome,
    judge_all,
    painted_points,
    read_numbers,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session

_NOT_ASKED = (State.UNKNOWN, State.NOTHING_TO_TRAIN)
_MOST_SAID = 4
"""Wrong wires that are listed."""


@dataclass(frozen=True)
class Questions:
    """What can be predicted of a diagram: gradients of variables, and states of wires."""

    diagram: Diagram
    facts: Facts
    sizes: Mapping[InstancePath, int]
    """How many numbers the gradient of each variable has."""
    wires: tuple[WirePath, ...]
    offered: tuple[State, ...]
    """The states to paint with: those that occur, and the usual ones."""

    def check(self, variable: InstancePath, text: str) -> None:
        """Raise AnswerError for a text that is no answer."""
        read_numbers(text, self.sizes[variable])


@dataclass(frozen=True)
class Judged:
    """Every guess beside what is computed, and where the first wrong one went wrong."""

    numbers: Mapping[InstancePath, PredictionOutcome]
    wires: Mapping[WirePath, PredictionOutcome]
    rows: tuple[OutcomeRow, ...]
    first: InstancePath | None
    place: InstancePath | None
    """The block that the first wrong number is about."""


def prepare(session: Session, losses: Sequence[str] | None) -> Questions:
    """The questions about a diagram. Raises what recording a step raises."""
    facts = Facts(session, losses or ())
    steps, states = facts.timeline.steps, facts.observed.states()
    known = {InstancePath(name): value.size for name, value in steps.before.items()}
    found = set(states.values())
    return Questions(
        session.diagram,
        facts,
        {name: size for name, size in known.items() if 0 < size <= MOST_ELEMENTS},
        tuple(WirePath(wire) for wire, state in states.items() if state not in _NOT_ASKED),
        tuple(state for state in State if state in found or state in USUAL)[:MOST_BRUSHES],
    )


def judge(
    session: Session,
    asked: Questions,
    typed: Mapping[InstancePath, str],
    painted: Mapping[WirePath, State],
) -> Judged:
    """Compare typed gradients and painted states with those of the run."""
    numbers, _ = judge_all(asked.facts, [Guess("gradient", n, text) for n, text in typed.items()])
    wires, _ = judge_all(asked.facts, [Guess("state", w, str(s)) for w, s in painted.items()])
    by_name = dict(zip(typed, numbers, strict=True))
    by_wire = dict(zip(painted, wires, strict=True))
    rows = [_row(name, outcome) for name, outcome in by_name.items()]
    rows += [_painted_row(asked, by_wire)] if by_wire else []
    wrong = [_block(o.place) for o in numbers if not o.right]
    places = [*wrong, *(wire.block for wire, o in by_wire.items() if not o.right)]
    return Judged(by_name, by_wire, tuple(rows), _first(asked, places), wrong[0] if wrong else None)


def _first(asked: Questions, places: Sequence[InstancePath]) -> InstancePath | None:
    """The block that backward reaches first."""
    turn = {place: asked.facts.timeline.position(Phase.BACKWARD, place) for place in places}
    reached = {place: at for place, at in turn.items() if at is not None}
    return min(reached, key=lambda place: reached[place], default=None)


def _block(place: str) -> InstancePath:
    """The block of a place: of a block, port or wire."""
    return PortPath.named(place).block


def _row(name: InstancePath, outcome: PredictionOutcome) -> OutcomeRow:
    return OutcomeRow(
        f"∂L/∂{name}", outcome.yours, outcome.actual, outcome.points, outcome.right,
        outcome.misconception, outcome.feedback, _block(outcome.place),
    )  # fmt: skip


def _painted_row(asked: Questions, outcomes: Mapping[WirePath, PredictionOutcome]) -> OutcomeRow:
    """All painted wires in one row; of the wrong ones, the first are listed."""
    wrong = {wire: found for wire, found in outcomes.items() if not found.right}
    said = [
        editor.tr("{0}: yours {1}, actual {2}").format(wire, words(o.yours), words(o.actual))
        for wire, o in [*wrong.items()][:_MOST_SAID]
    ]
    points = painted_points(asked.wires, {str(wire): found for wire, found in outcomes.items()})
    right = len(outcomes) - len(wrong)
    summary = editor.tr("{0} right, {1} wrong, of {2}")
    return OutcomeRow(
        editor.tr("Wires"),
        summary.format(right, len(wrong), len(asked.wires)),
        "",
        math.floor(10.0 * points + 0.5) / 10.0,
        not wrong,
        feedback=". ".join(said),
    )


def words(state: str) -> str:
    """A state, given by its name, in the words of its brush."""
    return editor.tr(read_state(state).row.title)
