"""Writes the batch of each step into the leaves of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.data.rows import Phase
    from gradwire.runtime.engine.engine import Writer
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.store import ValueStore


class Batches:
    """The leaves of data sets among some ``paths``, and what writes them.

    Leaves whose value was set in the session are not among them.
    """

    def __init__(
        self,
        program: Program,
        store: ValueStore,
        paths: Iterable[str],
        writer: Callable[[Value], Writer],
        phase: Phase,
    ) -> None:
        streams = program.streams()
        self.paths = {path for path in paths if path in streams and path not in store.assigned}
        """The leaves that ``fill`` fills."""
        self._phase = phase
        self._leaves = [(streams[p], writer(program.leaves[p].value)) for p in self.paths]
        self._filled: list[Array | None] = [None] * len(self._leaves)

    def fill(self, step: int) -> None:
        """Write the batches of a step, but those that are there; raises RunError as they do."""
        for i, (stream, write) in enumerate(self._leaves):
            batch = stream.batch(step, self._phase)
            if batch is not self._filled[i]:
                write(batch)
                self._filled[i] = batch
