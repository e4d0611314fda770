"""The NumPy engine: plans are lists of calls on arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime import extras
from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.norms import square_of
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.passes import DEFAULT
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.recording import Number

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from threadpoolctl import ThreadpoolController

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.passes import Pass
    from gradwire.runtime.engine.plan.recording import Recording
    from gradwire.runtime.engine.plan.tasks import Task


class ArrayUpdate:
    """Changes arrays in place as recorded, in as few sweeps as the passes find.

    ``arrays`` are contiguous, of one dimension, length and dtype of floats.
    """

    def __init__(
        self, recording: Recording, arrays: Sequence[Array], passes: Sequence[Pass]
    ) -> None:
        trace, dtype = Trace(), arrays[0].dtype
        leaves = [trace.apply(LEAF, shape=x.shape, dtype=dtype.name) for x in arrays]
        places = [x.place for x in recording.scalars if isinstance(x, Number)]
        self._numbers = np.zeros(1 + max(places, default=-1), dtype)
        given: dict[Value, Array] = dict(zip(leaves, arrays, strict=True))
        known: dict[Number, Value] = {}
        for place in places:
            leaf = known[Number(place)] = trace.apply(LEAF, shape=(), dtype=dtype.name)
            given[leaf] = self._numbers[place : place + 1].reshape(())
        scalars = [known[x] if isinstance(x, Number) else x for x in recording.scalars]
        written = recording.replayed(trace.xp, leaves, scalars)
        squares = square_of(written.get(0, leaves[0]))
        self._squares = np.zeros(())
        targets = [(value, arrays[place]) for place, value in written.items()]
        targets.append((squares, self._squares))
        self._plan = Plan([*written.values(), squares], passes, given, targets)

    def run(self, numbers: Sequence[float]) -> float:
        """Make the update with these numbers, for those that were not known when it was recorded.

        Returns the sum of the squares of the first array after it.
        """
        self._numbers[:] = numbers[: self._numbers.size]
        self._plan.run()
        return self._squares.item()


MOST_THREADS = 1024
"""Threads that an engine may be given."""


FEW = 1 << 10
"""Elements of all arrays below which no matrix product is worth threads; limiting takes longer."""


class NumpyEngine:
    """Plans with these passes; see ``gradwire.runtime.engine.plan.passes``.

    ``count`` is the number of threads of its own and of NumPy's matrix products; None for those of
    the process. Raises RunError if the package that limits those of products is missing.
    """

    name = "numpy"
    device = "cpu"
    updates_in_place = True

    def __init__(self, passes: Sequence[Pass] = DEFAULT, count: int | None = None) -> None:
        self.passes = tuple(passes)
        self.count = count
        if count is not None:
            _products()

    def unfit(self, values: Sequence[Value]) -> None:
        """It computes everything."""

    def plan(
        self,
        outputs: Sequence[Value],
        leaves: Mapping[Value, Array] | None = None,
        places: Sequence[tuple[Value, Array]] = (),
        *,
        rows: Collection[Value] = (),
        sparse: Collection[Value] = (),
    ) -> Plan:
        """Plan some values; see ``Plan`` for arrays of the caller, and for what is ``sparse``.
        ``rows`` make no difference.
        """
        how = outputs, self.passes, leaves, places, sparse
        if self.count is None:
            return Plan(*how)
        context = copy_context()
        context.run(threads.own, self.count)
        return context.run(_LimitedPlan, self.count, *how)

    def update(self, recording: Recording, arrays: Sequence[Array]) -> ArrayUpdate:
        """Plan recorded arithmetic that changes arrays in place."""
        context = copy_context()
        if self.count is not None:
            context.run(threads.own, self.count)
        return context.run(ArrayUpdate, recording, arrays, self.passes)


class _LimitedPlan(Plan):
    """A plan in which matrix products of the library take at most a number of threads; its own
    follow the context.
    """

    def __init__(self, count: int, *how: Any) -> None:
        super().__init__(*how)
        # Threads of the library go on waiting for work on processors that those of machine code
        # want; what machine code leaves to the library is not worth several threads.
        is_native = any(task.divides_products for _, task in self.parts)
        self._count = 1 if is_native else count
        tasks = [task for _, task in self.parts]
        is_large = any(x.size >= FEW for task in tasks for x in (*task.covers, *task.inputs))
        self._is_limited = is_large and not all(map(_never_multiplies, tasks))

    def run(self) -> None:
        if not self._is_limited:
            super().run()
            return
        with _products().limit(limits=self._count, user_api="blas"):
            super().run()


def _never_multiplies(task: Task) -> bool:
    """Whether a task calls no library of products, also where it is left to NumPy."""
    return all(x.primitive.elementwise or x.primitive.view for x in task.covers)


@cache
def _products() -> ThreadpoolController:
    """What sets the threads of NumPy's matrix products; finding them takes milliseconds."""
    extras.require("threadpoolctl", "A given number of threads")
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
