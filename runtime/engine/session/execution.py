"""Executes requests: compiles them to plans, binds the leaves and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.errors import FeedError, HeadError, Location, RunError
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.compiled import Compiled, Request, compile_request

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
