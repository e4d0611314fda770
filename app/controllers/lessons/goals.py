"""Whether what a learner has changed or drawn meets the goals of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.diagram import BuildStep, ChangeStep
from gradwire.runtime.lessons import Facts, GoalState, goal_states

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session

TASKS = (ChangeStep, BuildStep)
"""Steps in which the diagram is changed."""


class Goals(NamedTuple):
    """The goals of a step, for one diagram."""

    diagram: Diagram
    states: list[GoalState]

    @property
    def are_met(self) -> bool:
        """Whether there is nothing left to do."""
        return all(state.met for state in self.states)


def find_goals(session: Session, step: ChangeStep | BuildStep, diagram: Diagram) -> Goals:
    """The goals of a step for a diagram, which ``session`` runs."""
    return Goals(diagram, goal_states(step, Facts(session, step.losses)))
