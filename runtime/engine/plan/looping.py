"""Loops of the NumPy engine: a plan for each stage, on leaves that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.engine import Stage
    from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine

Array = NDArray[Any]


class PlannedMemory:
    """Arrays of leaves, which plans read where they are; see
    ``gradwire.runtime.engine.engine.Memory``.
    """

    def __init__(self) -> None:
        self.arrays: dict[Value, Array] = {}

    def array(self, leaf: Value) -> Array:
        """The array of a leaf."""
        if leaf not in self.arrays:
            self.arrays[leaf] = np.zeros(leaf.shape, NUMPY[leaf.dtype])
        return self.arrays[leaf]

    def writer(self, leaf: Value) -> Callable[[Array], None]:
        """Copies an array into a leaf, cast to its dtype."""
        return partial(np.copyto, self.array(leaf), casting="unsafe")

    def read(self, leaf: Value) -> Array:
        """A copy of a leaf."""
        return self.array(leaf).copy()


class PlannedLoop:
    """Runs stages one after another; see ``gradwire.runtime.engine.engine.Loop``."""

    def __init__(self, engine: NumpyEngine, stages: Sequence[Stage], memory: PlannedMemory) -> None:
        self._stages = stages
        self._memory = memory
        self._written = [{**stage.writes, **stage.hands_on} for stage in stages]
        for stage, written in zip(stages, self._written, strict=True):
            for leaf in (*written, *stage.rows):
                memory.array(leaf)
        self._plans = []
        for stage, written in zip(stages, self._written, strict=True):
            plan = engine.plan([*written.values(), *stage.results], memory.arrays)
            memory.arrays |= plan.leaves
            self._plans.append(plan)
        given = {leaf for stage in stages for leaf in (*stage.rows, *stage.hands_on)}
        read = {leaf: None for plan in self._plans for leaf in plan.leaves}
        read |= {stage.guard: None for stage in stages if stage.guard is not None}
        read = {leaf: None for leaf in read if leaf not in given}
        self.leaves = list(read)
        """The leaves that must be in the memory before a run."""

    def start(self, rows: Sequence[Sequence[Array]]) -> Callable[[], list[list[Array]]]:
        """Make all iterations when the results are asked for; raises RunError as plans do."""
        return partial(self._run, rows)

    def _run(self, rows: Sequence[Sequence[Array]]) -> list[list[Array]]:
        count = max((len(array) for arrays in rows for array in arrays), default=1)
        found = [
            [
                np.zeros((count, stage.times, *value.shape), NUMPY[value.dtype])
                for value in stage.results
            ]
            for stage in self._stages
        ]
        for number in range(count):
            for place, stage in enumerate(self._stages):
                for time in range(stage.times):
                    now = [array[number, time, ...] for array in rows[place]]
                    self._once(place, now, [result[number, time, ...] for result in found[place]])
        return found

    def _once(self, place: int, rows: Sequence[Array], results: Sequence[Array]) -> None:
        stage, plan = self._stages[place], self._plans[place]
        if stage.guard is not None and not self._memory.array(stage.guard):
            return
        for leaf, array in zip(stage.rows, rows, strict=True):
            np.copyto(self._memory.array(leaf), array, casting="unsafe")
        plan.run()
        new = {leaf: plan.read(value) for leaf, value in self._written[place].items()}
        for value, result in zip(stage.results, results, strict=True):
            result[...] = plan.read(value)
        for leaf, array in new.items():
            np.copyto(self._memory.array(leaf), array)
