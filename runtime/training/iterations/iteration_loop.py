"""Iterations of one form as those of a loop: its stages, their rows, and their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import Array
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.training.diverged import DivergedError
from gradwire.runtime.training.iterations.looped_steps import LoopedAverage, LoopedOptimiserStep
from gradwire.runtime.training.iterations.staging import (
    AverageUpdate,
    ParameterUpdates,
    Staging,
    leaf,
)
from gradwire.runtime.training.records import StepRecord

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.engine import LoopPhase
    from gradwire.runtime.engine.plan.recording import Recording
    from gradwire.runtime.engine.session.resident import Looped

Rows: TypeAlias = list[list[Array]]

_ROOM = 1 << 28
"""Bytes of the rows of one call, at most, unless one iteration has more."""


class Action(NamedTuple):
    """One thing that happens in an iteration."""

    kind: Literal["collect", "accumulate", "update", "average"]
    part: LoopedOptimiserStep | LoopedAverage
    recordings: Sequence[Recording] = ()
    """What an update does to each group, or an average to its targets."""
    update: int = 0
    """The number of the update."""

    @property
    def passes(self) -> int:
        """Passes that it makes."""
        if self.kind == "accumulate" and isinstance(self.part, LoopedOptimiserStep):
            return self.part.rule.accumulate - 1
        return int(self.kind == "collect")

    @property
    def form(self) -> Any:
        """What decides the arithmetic: all but the scalars."""
        done = tuple((r.operations, tuple(r.written.items())) for r in self.recordings)
        return self.kind, self.part.name, done


class PlannedIteration(NamedTuple):
    """An iteration that is to be made."""

    number: int
    actions: Sequence[Action]
    form: Any
    """Equal for iterations that differ in nothing but scalars."""


def planned(
    number: int,
    order: Sequence[tuple[str, LoopedOptimiserStep, bool]],
    averages: Sequence[LoopedAverage],
    updates: dict[str, int],
) -> PlannedIteration:
    """An iteration, given what happens in order and the updates so far by name, which are counted
    on.
    """
    actions: list[Action] = []
    for what, optimiser, _ in order:
        if what == "collect":
            actions.append(Action("collect", optimiser))
            if optimiser.rule.accumulate > 1:
                actions.append(Action("accumulate", optimiser))
        elif optimiser.variables:
            count = updates[optimiser.name] = updates[optimiser.name] + 1
            actions.append(Action("update", optimiser, optimiser.recorded(count), count))
    for average in averages:
        count = updates[average.name] = updates[average.name] + 1
        actions.append(Action("average", average, average.recorded(count), count))
    return PlannedIteration(number, actions, tuple(action.form for action in actions))


class IterationLoop:
    """The loop for iterations of one form."""

    def __init__(self, looped: Looped, healthy: Value, plan: PlannedIteration) -> None:
        self._looped = looped
        self._staging = Staging(looped.program.trace, healthy)
        self._changing = looped.changing()
        self._scalars: list[dict[Value, int]] = []
        """The rows of scalars of each stage, and which recording of the action each belongs to."""
        stages = [self._stage(action) for action in plan.actions]
        self._stages = stages
        self._loop = looped.loop(stages)
        self._passes = sum(action.passes for action in plan.actions)
        each = sum(row.size * NUMPY[row.dtype].itemsize * s.times for s in stages for row in s.rows)
        self.most = max(1, _ROOM // max(1, each))
        """Iterations that one call can make, for their rows take memory."""
        self._ahead: dict[Value, tuple[Sequence[int], Array]] = {}

    def run(
        self, plans: Sequence[PlannedIteration], session: Session
    ) -> tuple[list[StepRecord], DivergedError | None]:
        """Make these iterations; see ``Iterations.make``."""
        first = session.step_number
        wait = self._loop.start(self._rows(plans, first))
        self._read_ahead(first + len(plans) * self._passes, len(plans))
        results = [[array.tolist() for array in stage] for stage in wait()]
        records: list[StepRecord] = []
        for at, plan in enumerate(plans):
            session.step_number = first + at * self._passes
            told = _Outcome(plan, [[array[at] for array in stage] for stage in results], session)
            if told.error is not None:
                return records, told.error
            records.append(told.record)
        return records, None

    def _stage(self, action: Action) -> LoopPhase:
        part, trace, staging = action.part, self._looped.program.trace, self._staging
        rows = [
            leaf(trace, np.zeros(len(recording.scalars), dtype))
            for recording, dtype in zip(action.recordings, _dtypes(part), strict=False)
        ]
        self._scalars.append({row: place for place, row in enumerate(rows)})
        if isinstance(part, LoopedAverage):
            return staging.average(
                [
                    AverageUpdate(*each)
                    for each in zip(action.recordings, rows, part.groups, strict=True)
                ]
            )
        moves = [
            ParameterUpdates(recording, row, group.arrays)
            for recording, row, group in zip(action.recordings, rows, part.groups, strict=False)
        ]
        changing, clip = self._drawn(), part.rule.clip
        if action.kind == "collect":
            return staging.collect(part.given, part.sums, changing)
        if action.kind == "accumulate":
            return staging.accumulate(part.given, part.sums, changing, action.passes)
        rule = part.rule
        divisor = rule.accumulate if rule.reduce == "mean" else 1
        return staging.update(part.sums, divisor, clip, moves)

    def _drawn(self) -> list[Value]:
        """The leaves that every pass gets new: rows of data sets, and the number of its step."""
        step = self._looped.program.trace.step
        return [*self._changing, *([] if step is None else [step])]

    def _rows(self, plans: Sequence[PlannedIteration], first: int) -> Rows:
        found: Rows = []
        made = 0
        for place, stage in enumerate(self._stages):
            actions = [plan.actions[place] for plan in plans]
            passes = actions[0].passes
            steps = [
                first + at * self._passes + made + time
                for at in range(len(plans))
                for time in range(passes)
            ]
            made += passes
            arrays = []
            for row in stage.rows:
                which = self._scalars[place].get(row)
                if which is not None:
                    array = np.array(
                        [action.recordings[which].scalars for action in actions], np.float64
                    )
                    array = array[:, None]
                else:
                    array = self._drawn_at(row, steps)
                    array = array.reshape(len(plans), stage.times, *row.shape)
                arrays.append(array)
            found.append(arrays)
        return found

    def _drawn_at(self, row: Value, steps: Sequence[int]) -> Array:
        """What a leaf gets at some steps."""
        if row not in self._changing:
            return np.array(steps, np.int64).astype(NUMPY[row.dtype])
        known = self._ahead.pop(row, None)
        if known is not None and known[0] == steps:
            return known[1]
        return self._looped.batches(self._changing[row], steps)

    def _read_ahead(self, first: int, count: int) -> None:
        """Read the rows of the next iterations while these are made, if each stage has its own."""
        if self._passes != 1 or not self._changing:
            return
        steps = list(range(first, first + count))
        with suppress(GradwireError):  # met again, and reported, when they are needed
            for row, stream in self._changing.items():
                self._ahead[row] = steps, self._looped.batches(stream, steps)


class _Outcome:
    """What the results of one iteration say; counts its passes and updates."""

    def __init__(
        self, plan: PlannedIteration, results: Sequence[Sequence[Any]], session: Session
    ) -> None:
        self._session, self._number = session, plan.number
        self.error: DivergedError | None = None
        self._losses: dict[str, float] = {}
        self._watched: dict[str, float] = {}
        self._sums: dict[str, float] = {}
        self._optimisers: dict[str, LoopedOptimiserStep] = {}
        for action, given in zip(plan.actions, results, strict=True):
            self._take(action, given, action is plan.actions[0])
            if self.error is not None:
                return

    @property
    def record(self) -> StepRecord:
        """What the iteration did."""
        reports = {name: optimiser.report() for name, optimiser in self._optimisers.items()}
        return StepRecord(self._number, self._losses, reports, self._watched)

    def _take(self, action: Action, given: Sequence[Any], is_first: bool) -> None:
        part = action.part
        if isinstance(part, LoopedAverage):
            part.updates = action.update
            return
        self._optimisers[part.name] = part
        if action.passes:
            for losses, _, squares, fine in zip(*given, strict=True):
                self._pass(part, losses, squares, fine, action.kind == "accumulate")
                if self.error is not None:
                    return
            if is_first and part.ports:
                self._watched = dict(zip(map(str, part.ports), given[1][0], strict=True))
            if action.kind != "collect" or part.rule.accumulate == 1:
                self._losses = self._collected(part) | self._losses
        if action.kind == "update":
            self._move(action, part, *(result[0] for result in given))

    def _pass(
        self,
        optimiser: LoopedOptimiserStep,
        losses: Sequence[float],
        squares: Sequence[float],
        fine: bool,
        more: bool,
    ) -> None:
        heads = list(map(str, optimiser.heads))
        if not fine:
            names = _not_finite(heads, losses)
            where: Literal["loss", "gradient"] = "loss" if names else "gradient"
            names = names or _not_finite(optimiser.variables, squares)
            self._diverged(DivergedError(where, names, optimiser.name))
            return
        self._session.step_number += 1
        found = dict(zip(heads, losses, strict=True))
        self._sums = {h: self._sums[h] + x for h, x in found.items()} if more else found

    def _collected(self, optimiser: LoopedOptimiserStep) -> dict[str, float]:
        """The losses of the passes of one update."""
        rule = optimiser.rule
        if rule.accumulate == 1 or rule.reduce != "mean":
            return self._sums
        return {head: total / rule.accumulate for head, total in self._sums.items()}

    def _move(
        self,
        action: Action,
        optimiser: LoopedOptimiserStep,
        before: Sequence[float],
        after: Sequence[float],
        variables: Sequence[float],
        fine: bool,
    ) -> None:
        optimiser.updates, optimiser.norm = action.update, math.sqrt(sum(before))
        optimiser.measured(variables, after)
        if not fine:
            names = _not_finite(optimiser.variables, variables)
            self._diverged(DivergedError("variable", names, optimiser.name))

    def _diverged(self, error: DivergedError) -> None:
        error.iteration, error.step_number = self._number, self._session.step_number
        self.error = error


def _dtypes(part: LoopedOptimiserStep | LoopedAverage) -> list[str]:
    """The dtype of the scalars of each recording."""
    if isinstance(part, LoopedAverage):
        return [arrays[0][0].dtype for arrays in part.groups]
    return [next(iter(group.arrays.values()))[0].dtype for group in part.groups]


def _not_finite(names: Sequence[str], numbers: Sequence[float]) -> tuple[str, ...]:
    return tuple(n for n, x in zip(names, numbers, strict=True) if not math.isfinite(x))
