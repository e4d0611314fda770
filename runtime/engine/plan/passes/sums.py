"""Replaces long chains of additions by one sum in the same order: equal bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.shape import PERMUTE, SLICE
from gradwire.runtime.engine.plan.passes.chains import find_chains
from gradwire.runtime.engine.plan.passes.elementwise.groups import in_order, stacked_values
from gradwire.runtime.engine.plan.passes.margins import MarginTask
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

SHORTEST = 8
"""Terms from which one sum is faster than additions one by one."""

LARGEST = 4096
"""Elements up to which copying the terms into one array is worthwhile."""

FEWEST_OF_OTHERS, LARGEST_OF_OTHERS = 24, 1024
"""Terms from which, and elements up to which, one sum is faster than machine code that adds."""

MOST_ROWS = 65
"""Rows from which the pass ``short`` compiles the additions, which is faster."""

FEWEST_SCALARS = 256
"""Terms of rank 0 from which a sum is faster than a region of Python floats."""


def sums(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace each chain ``((a + b) + c) + …`` of equal shapes whose partial sums nothing reads."""
    return _replaced(tasks, kept, lambda terms: True)


def sums_of_others(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """As ``sums``, where machine code follows: that adds in one loop too, which is as fast for a
    few terms, and faster for rows of ``MOST_ROWS`` or more. Only many small terms that lie in
    memory already, as parts of other arrays, are added faster at once; to write terms side by side
    takes longer than their sum gains.
    """
    made = {x for task in tasks if not _is_view(task) for x in task.values}

    def pays(terms: Sequence[Value]) -> bool:
        if len(terms) < FEWEST_OF_OTHERS or terms[0].size > LARGEST_OF_OTHERS:
            return False
        if len(terms) >= MOST_ROWS and 2 * sum(map(_is_row, terms)) > len(terms):
            return False
        return 2 * sum(x in made for x in terms) <= len(terms)

    return _replaced(tasks, kept, pays)


def _is_row(value: Value) -> bool:
    """Whether the elements of a part of another array follow each other in memory."""
    while value.primitive.view:
        above = value.inputs[0]
        if value.primitive is PERMUTE or (
            value.primitive is SLICE and value.shape[-1:] != above.shape[-1:]
        ):
            return False
        value = above
    return True


def _is_view(task: Task) -> bool:
    return isinstance(task, PlainTask) and task.value.primitive.view


def _replaced(
    tasks: list[Task], kept: Collection[Value], pays: Callable[[Sequence[Value]], bool]
) -> list[Task]:
    """The tasks with sums of chains in their place, where that pays for the terms."""
    if sum(task.values[0].primitive.name == "add" for task in tasks) < SHORTEST - 1:
        return tasks
    shifted = {x for task in tasks if isinstance(task, MarginTask) for x in task.values}
    sums: dict[Value, SumTask] = {}
    dropped: set[Value] = set()
    for end, (terms, links) in find_chains(tasks, kept).items():
        if end.size > LARGEST or end.dtype == "float16":
            continue
        if not shifted.isdisjoint(terms):  # one loop with what is around it
            continue
        if len(terms) >= (SHORTEST if end.shape else FEWEST_SCALARS) and pays(terms):
            sums[end] = SumTask(end, terms, links)
            dropped.update(links[:-1])
    return [sums.get(t.values[0], t) for t in tasks if t.values[0] not in dropped]


class SumTask(Task):
    """Computes one value as the sum of many."""

    def __init__(self, value: Value, terms: Sequence[Value], links: Sequence[Value]) -> None:
        self.values = (value,)
        self.inputs = terms
        self._links = links

    @property
    def covers(self) -> Sequence[Value]:
        """The partial sums and the sum."""
        return self._links

    def bind(self, arrays: Arrays) -> list[Step]:
        """Stack the terms, and add along the new axis, in order."""
        steps, terms = stacked_values(self.inputs, arrays)
        out = arrays[self.values[0]]
        if out.size > 1:
            if not in_order(terms):
                copied = np.empty(terms.shape, terms.dtype)
                steps.append(partial(np.copyto, copied, terms))
                terms = copied

            def add() -> None:
                np.add.reduce(terms, axis=0, out=out)
        else:
            # A reduction to one element would add pairwise.
            def add() -> None:
                out[...] = np.add.accumulate(terms, axis=0, dtype=out.dtype)[-1]

        return [*steps, add]
