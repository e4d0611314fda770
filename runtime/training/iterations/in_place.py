"""Iterations of the NumPy engine: variables are updated where the plans read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.training.diverged import DivergedError
from gradwire.runtime.training.iterations.averages import Averaging
from gradwire.runtime.training.iterations.flat_buffers import FlatBuffer, variable_specs
from gradwire.runtime.training.iterations.in_place_step import InPlaceOptimiserStep
from gradwire.runtime.training.records import StepRecord

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.recipe import Recipe


class InPlaceIterations:
    """Makes one iteration in each call; see ``Iterations``."""

    def __init__(self, session: Session, recipe: Recipe, program: Program) -> None:
        self._session = session
        self._recipe = recipe
        # Entering a context costs a tenth of np.errstate, which numpy keeps in a context variable.
        self._silent = copy_context()
        self._silent.run(np.seterr, all="ignore")  # what is not finite shows in the numbers
        self._resident = resident = session.resident(program)
        self.optimisers: list[InPlaceOptimiserStep] = []
        for rule, watched in recipe.passes():
            pending = resident.derive(rule.heads, rule.variables, (*rule.heads, *watched))
            self.optimisers.append(InPlaceOptimiserStep(rule, pending, watched))
        self._averages = [Averaging(rule, pairs) for rule, pairs in recipe.averages]
        self._values = FlatBuffer()
        found = variable_specs(resident.program)
        owners = Counter(name for rule in recipe.rules for name in rule.variables)
        shared = {name for name, count in owners.items() if count > 1}
        for optimiser in self.optimisers:
            optimiser.allocate(self._values, found, shared)
        for average in self._averages:
            average.allocate(self._values, found)
        resident.settle(self._values.arrays)
        for optimiser in self.optimisers:
            optimiser.plan(resident)
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
        """The paths of the variables that iterations move."""
        return self._values.arrays.keys()

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or iteration."""
        return self._resident.is_current

    def parts(self) -> Iterator[tuple[str, Sequence[InPlaceOptimiserStep | Averaging]]]:
        """The optimisers and the averages, with what they are called in states."""
        yield "optimiser", self.optimisers
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
        for optimiser in self.optimisers:
            optimiser.reset()

    def make(self, first: int, count: int) -> tuple[list[StepRecord], DivergedError | None]:
        """Make one iteration, whatever ``count`` is; see ``Iterations``."""
        optimisers = [
            optimiser for optimiser in self.optimisers if first % optimiser.rule.every == 0
        ]
        try:
            losses = self._silent.run(self._run_optimisers, optimisers)
            for average in self._averages:
                if first % average.rule.every == 0:
                    self._silent.run(average.update)
        except DivergedError as error:
            error.iteration, error.step_number = first, self._session.step_number
            return [], error
        finally:
            self._resident.moved()
        watched = optimisers[0].watched if optimisers else {}
        records = {optimiser.name: optimiser.record() for optimiser in optimisers}
        return [StepRecord(first, losses, records, watched)], None

    def _run_optimisers(self, optimisers: Sequence[InPlaceOptimiserStep]) -> dict[str, float]:
        """All passes and updates of an iteration; returns each loss as it was first computed."""
        session = self._session
        losses: dict[str, float] = {}
        for action, optimiser, is_first in actions(optimisers, self._recipe.training.order):
            if action == "collect":
                optimiser.collect(session, is_first)
                losses = optimiser.losses | losses
            else:
                optimiser.update()
        return losses


def actions(optimisers: Sequence[Any], order: str) -> Iterator[tuple[str, Any, bool]]:
    """What happens in an iteration, in order: "collect" or "update", for which optimiser, and
    whether it is the first pass of the iteration.
    """
    simultaneous = order == "simultaneous"
    if simultaneous:
        for optimiser in optimisers:
            yield "collect", optimiser, optimiser is optimisers[0]
    for optimiser in optimisers:
        for number in range(optimiser.rule.steps):
            if number or not simultaneous:
                yield "collect", optimiser, optimiser is optimisers[0] and not number
            yield "update", optimiser, False
