"""Iterations in a loop of the session's engine: many in one call, variables where the engine is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.training.iterations.flat_buffers import variable_specs
from gradwire.runtime.training.iterations.in_place import InPlaceIterations, actions
from gradwire.runtime.training.iterations.iteration_loop import (
    IterationLoop,
    LoopedAverage,
    LoopedOptimiserStep,
    PlannedIteration,
    planned,
)
from gradwire.runtime.training.iterations.staging import leaf

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.iterations.protocols import Iterations
    from gradwire.runtime.training.recipe import Recipe
    from gradwire.runtime.training.records import DivergedError, StepRecord


class LoopedIterations:
    """Makes as many iterations as it is asked for in one call, as long as they do the same; see
    ``Iterations``.
    """

    def __init__(self, session: Session, recipe: Recipe, program: Program) -> None:
        self._session = session
        self._order = recipe.training.order
        self._looped = looped = session.looped(program)
        self._healthy = leaf(looped.program.trace, np.zeros((), np.bool_))
        found = variable_specs(looped.program)
        self.optimisers = [
            LoopedOptimiserStep(rule, watched, looped, found) for rule, watched in recipe.passes()
        ]
        self._averages = [LoopedAverage(rule, pairs, looped) for rule, pairs in recipe.averages]
        moving = (path for _, parts in self.parts() for part in parts for path in part.variables)
        self.moving: Collection[str] = list(dict.fromkeys(moving))
        """The paths of the variables that iterations move."""
        looped.settle(self.moving)
        self._iterations: dict[object, IterationLoop] = {}
        self._write_healthy()

    @property
    def program(self) -> Program:
        """The program that they run."""
        return self._looped.program

    @property
    def lock(self) -> AbstractContextManager[object]:
        """What calls of the session hold."""
        return self._looped.lock

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or iteration."""
        return self._looped.is_current

    def parts(self) -> Iterator[tuple[str, Sequence[LoopedOptimiserStep | LoopedAverage]]]:
        """The optimisers and the averages, with what they are called in states."""
        yield "optimiser", self.optimisers
        yield "average", self._averages

    def refresh(self) -> None:
        """Take over what was set in the session; raises FeedError for an input without a value."""
        self._looped.refresh()
        self._write_healthy()

    def assigned(self) -> Mapping[str, Array]:
        """What was set in the session, by path, but for the variables that move."""
        return self._looped.assigned()

    def restore(self, variables: Mapping[str, Array]) -> None:
        """Let the variables that move have these values."""
        leaves, memory = self.program.leaves, self._looped.memory
        for path, array in variables.items():
            memory.writer(leaves[path].value)(array)
        self._write_healthy()
        self._looped.moved()

    def make(self, first: int, count: int) -> tuple[list[StepRecord], DivergedError | None]:
        """Make up to ``count`` iterations; see ``Iterations``."""
        plans = self._planned(first, count)
        iteration = self._iterations.get(plans[0].form)
        if iteration is None:
            iteration = IterationLoop(self._looped, self._healthy, plans[0])
            self._iterations[plans[0].form] = iteration
        self._looped.refresh()
        records, error = iteration.run(plans[: iteration.most], self._session)
        self._looped.moved()
        return records, error

    def _planned(self, first: int, count: int) -> list[PlannedIteration]:
        """The next iterations, as long as they do the same."""
        updates = {part.name: part.updates for _, parts in self.parts() for part in parts}
        found: list[PlannedIteration] = []
        for number in range(first, first + count):
            optimisers = [
                optimiser for optimiser in self.optimisers if number % optimiser.rule.every == 0
            ]
            averages = [a for a in self._averages if number % a.rule.every == 0]
            plan = planned(number, list(actions(optimisers, self._order)), averages, updates)
            if found and plan.form != found[0].form:
                break
            found.append(plan)
        return found

    def _write_healthy(self) -> None:
        self._looped.memory.writer(self._healthy)(np.array(True))


# How the iterations of a session are made: as its engine can.


def iterations_of(session: Session, recipe: Recipe, program: Program) -> Iterations:
    """What makes the iterations of a recipe, resolved for ``program``; raises what
    ``Session.backward`` does.
    """
    if session.engine.updates_in_place:
        return InPlaceIterations(session, recipe, program)
    return LoopedIterations(session, recipe, program)
