"""Iterations of one form as those of a loop: its stages, their rows, and their results."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import Array
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.plan.recording import Recording, record
from gradwire.runtime.training.iterations.averages import is_divided, work_of
from gradwire.runtime.training.iterations.protocols import Sizes
from gradwire.runtime.training.iterations.staging import (
    AverageUpdate,
    ParameterUpdates,
    Pass,
    Staging,
    leaf,
)
from gradwire.runtime.training.optimisers import rate
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.records import DivergedError, OptimiserRecord, StepRecord

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import Average
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.engine import LoopPhase
    from gradwire.runtime.engine.session.resident import Looped
    from gradwire.runtime.training.iterations.flat_buffers import VariableSpec
    from gradwire.runtime.training.recipe import ResolvedRule


# Optimisers and averages whose state is in the memory of an engine.


class ParameterGroup(NamedTuple):
    """Variables of one rate and dtype."""

    paths: Sequence[str]
    lr: float
    weight_decay: float
    arrays: Mapping[str, Sequence[Value]]
    """By variable: its leaf, and those of its state."""


class LoopedOptimiserStep:
    """One rule of a recipe; what it did last is filled in after each call of the loop."""

    def __init__(
        self,
        resolved: ResolvedRule,
        ports: Sequence[PortPath],
        looped: Looped,
        specs: Mapping[str, VariableSpec],
    ) -> None:
        self.rule = resolved.rule
        self.name = self.rule.name
        self.heads, self.ports = resolved.heads, tuple(ports)
        pending = looped.derive(self.heads, resolved.variables, (*self.heads, *ports))
        self.variables, self.missing = pending.connected, pending.missing
        """Those with a gradient, and those without one."""
        self.updates = 0
        """Updates since the start."""
        self.norm: float | None = None
        """The Euclidean norm of its last gradient before clipping; None without a gradient."""
        self._measured: tuple[Sequence[float], Sequence[float]] = (), ()
        self._looped = looped
        self._arithmetic = Arithmetic(self.rule.method)
        results = pending.derived.results
        gradients = {p: g for p, g in results["gradients"].items() if g is not None}
        values = looped.program.ports
        self.given = Pass(
            [values[head] for head in self.heads], [values[port] for port in ports], gradients
        )
        """What one of its passes computes."""
        self._slots: dict[str, Value] = {}
        self.groups = self._grouped(resolved, specs)
        self._sums: dict[str, Value] = {}
        self._lengths = [looped.program.leaves[path].value.size for path in self.variables]

    @property
    def sums(self) -> Mapping[str, Value]:
        """Leaves for the gradients of its variables between two stages."""
        trace = self._looped.program.trace
        for path in self.variables:
            if path not in self._sums:
                kept = self._sums[path] = leaf(trace, self.given.gradients[path])
                self._looped.memory.writer(kept)(np.zeros(kept.shape))
        return self._sums

    def recorded(self, count: int) -> list[Recording]:
        """What update number ``count`` (from 1 on) does to each group."""
        found = []
        for group in self.groups:
            lr, decay = rate(self.rule.schedule, group.lr, count - 1), group.weight_decay
            program = self._arithmetic.program(count, decay)
            found.append(program.recording.filled(program.numbers(count, lr, decay)))
        return found

    def report(self) -> OptimiserRecord:
        """What it did in the last iteration."""
        schedule, updates = self.rule.schedule, self.updates
        lr = rate(schedule, self.groups[0].lr, updates - 1) if updates and self.groups else 0.0
        return OptimiserRecord(lr, self.norm, self.missing, self.variables, updates)

    def take_flag(self) -> bool:
        """Numbers that are not finite show only in losses and gradients."""
        return False

    def measured(self, values: Sequence[float], gradients: Sequence[float]) -> None:
        """The sums of the squares of its variables and gradients after the last iteration."""
        self._measured = values, gradients

    def sizes(self) -> list[Sizes]:
        """The sizes of its variables and gradients."""
        full = [place for place, length in enumerate(self._lengths) if length]
        if not full:
            return []
        values, gradients = (np.array(sums)[full] for sums in self._measured)
        paths = [self.variables[place] for place in full]
        return [Sizes(paths, [self._lengths[place] for place in full], values, gradients)]

    def value(self, path: str) -> Array:
        """A copy of a variable as it is now."""
        return self._looped.memory.read(self._looped.program.leaves[path].value)

    def state(self) -> dict[str, Array]:
        """Copies of the optimiser's arrays, by slot and variable."""
        return {
            name: self._looped.memory.read(slot).reshape(-1) for name, slot in self._slots.items()
        }

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""
        self.updates = updates
        for name, slot in self._slots.items():
            self._looped.memory.writer(slot)(np.reshape(arrays[name], slot.shape))

    def _grouped(
        self, resolved: ResolvedRule, specs: Mapping[str, VariableSpec]
    ) -> list[ParameterGroup]:
        """The variables with a gradient, apart where rate, decay or dtype differ."""
        members: dict[tuple[float, float, np.dtype[np.generic]], list[str]] = {}
        for path in self.variables:
            members.setdefault((*resolved.numbers_of(path), specs[path].dtype), []).append(path)
        found = []
        for (lr, decay, _), paths in members.items():
            arrays = {path: self._with_state(path) for path in paths}
            found.append(ParameterGroup(paths, lr, decay, arrays))
        return found

    def _with_state(self, path: str) -> list[Value]:
        looped = self._looped
        own = looped.program.leaves[path].value
        found = [own]
        for name, array in self._arithmetic.slots(np.zeros(own.shape, own.dtype)).items():
            slot = self._slots[f"{name}/{path}"] = leaf(looped.program.trace, array)
            looped.memory.writer(slot)(array)
            found.append(slot)
        return found


class LoopedAverage:
    """One average of a recipe; see ``Averaging``."""

    def __init__(self, rule: Average, pairs: Sequence[tuple[str, str]], looped: Looped) -> None:
        self.rule = rule
        self.name = rule.name
        self.variables = [path for pair in pairs for path in pair]
        """Sources and targets."""
        self.updates = 0
        self._looped = looped
        self._raw: dict[str, Value] = {}
        leaves = looped.program.leaves
        groups: dict[str, list[Sequence[Value]]] = {}
        for source, target in pairs:
            arrays = [leaves[target].value, leaves[source].value]
            if is_divided(rule):
                raw = self._raw[target] = leaf(looped.program.trace, arrays[0])
                looped.memory.writer(raw)(np.zeros(raw.shape))
                arrays.append(raw)
            groups.setdefault(arrays[0].dtype, []).append(arrays)
        self.groups = list(groups.values())
        """By dtype, the leaves of each target: itself, its source, and what is averaged if it is
        divided.
        """

    def recorded(self, count: int) -> list[Recording]:
        """What update number ``count`` (from 1 on) does to each group."""
        work = work_of(self.rule, count)
        return [record(work, len(arrays[0]), 0) for arrays in self.groups]

    def state(self) -> dict[str, Array]:
        """Copies of what is divided before it becomes a target; nothing for other averages."""
        return {path: self._looped.memory.read(raw) for path, raw in self._raw.items()}

    def restore(self, arrays: Mapping[str, Array], updates: int) -> None:
        """Take over what ``state`` returned."""
        self.updates = updates
        for path, array in arrays.items():
            self._looped.memory.writer(self._raw[path])(array)


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
    def form(self) -> Hashable:
        """What decides the arithmetic: all but the scalars."""
        done = tuple((r.operations, tuple(r.written.items())) for r in self.recordings)
        return self.kind, self.part.name, done


class PlannedIteration(NamedTuple):
    """An iteration that is to be made."""

    number: int
    actions: Sequence[Action]
    form: Hashable
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
        self, plan: PlannedIteration, results: Sequence[Sequence[object]], session: Session
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
