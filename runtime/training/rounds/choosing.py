"""How the rounds of a session are made: as its engine can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.training.rounds.in_place import InPlaceRounds
from gradwire.runtime.training.rounds.looped import LoopedRounds

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.training.recipe import Recipe
    from gradwire.runtime.training.rounds.rounds import Rounds


def rounds_of(session: Session, recipe: Recipe) -> Rounds:
    """What makes the rounds of a recipe; raises what ``Session.backward`` does."""
    if session.engine.updates_in_place:
        return InPlaceRounds(session, recipe)
    return LoopedRounds(session, recipe)
