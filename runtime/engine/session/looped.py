"""Loops that train a session's program on its engine, where variables stay between the calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.values import Array
from gradwire.runtime.engine.compiled import rows_of
from gradwire.runtime.engine.session.updating import Updating

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.data.rows import Stream
    from gradwire.runtime.engine.engine import Loop, LoopingEngine, LoopPhase
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.store import ValueStore


class Looped(Updating):
    """The memory of an engine in which variables move, and loops on it; see ``Session.looped``.

    First ``derive`` all requests, then ``settle`` the variables that stages write, then make loops.
    """

    def __init__(
        self,
        program: Program,
        store: ValueStore,
        engine: LoopingEngine,
        lock: AbstractContextManager[object],
    ) -> None:
        super().__init__(program, store, lock)
        self._engine = engine
        self.memory = engine.memory(rows=rows_of(program))
        """Where leaves are."""
        self._leaves: set[Value] = set()
        self._streams: dict[Value, Stream] = {}

    def settle(self, paths: Sequence[str]) -> None:
        """The variables that move from now on."""
        self._moving = _Read(self, paths)
        self._leaves |= {self.program.leaves[path].value for path in paths}

    def loop(self, stages: Sequence[LoopPhase]) -> Loop:
        """A loop of stages, which may write the variables and leaves that the caller adds."""
        loop = self._engine.loop(stages, self.memory)
        if not self._leaves.issuperset(loop.leaves):
            self._leaves |= set(loop.leaves)
            self._version = -1
        return loop

    def refresh(self) -> None:
        """Write the session's values into the leaves, if any was set.

        Raises FeedError for an input without a value.
        """
        if self.is_current:
            return
        leaves, streams = self._leaves_among(self._leaves), self.changing()
        still = {path: leaf for path, leaf in leaves.items() if leaf.value not in streams}
        self._read(still, self.memory.writer).fill(self._store.step_number)

    def changing(self) -> dict[Value, Stream]:
        """The leaves of data sets that get other rows at each step."""
        return {
            self.program.leaves[path].value: stream
            for path, stream in self.program.streams().items()
            if path in self.program.leaves
            and path not in self._store.assigned
            and stream.changes(self._phase)
        }

    def batches(self, stream: Stream, steps: Sequence[int]) -> Array:
        """The rows of a data set at some steps, along a new axis 0."""
        return np.stack([stream.batch(step, self._phase) for step in steps])


class _Read(Mapping[str, Array]):
    """Variables as they are in the memory of a loop, read when they are asked for."""

    def __init__(self, looped: Looped, paths: Sequence[str]) -> None:
        self._looped = looped
        self._paths = dict.fromkeys(paths)

    def __getitem__(self, path: str) -> Array:
        if path not in self._paths:
            raise KeyError(path)
        looped = self._looped
        return looped.memory.read(looped.program.leaves[path].value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
