"""Optimisers and averages whose state is in the memory of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.runtime.engine.plan.recording import Recording, record
from gradwire.runtime.training.iterations.averages import is_divided, work_of
from gradwire.runtime.training.iterations.protocols import Sizes
from gradwire.runtime.training.iterations.staging import Pass, leaf
from gradwire.runtime.training.optimisers import rate
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.records import OptimiserRecord

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.diagram.training import Average
    from gradwire.runtime.engine.session.resident import Looped
    from gradwire.runtime.training.iterations.flat_buffers import VariableSpec
    from gradwire.runtime.training.recipe import ResolvedRule


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
        members: dict[Any, list[str]] = {}
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
