"""Results of regions in memory that is the caller's from then on: they need no copy."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from numpy.typing import NDArray

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.native import address

if TYPE_CHECKING:
    import numpy as np

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, FreshMemory, Step


def laid_over(arrays: Arrays, others: dict[Value, Array]) -> Arrays:
    """Arrays, some of them replaced, without a copy of what may be those of a whole plan."""
    if not others:
        return arrays
    return ChainMap(others, cast("dict[Value, Array]", arrays))  # it is only read


class Given:
    """Some results of a task, each with the memory that it is given away in."""

    def __init__(self, memory: Mapping[Value, FreshMemory]) -> None:
        self._memory = memory
        self._like = {x: allocate(x, x.shape, NUMPY[x.dtype]) for x in memory}

    def among(self, arrays: Arrays) -> Arrays:
        """All arrays, with one that lies as each of the results will."""
        return laid_over(arrays, self._like)

    def writing(
        self,
        job: Step,
        frames: NDArray[np.int64],
        order: Sequence[Value],
        before: Sequence[Step],
        after: Sequence[Step],
    ) -> Step:
        """The step that does a job, and others before and after it, with the results in new memory
        each time: in frames (sheets, arrays, 2), whose arrays have this order.
        """
        numbers = {x: i for i, x in enumerate(order)}
        placed = [(memory, frames[:, numbers[x], 0]) for x, memory in self._memory.items()]
        known = [address(array) for array in self._like.values()]
        if not (placed or before or after):
            return job

        def run() -> None:
            new = [memory.renew() for memory, _ in placed]
            for i, (out, (_, places)) in enumerate(zip(new, placed, strict=True)):
                there = address(out)
                if there != known[i]:
                    places += there - known[i]
                    known[i] = there
            for step in (*before, job):
                step()
            for out, (memory, _) in zip(new, placed, strict=True):
                memory.keep(out)
            for step in after:
                step()

        return run
