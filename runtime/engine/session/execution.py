"""Executes requests: compiles them to plans, binds the leaves to the values of a session's sources,
those that were set, and initial values, and runs; and prepared calls: arrays in, arrays out, with
almost no overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.block import Shape, Source
from gradwire.blocks.errors import FeedError, HeadError, Location, RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.values import Tensor, fitted
from gradwire.runtime.data.rows import Phase, Stream
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.compiled import Compiled, Request, compile_request
from gradwire.runtime.engine.plan.memory import machine_bytes, not_enough
from gradwire.runtime.engine.session.resident import Batches
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array, PortLiteral
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.engine.program import Leaf, Program


_DRAWN = 20
"""Bytes for an element while numbers are drawn: two of float64 and one of float32."""


class ValueStore:
    """Values by path of the source, in the source's dtype and an allowed shape."""

    def __init__(self, sources: Mapping[str, Source | Stream]) -> None:
        self.sources = sources
        self._assigned: dict[str, Array] = {}
        self._followed: Mapping[str, Array] = {}
        self._behind = False
        self.version = 0
        """Incremented whenever a value may have changed."""
        self.shapes_version = 0
        """Incremented whenever what was set may have other shapes, or names."""
        self.step_number = 0
        self.phase: Phase = "training"
        """The rows that data sets give: those for training, or those for validation."""
        self._initial: dict[str, dict[Shape, Array | None]] = {}
        self._changes: dict[str, int] = {}
        """The versions at which single values changed last, the newest at the end."""
        self._all_changed = 0
        """The version at which any number of them changed last."""

    @property
    def assigned(self) -> dict[str, Array]:
        """Values that were set or trained; they override those in the diagram. Nobody modifies the
        arrays.
        """
        self._catch_up()
        return self._assigned

    def set(self, name: str, value: ArrayLike) -> None:
        """Assign a value; raises FeedError."""
        before = self.assigned.get(name)
        new = _copied(value, before)
        self._assign(name, before, self.convert(name, value) if new is None else new)

    def adopt(self, name: str, array: Array) -> None:
        """Assign an array that the caller has made for this, of the source's dtype and shape."""
        array.setflags(write=False)
        self._assign(name, self.assigned.get(name), array)

    def _assign(self, name: str, before: Array | None, new: Array) -> None:
        if before is None or before.shape != new.shape:
            self.shapes_version += 1
        self.assigned[name] = new
        self._changed([name])

    def follow(self, arrays: Mapping[str, Array]) -> None:
        """Values that are updated in place from now on, by path: copied when they are read after
        ``moved`` was called, so that hundreds of updates between two readings cost nothing.
        """
        if arrays is not self._followed:
            self._catch_up()
            self._followed = arrays
            self.shapes_version += 1

    def _catch_up(self) -> None:
        if self._behind:
            self._assigned |= {path: array.copy() for path, array in self._followed.items()}
            self._behind = False

    def moved(self) -> None:
        """The followed values have new numbers."""
        self._behind = True
        self.version += 1
        self._all_changed = self.version

    def rebind(self, sources: Mapping[str, Source | Stream], changed: Collection[str]) -> None:
        """Replace the sources, and discard the values of leaves whose numbers changed."""
        self.sources = sources
        for path in changed:
            self.assigned.pop(path, None)
            self._initial.pop(path, None)
        self.shapes_version += 1
        self._changed(changed)

    def _changed(self, paths: Iterable[str]) -> None:
        self.version += 1
        for path in paths:
            self._changes.pop(path, None)
            self._changes[path] = self.version

    def changed_since(self, version: int) -> list[str] | None:
        """The paths of the values that may have changed since a version; None for all."""
        if version < self._all_changed:
            return None
        newest = takewhile(lambda change: change[1] > version, reversed(self._changes.items()))
        return [path for path, _ in newest]

    def convert(self, name: str, value: ArrayLike) -> Array:
        """The value as an array of its source's dtype; raises FeedError if it doesn't fit."""
        source = self.source(name)
        try:
            array = fitted(Tensor(value), source.leaf_dtype).array
        except (ValueError, TypeError) as error:
            raise FeedError(
                f"The value can't be used: {error}.",
                location=Location(block=name),
                expected=f"numbers of {source.leaf_dtype}",
            ) from error
        self.check_shape(name, array.shape)
        return array

    def convert_all(
        self, feeds: Mapping[str, ArrayLike], canonical: Callable[[str], str]
    ) -> dict[str, Array]:
        """Feeds as arrays, by canonical path; raises FeedError as ``convert``, and for two of one.

        A variable that uses of a page share has several paths, but takes one value.
        """
        fed: dict[str, Array] = {}
        for name, value in feeds.items():
            path = canonical(name)
            if path in fed:
                raise FeedError(
                    f"{name} is fed twice.",
                    location=Location(block=name),
                    expected="one value for a variable that uses of a page share",
                    next_step="Feed it under only one of its paths.",
                )
            fed[path] = self.convert(path, value)
        return fed

    def check_shape(self, name: str, shape: Shape) -> None:
        """Raise FeedError if the source can't have this shape."""
        allowed = self.source(name).open_shape
        if allowed is None:
            return
        if len(allowed) != len(shape) or any(
            n not in (None, m) for n, m in zip(allowed, shape, strict=True)
        ):
            raise FeedError(
                "The value has the wrong shape.",
                location=Location(block=name),
                expected=f"[{', '.join('any' if n is None else str(n) for n in allowed)}]",
                got=str(list(shape)),
            )

    def value(self, path: str, leaf: Leaf) -> Array | None:
        """The value of a leaf that is not fed: of a data set the batch of this step and phase.

        Initial values are computed once per shape. An array that is returned again is unchanged.
        """
        assigned = self.assigned
        if path in assigned:
            return assigned[path]
        if isinstance(leaf.source, Stream):
            return leaf.source.batch(self.step_number, self.phase)
        initial, shape = self._initial.setdefault(path, {}), leaf.value.shape
        if shape not in initial:
            source = leaf.source
            data = _initial_of(source, leaf.value, path)
            initial[shape] = None if data is None else np.asarray(data)
        return initial[shape]

    def source(self, name: str) -> Source | Stream:
        """The source with this name; raises FeedError that suggests similar names."""
        try:
            return self.sources[name]
        except KeyError:
            raise FeedError(
                f"There is no variable, constant, input or data {name!r}.",
                expected="one of " + ", ".join(self.sources) if self.sources else None,
                next_step=did_you_mean(name, self.sources),
            ) from None


def _copied(value: ArrayLike, before: Array | None) -> Array | None:
    """An array to keep, of one with the dtype and shape of that before; None of anything else,
    which takes checks.
    """
    if before is None or type(value) is not np.ndarray:
        return None
    if value.dtype != before.dtype or value.shape != before.shape:
        return None
    copy = value.copy()
    copy.setflags(write=False)
    return copy


def _initial_of(source: Source | PortLiteral, value: Value, path: str) -> Array | None:
    """The initial array of a source; raises RunError if there is not enough memory for it."""
    if not isinstance(source, Source):
        return source.array
    needed = value.size * _DRAWN
    if needed > machine_bytes():
        raise not_enough(value, needed, ", while its numbers are drawn")
    try:
        return source.data(value.shape, path)
    except MemoryError:
        raise not_enough(value) from None


def shapes_of(arrays: Mapping[str, Array]) -> dict[str, Shape]:
    """The shapes of arrays, by the same names."""
    return {name: array.shape for name, array in arrays.items()}


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
