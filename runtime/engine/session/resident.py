"""Plans that share their memory, for training: variables are updated where the plans read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.errors import FeedError, Location
from runtime.calculus.dtypes import NUMPY
from runtime.diagram.paths import PortPath
from runtime.engine.gc_pause import uncollected
from runtime.engine.plan import native
from runtime.engine.plan.compiled import Derived, Request, derive, plan_results
from runtime.engine.plan.passes import FAST
from runtime.engine.session import lookup
from runtime.engine.session.batches import Batches

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from runtime.calculus import Value
    from runtime.engine.plan.compiled import Compiled
    from runtime.engine.plan.passes import Pass
    from runtime.engine.program import Program
    from runtime.engine.session.store import Store

Array = NDArray[Any]


class Pending:
    """A request whose derivatives are known, but which is not planned yet."""

    def __init__(self, derived: Derived, wrt: Sequence[str]) -> None:
        self.derived = derived
        found = derived.results["gradients"]
        self.connected = tuple(name for name in wrt if found[name] is not None)
        """The variables that have a gradient."""
        self.missing = tuple(name for name in wrt if found[name] is None)
        """Those that no path connects to a head."""


class ResidentCall:
    """One planned request; each run leaves gradients in the arrays that were given for them."""

    def __init__(self, owner: Resident, compiled: Compiled) -> None:
        self.plan = compiled.plan
        self._owner = owner
        values = compiled.results["values"].items()
        self._values = {PortPath(port): value for port, value in values if value is not None}
        self._numbers = {
            port: array
            for port, value in self._values.items()
            if value.size == 1 and (array := self.plan.array(value)) is not None
        }

    def run(self) -> None:
        """Run for the session's step number; raises RunError if a block fails."""
        self._owner.set_step()
        self.plan.run()

    def total(self, port: PortPath) -> float:
        """The sum of a port's elements in the last run: what a head adds to the loss."""
        array = self._numbers.get(port)
        return (
            float(self._all(port).sum(dtype=np.float64)) if array is None else float(array.item())
        )

    def mean(self, port: PortPath) -> float:
        """The mean of a port's elements in the last run."""
        array = self._numbers.get(port)
        return (
            float(self._all(port).mean(dtype=np.float64)) if array is None else float(array.item())
        )

    def _all(self, port: PortPath) -> Array:
        return self.plan.read(self._values[port])


class Resident:
    """The plans of a session's program that share their leaves; see ``Session.resident``.

    First ``derive`` all requests, then ``settle`` the variables that will be updated, then ``plan``
    each request. Whoever writes to the arrays of variables calls ``moved`` afterwards, and
    ``refresh`` before the next run, which reads what was set in the session since. Data sets give
    the rows of the phase that the session was in when this was made.
    """

    def __init__(
        self,
        program: Program,
        store: Store,
        passes: Sequence[Pass],
        lock: AbstractContextManager[object],
    ) -> None:
        self.program = program
        self.lock = lock
        """What calls of the session hold; to be held while variables are updated."""
        self._store = store
        self._passes = passes
        self._leaves: dict[Value, Array] = {}
        self._moving: dict[str, Array] = {}
        self._bound: dict[str, Array] = {}
        self._version = -1
        self._phase = store.phase
        self._batches: Batches | None = None
        self._step: Array | None = None
        if program.trace.step is not None:
            self._step = np.zeros((), NUMPY[program.trace.step.dtype])
            self._leaves[program.trace.step] = self._step

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

    def settle(self, arrays: Mapping[str, Array]) -> None:
        """The arrays in which variables live from now on, by path."""
        self._moving = dict(arrays)
        self._leaves |= {self.program.leaves[path].value: a for path, a in arrays.items()}

    @uncollected()
    def plan(self, pending: Pending, gradients: Mapping[str, Array]) -> ResidentCall:
        """Plan a request that leaves gradients in these contiguous arrays, by variable."""
        compiled = plan_results(
            self.program, pending.derived, self._passes, self._leaves, gradients
        )
        self._leaves |= compiled.plan.leaves
        self._version = -1
        return ResidentCall(self, compiled)

    @property
    def compiles(self) -> bool:
        """Whether the session allows machine code, and there is a compiler."""
        return tuple(self._passes) == FAST and native.installed()

    @property
    def is_current(self) -> bool:
        """Whether nothing was set in the session since the last ``refresh`` or ``moved``."""
        return self._version == self._store.version

    def refresh(self) -> None:
        """Read the session's values, if any was set, as ``moved`` left them otherwise.

        Raises FeedError for an input without a value.
        """
        if self.is_current:
            return
        leaves = self.program.leaves.items()
        read = {path: leaf for path, leaf in leaves if leaf.value in self._leaves}
        self._batches = Batches(self.program, self._store, read, self._leaves, self._phase)
        for path, leaf in read.items():
            if path in self._batches.paths:
                continue
            array = self._store.value(path, leaf)
            if array is None:
                raise FeedError(
                    "This input has no value, so nothing can be trained.",
                    location=Location(block=path),
                    next_step="Set it in the session, or give the block a value.",
                )
            if path in self._moving or self._bound.get(path) is not array:
                np.copyto(self._leaves[leaf.value], array, casting="unsafe")
                self._bound[path] = array
        self._store.follow(self._moving)
        self._version = self._store.version

    def assigned(self) -> dict[str, Array]:
        """What was set in the session, by path, but for the variables that are updated here."""
        return {p: a for p, a in self._store.assigned.items() if p not in self._moving}

    def moved(self) -> None:
        """The variables have new numbers, which whoever asks the session reads from now on."""
        self._store.moved()
        self._version = self._store.version

    def set_step(self) -> None:
        """Let the next run count by the session's step number, and read the rows of that step."""
        if self._step is not None:
            self._step[...] = self._store.step_number
        if self._batches is not None:
            self._batches.fill(self._store.step_number)
