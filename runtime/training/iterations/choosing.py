"""How the iterations of a session are made: as its engine can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.training.iterations.in_place import InPlaceIterations
from gradwire.runtime.training.iterations.looped import LoopedIterations

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.iterations.protocols import Iterations
    from gradwire.runtime.training.recipe import Recipe


def iterations_of(session: Session, recipe: Recipe, program: Program) -> Iterations:
    """What makes the iterations of a recipe, resolved for ``program``; raises what
    ``Session.backward`` does.
    """
    if session.engine.updates_in_place:
        return InPlaceIterations(session, recipe, program)
    return LoopedIterations(session, recipe, program)
