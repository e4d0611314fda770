"""Executes requests: compiles them to plans, binds the leaves and runs; and prepared calls: arrays
in, arrays out, with almost no overhead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import FeedError, HeadError, Location, RunError
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.compiled import Compiled, Request, compile_request
from gradwire.runtime.engine.session.resident import Batches
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.engine.program import Leaf, Program
    from gradwire.runtime.engine.session.store import ValueStore


class Executor:
    """Runs requests for the programs of one diagram, and keeps their plans.

    With ``partial`` a block that fails is omitted together with everything that depends on it, and
    the rest runs again.
    """

    def __init__(
        self,
        store: ValueStore,
        engine: Engine,
        partial: bool,
        lock: AbstractContextManager[object],
    ) -> None:
        self.lock = lock
        """What calls of the session hold while they run."""
        self.problems: dict[str, Diagnostic] = {}
        """Why blocks were omitted from the last run, by path."""
        self._store = store
        self._engine = engine
        self.partial = partial
        """Whether blocks that fail are left out."""
        self._compiled: dict[tuple[int, Request, frozenset[Value]], Compiled] = {}

    def run(
        self,
        program: Program,
        request: Request,
        feeds: Mapping[str, Array],
        seeds: Mapping[PortPath, Array],
        step: int | None = None,
    ) -> Compiled:
        """Run a request; raises HeadError, FeedError, or RunError with the failing block.

        ``step`` is the step number to run for, in place of the session's.
        """
        self.problems.clear()
        omitted: frozenset[Value] = frozenset()
        while True:
            try:
                compiled = self._plan(program, request, omitted)
                missing = self._bind(program, compiled, feeds, seeds)
                compiled.count(self._store.step_number if step is None else step)
                if not missing:
                    compiled.plan.run()
                    return compiled
            except HeadError:
                raise
            except RunError as error:
                missing = self._omit(program, error)
                if omitted.issuperset(missing):
                    raise
            omitted |= frozenset(missing)

    def again(self, program: Program, compiled: Compiled) -> None:
        """Run a request without feeds and seeds once more; raises as ``run`` does."""
        if compiled.bound != self._store.version:
            self._bind(program, compiled, {}, {})
        compiled.count(self._store.step_number)
        try:
            compiled.plan.run()
        except RunError as error:
            self._omit(program, error)
            raise

    def _plan(self, program: Program, request: Request, omitted: frozenset[Value]) -> Compiled:
        key = id(program), request, omitted
        if key not in self._compiled:
            self._compiled[key] = compile_request(program, request, self._engine, omitted)
        return self._compiled[key]

    def _omit(self, program: Program, error: RunError) -> list[Value]:
        """The values of the block that failed; raises the error unless they can be omitted."""
        if error.location is None or error.location.block is None:
            raise error
        path = InstancePath(error.location.block)
        error.at(Location(program.instances[program.flat.in_first_step(path)].page))
        if not self.partial:
            raise error
        self.problems[path] = Diagnostic.from_error(error, "run-failed")
        return [value for value in program.trace.values if value.owner == path]

    def _bind(
        self,
        program: Program,
        compiled: Compiled,
        feeds: Mapping[str, Array],
        seeds: Mapping[PortPath, Array],
    ) -> list[Value]:
        """Fill the plan's leaves; returns those of inputs that have no value."""
        missing, drawn = [], False
        leaves: Mapping[str, Leaf] = compiled.leaves
        if compiled.bound is not None and not (feeds or seeds):
            changed = self._store.changed_since(compiled.bound)
            if changed is not None:
                leaves = {path: leaves[path] for path in changed if path in leaves}
        for path, leaf in leaves.items():
            if path in feeds:
                compiled.feed(leaf.value, feeds[path])
            elif (array := self._store.value(path, program.leaves[path])) is not None:
                compiled.bind(leaf.value, array)
                drawn = drawn or isinstance(leaf.source, Stream)
            else:
                self._report_unfed(program, path, leaf.value)
                missing.append(leaf.value)
        for head, seed in compiled.seeds.items():
            compiled.feed(seed, seeds[head])
        if not (feeds or seeds or missing or drawn):
            compiled.bound = self._store.version
        return missing

    def snapshot(
        self,
        program: Program,
        feeds: Mapping[str, Array],
        every: bool,
        before: Mapping[str, Array] | None = None,
        since: int = 0,
    ) -> dict[str, Array]:
        """What leaves are bound to now, by path; raises FeedError if ``every`` one needs a value
        and one has none. ``before`` is what they were bound to at the version ``since``.
        """
        found: dict[str, Array] = {}
        leaves: Mapping[str, Leaf] = program.leaves
        changed = self._store.changed_since(since) if before else None
        if changed is not None:
            found |= before or {}
            leaves = {path: leaves[path] for path in changed if path in leaves}
        for path, leaf in leaves.items():
            array = feeds.get(path)
            if array is None:
                array = self._store.value(path, leaf)
            if array is not None:
                found[path] = array
            elif every:
                raise _unfed(program, path, leaf.value)
            else:
                found.pop(path, None)
        return found

    def _report_unfed(self, program: Program, path: str, value: Value) -> None:
        """Record the problem in a partial session, else raise it."""
        error = _unfed(program, path, value)
        if not self.partial:
            raise error
        self.problems[path] = Diagnostic.from_error(error, "not-fed")


def _unfed(program: Program, path: str, value: Value) -> FeedError:
    return FeedError(
        "This input has no value and was not fed.",
        location=Location(program.instances[InstancePath(path)].page, path),
        expected=f"an array of {value.dtype}, shape {list(value.shape)}",
        next_step="Feed it, or give the block a value.",
    )


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
