"""What trains a session's program: it follows what is set there, and moves variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FeedError, Location
from gradwire.runtime.engine.compiled import Derived, Request, derive
from gradwire.runtime.engine.session import lookup
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.data.rows import Phase
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.engine import Writer
    from gradwire.runtime.engine.program import Leaf, Program
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
