"""Plans that share their memory: variables are updated where the plans read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.dtypes import FLOATS, NUMPY
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.compiled import wanted
from gradwire.runtime.engine.session.updating import Updating
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiled import Derived
    from gradwire.runtime.engine.plan.numpy_engine import ArrayUpdate, NumpyEngine
    from gradwire.runtime.engine.plan.plan import Plan
    from gradwire.runtime.engine.plan.recording import Recording
    from gradwire.runtime.engine.plan.sparse.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.store import ValueStore
    from gradwire.runtime.engine.session.updating import Batches, Pending


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
