"""Recorded arithmetic on arrays that stay where they are, planned once for all its repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.norms import square_of
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.recording import Number

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.passes import Pass
    from gradwire.runtime.engine.plan.recording import Recording


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
