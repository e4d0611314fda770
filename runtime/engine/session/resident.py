"""What trains a session's program: it follows what is set there, and moves variables, in loops on
an engine or by plans that read them where they are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import FeedError, Location
from gradwire.blocks.values import Array
from gradwire.runtime.calculus.dtypes import FLOATS, NUMPY
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.compiled import Derived, Request, derive, rows_of, wanted
from gradwire.runtime.engine.session import lookup
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.data.rows import Phase, Stream
    from gradwire.runtime.engine.engine import Loop, LoopingEngine, LoopPhase, Writer
    from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate, NumpyEngine
    from gradwire.runtime.engine.plan.plan import Plan
    from gradwire.runtime.engine.plan.recording import Recording
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Leaf, Program
    from gradwire.runtime.engine.session.execution import ValueStore


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


class Pending:
    """A request whose derivatives are known, but which is not planned yet."""

    def __init__(self, derived: Derived, wrt: Sequence[str]) -> None:
        self.derived = derived
        found = derived.results["gradients"]
        self.connected = tuple(name for name in wrt if found[name] is not None)
        """The variables that have a gradient."""
        self.missing = tuple(name for name in wrt if found[name] is None)
        """Those that no path connects to a head."""


class Updating:
    """Leaves of a program that follow a session, but for variables that are moved here.

    Data sets give the rows of the phase that the session was in when this was made. Whoever moves
    variables calls ``moved`` afterwards, and ``refresh`` before the next run, which reads what was
    set in the session since.
    """

    def __init__(
        self, program: Program, store: ValueStore, lock: AbstractContextManager[object]
    ) -> None:
        self.program = program
        self.lock = lock
        """What calls of the session hold; to be held while variables are updated."""
        self._store = store
        self._moving: Mapping[str, Array] = {}
        self._bound: dict[str, Array] = {}
        self._version = -1
        self._phase = store.phase

    @uncollected()
    def derive(
        self, heads: Sequence[PortPath], wrt: Sequence[str], ports: Sequence[PortPath]
    ) -> Pending:
        """A request for values of ports, and gradients of the sum of the heads by variables.

        Raises HeadError, NotRunnableError.
        """
        lookup.traced_ports(self.program, (*heads, *ports))
        return Pending(
            derive(self.program, Request(tuple(ports), tuple(heads), wrt=tuple(wrt))), wrt
        )

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or ``moved``."""
        return self._version == self._store.version

    @property
    def step_number(self) -> int:
        """The session's step number."""
        return self._store.step_number

    def assigned(self) -> dict[str, Array]:
        """What was set in the session, by path, but for the variables that are updated here."""
        return {p: a for p, a in self._store.assigned.items() if p not in self._moving}

    def moved(self) -> None:
        """The variables have new numbers, which whoever asks the session reads from now on."""
        self._store.moved()
        self._version = self._store.version

    def _read(self, leaves: Mapping[str, Leaf], writer: Callable[[Value], Writer]) -> Batches:
        """Write what is new in the session into these leaves; returns those of data sets.

        Raises FeedError for an input without a value.
        """
        batches = Batches(self.program, self._store, leaves, writer, self._phase)
        for path, leaf in leaves.items():
            if path in batches.paths:
                continue
            array = self._store.value(path, leaf)
            if array is None:
                raise FeedError(
                    "This input has no value, so nothing can be trained.",
                    location=Location(block=path),
                    next_step="Set it in the session, or give the block a value.",
                )
            if path in self._moving or self._bound.get(path) is not array:
                writer(leaf.value)(array)
                self._bound[path] = array
        self._store.follow(self._moving)
        self._version = self._store.version
        return batches

    def _leaves_among(self, leaves: Collection[Value]) -> dict[str, Leaf]:
        """The leaves of the program that are among some, by path."""
        return {p: leaf for p, leaf in self.program.leaves.items() if leaf.value in leaves}


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


class ResidentCall:
    """One planned request; each run leaves gradients in the arrays that were given for them."""

    def __init__(self, owner: Resident, plan: Plan, derived: Derived) -> None:
        self.plan = plan
        self._owner = owner
        gradients = derived.results["gradients"].items()
        self._gradients = {name: value for name, value in gradients if value is not None}
        values = derived.results["values"].items()
        self._values = {PortPath(port): value for port, value in values if value is not None}

    def run(self) -> None:
        """Run for the session's step number; raises RunError if a block fails."""
        self._owner.set_step()
        self.plan.run()

    def rows(self, table: str) -> SparseRows:
        """The gradient of a table in the last run."""
        return self.plan.rows(self._gradients[table])

    def total(self, port: PortPath) -> Callable[[], float]:
        """Returns the sum of a port's elements in the last run: what a head adds to the loss."""
        return self._number(port, np.sum)

    def mean(self, port: PortPath) -> Callable[[], float]:
        """Returns the mean of a port's elements in the last run."""
        return self._number(port, np.mean)

    def _number(self, port: PortPath, reduce: Callable[..., Any]) -> Callable[[], float]:
        value, plan = self._values[port], self.plan
        array = plan.array(value)
        if value.size == 1 and array is not None and value.dtype in FLOATS:
            return array.item
        return lambda: float(reduce(plan.read(value), dtype=np.float64))


class Resident(Updating):
    """The plans of a session's program that share their leaves; see ``Session.resident``.

    First ``derive`` all requests, then ``settle`` the variables that will be updated, then ``plan``
    each request.
    """

    def __init__(
        self,
        program: Program,
        store: ValueStore,
        engine: NumpyEngine,
        lock: AbstractContextManager[object],
    ) -> None:
        super().__init__(program, store, lock)
        self._engine = engine
        self._leaves: dict[Value, Array] = {}
        self._batches: Batches | None = None
        self._step: Array | None = None
        if program.trace.step is not None:
            self._step = np.zeros((), NUMPY[program.trace.step.dtype])
            self._leaves[program.trace.step] = self._step

    def settle(self, arrays: Mapping[str, Array]) -> None:
        """The arrays in which variables live from now on, by path."""
        self._moving = dict(arrays)
        self._leaves |= {self.program.leaves[path].value: a for path, a in arrays.items()}

    @uncollected()
    def plan(
        self, pending: Pending, gradients: Mapping[str, Array], tables: Collection[str] = ()
    ) -> ResidentCall:
        """Plan a request that leaves gradients in these contiguous arrays, by variable; those of
        ``tables`` have a form, and are kept as rows.
        """
        results = pending.derived.results
        places = [
            (value, gradients[name])
            for name, value in results["gradients"].items()
            if value is not None and name in gradients
        ]
        found = results["gradients"].items()
        sparse = [value for name, value in found if value is not None and name in tables]
        plan = self._engine.plan(wanted(results), self._leaves, places, sparse=sparse)
        self._leaves |= plan.leaves
        self._version = -1
        return ResidentCall(self, plan, pending.derived)

    @uncollected()
    def update(self, recording: Recording, arrays: Sequence[Array]) -> ArrayUpdate:
        """Plan recorded arithmetic that changes arrays in place; see ``ArrayUpdate``."""
        return self._engine.update(recording, arrays)

    def refresh(self) -> None:
        """Read the session's values, if any was set, as ``moved`` left them otherwise.

        Raises FeedError for an input without a value.
        """
        if not self.is_current:
            self._batches = self._read(self._leaves_among(self._leaves), self._writer)

    def set_step(self) -> None:
        """Let the next run count by the session's step number, and read the rows of that step."""
        if self._step is not None:
            self._step[...] = self._store.step_number
        if self._batches is not None:
            self._batches.fill(self._store.step_number)

    def _writer(self, leaf: Value) -> Callable[[Array], None]:
        return partial(np.copyto, self._leaves[leaf], casting="unsafe")
