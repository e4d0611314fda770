"""Rounds of the NumPy engine: variables are updated where the plans read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.training.diverged import DivergedError
from gradwire.runtime.training.records import StepRecord
from gradwire.runtime.training.rounds.arenas import Arena, forms
from gradwire.runtime.training.rounds.averages import Averaging
from gradwire.runtime.training.rounds.turns import Turn

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.recipe import Recipe

Array = NDArray[Any]


class InPlaceRounds:
    """Makes one round in each call; see ``Rounds``."""

    def __init__(self, session: Session, recipe: Recipe) -> None:
        self._session = session
        self._recipe = recipe
        # Entering a context costs a tenth of np.errstate, which numpy keeps in a context variable.
        self._silent = copy_context()
        self._silent.run(np.seterr, all="ignore")  # what is not finite shows in the numbers
        self._resident = resident = session.resident()
        self.turns: list[Turn] = []
        for rule, watched in recipe.passes():
            pending = resident.derive(rule.heads, rule.variables, (*rule.heads, *watched))
            self.turns.append(Turn(rule, pending, watched))
        self._averages = [Averaging(rule, pairs) for rule, pairs in recipe.averages]
        self._values = Arena()
        found = forms(resident.program)
        owners = Counter(name for rule in recipe.rules for name in rule.variables)
        shared = {name for name, count in owners.items() if count > 1}
        for turn in self.turns:
            turn.settle(self._values, found, shared)
        for average in self._averages:
            average.settle(self._values, found)
        resident.settle(self._values.arrays)
        for turn in self.turns:
            turn.plan(resident)
        resident.refresh()

    @property
    def program(self) -> Program:
        """The program that they run."""
        return self._resident.program

    @property
    def lock(self) -> AbstractContextManager[object]:
        """What calls of the session hold."""
        return self._resident.lock

    @property
    def moving(self) -> Collection[str]:
        """The paths of the variables that rounds move."""
        return self._values.arrays.keys()

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or round."""
        return self._resident.is_current

    def parts(self) -> Iterator[tuple[str, Sequence[Turn | Averaging]]]:
        """The optimisers and the averages, with what they are called in states."""
        yield "optimiser", self.turns
        yield "average", self._averages

    def refresh(self) -> None:
        """Take over what was set in the session; raises FeedError for an input without a value."""
        self._resident.refresh()
        self._reset()

    def assigned(self) -> Mapping[str, Array]:
        """What was set in the session, by path, but for the variables that move."""
        return self._resident.assigned()

    def restore(self, variables: Mapping[str, Array]) -> None:
        """Let the variables that move have these values."""
        for path, target in self._values.arrays.items():
            np.copyto(target, variables[path])
        self._resident.moved()
        self._reset()

    def _reset(self) -> None:
        for turn in self.turns:
            turn.reset()

    def make(self, first: int, count: int) -> tuple[list[StepRecord], DivergedError | None]:
        """Make one round, whatever ``count`` is; see ``Rounds``."""
        turns = [turn for turn in self.turns if first % turn.rule.every == 0]
        try:
            losses = self._silent.run(self._take_turns, turns)
            for average in self._averages:
                if first % average.rule.every == 0:
                    self._silent.run(average.update)
        except DivergedError as error:
            error.round, error.step_number = first, self._session.step_number
            return [], error
        finally:
            self._resident.moved()
        watched = turns[0].watched if turns else {}
        records = {turn.name: turn.record() for turn in turns}
        return [StepRecord(first, losses, records, watched)], None

    def _take_turns(self, turns: Sequence[Turn]) -> dict[str, float]:
        """All passes and updates of a round; returns each loss as it was first computed."""
        session = self._session
        losses: dict[str, float] = {}
        for act, turn, is_first in acts(turns, self._recipe.training.order):
            if act == "collect":
                turn.collect(session, is_first)
                losses = turn.losses | losses
            else:
                turn.update()
        return losses


def acts(turns: Sequence[Any], order: str) -> Iterator[tuple[str, Any, bool]]:
    """What happens in a round, in order: "collect" or "update", whose turn it is, and whether it
    is the first pass of the round.
    """
    simultaneous = order == "simultaneous"
    if simultaneous:
        for turn in turns:
            yield "collect", turn, turn is turns[0]
    for turn in turns:
        for number in range(turn.rule.steps):
            if number or not simultaneous:
                yield "collect", turn, turn is turns[0] and not number
            yield "update", turn, False
