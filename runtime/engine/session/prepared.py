"""Prepared calls: arrays in, arrays out, with almost no overhead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import FeedError, Location
from gradwire.runtime.engine.session.resident import Batches
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.compiled import Compiled
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.store import ValueStore


class Prepared:
    """``call(*feeds)`` returns the arrays named by ``results``, in order; see Session.prepare.

    Feeds must have the shapes for which the call was prepared, and data sets give batches of the
    phase in which it was. A gradient is None if no path connects. The results are new arrays, or
    SparseRows where the call was prepared for them. Thread-safe: calls wait for each other.
    """

    @uncollected()
    def __init__(
        self,
        program: Program,
        compiled: Compiled,
        store: ValueStore,
        feeds: Sequence[str],
        lock: AbstractContextManager[object],
    ) -> None:
        results = [*compiled.readers("values").items(), *compiled.readers("gradients").items()]
        self.feeds = tuple(feeds)
        self.results = tuple(name for name, _ in results)
        self.plan = compiled.plan
        """The plan that calls run."""
        self._store = store
        self._lock = lock
        self._version = -1
        fed = {program.leaves[name].value for name in feeds}
        self._program = program
        self._not_fed = [path for path, leaf in compiled.leaves.items() if leaf.value not in fed]
        self._phase = store.phase
        self._batches: Batches | None = None
        self._fed = [program.leaves[name].value for name in feeds]
        writers = {leaf: self.plan.writer(leaf) for leaf in self.plan.leaves}
        self._writers = [writers.get(leaf) for leaf in self._fed]
        self._readers = [reader or _read_none for _, reader in results]
        step = program.trace.step
        self._step = writers.get(step) if step is not None else None

    def __call__(self, *feeds: ArrayLike) -> tuple[Array | None, ...]:
        """Run once; raises FeedError if a feed doesn't fit, RunError if a block fails."""
        with self._lock:
            if self._version != self._store.version:
                self._bind()
            if feeds or self.feeds:
                self._feed(feeds)
            if self._step is not None:
                self._step(np.asarray(self._store.step_number))
            if self._batches is not None:
                self._batches.fill(self._store.step_number)
            self.plan.run()
            return tuple([read() for read in self._readers])

    def _bind(self) -> None:
        """Copy the session's values to the leaves of the plan."""
        writer, leaves = self.plan.writer, self._program.leaves
        self._batches = Batches(self._program, self._store, self._not_fed, writer, self._phase)
        for path in self._not_fed:
            if path in self._batches.paths:
                continue
            leaf = leaves[path]
            array = self._store.value(path, leaf)
            if array is None:
                raise FeedError(
                    "This input has no value and is not among the feeds.",
                    location=Location(block=path),
                    next_step="Name it in feeds, or give the block a value.",
                )
            writer(leaf.value)(array)
        self._version = self._store.version

    def _feed(self, feeds: tuple[ArrayLike, ...]) -> None:
        if len(feeds) != len(self.feeds):
            raise FeedError(
                "The call needs one array for each feed.",
                expected=f"{len(self.feeds)} ({', '.join(self.feeds)})",
                got=str(len(feeds)),
            )
        for name, leaf, write, feed in zip(
            self.feeds, self._fed, self._writers, feeds, strict=True
        ):
            if write is None:
                continue
            array = np.asarray(feed)
            if array.shape != leaf.shape or not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
                raise FeedError(
                    "The feed doesn't have the shape or dtype for which the call was prepared.",
                    location=Location(block=name),
                    expected=f"{leaf.dtype} of shape {list(leaf.shape)}",
                    got=f"{array.dtype} of shape {list(array.shape)}",
                    next_step="Prepare another call for this shape.",
                )
            write(array)


def _read_none() -> None:
    """Reader of a result that no path connects."""
