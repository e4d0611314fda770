"""Chains of additions; and sums of parts of an array, which are added where they belong, in place
of whole arrays of zeros around them.

The gradient of a slice is a whole array that is 0 outside the slice. Where a value is sliced many
times, as by the steps of a recurrent network, each element gets its parts in the same order as in
the chain of additions: equal bit for bit, but for the sign of 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.primitives.shape import EMBED
from gradwire.runtime.engine.plan.copies import placed
from gradwire.runtime.engine.plan.memory import Room
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value


def find_chains(
    tasks: Sequence[Task], kept: Collection[Value]
) -> dict[Value, tuple[list[Value], list[Value]]]:
    """The terms of each chain ``((a + b) + c) + …`` of equal shapes in order, and its sums, by the
    last of these; nothing else reads the others.
    """
    readers = Counter(x for task in tasks for x in task.inputs)
    adds = {t.value: t for t in tasks if isinstance(t, PlainTask) and _is_sum(t)}
    firsts = {t.inputs[0] for t in adds.values()}
    inner = {x for x in firsts & adds.keys() if readers[x] == 1 and x not in kept}
    return {end: _terms(end, adds, inner) for end in adds.keys() - inner}


def _is_sum(task: PlainTask) -> bool:
    value = task.value
    return value.primitive.name == "add" and all(x.shape == value.shape for x in task.inputs)


def _terms(
    end: Value, adds: dict[Value, PlainTask], inner: set[Value]
) -> tuple[list[Value], list[Value]]:
    terms, links = [], [end]
    first, second = adds[end].inputs
    while first in inner:
        terms.append(second)
        links.append(first)
        first, second = adds[first].inputs
    return [first, second, *reversed(terms)], links[::-1]


def parts(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace each sum whose terms are embedded parts, or parts and whole arrays."""
    embeds = {t.value: t for t in tasks if isinstance(t, PlainTask) and _is_part(t)}
    if not embeds:
        return tasks
    readers = Counter(x for task in tasks for x in task.inputs)
    found = {
        end: (terms, links)
        for end, (terms, links) in find_chains(tasks, kept).items()
        if any(x in embeds for x in terms)
    }
    placed = Counter(x for terms, _ in found.values() for x in terms if x in embeds)
    dropped = {x for x, times in placed.items() if readers[x] == times and x not in kept}
    dropped |= {x for _, links in found.values() for x in links[:-1]}
    sums = {end: PartsTask(terms, embeds, links) for end, (terms, links) in found.items()}
    return [sums.get(t.values[0], t) for t in tasks if t.values[0] not in dropped]


def _is_part(task: PlainTask) -> bool:
    value = task.value
    return value.primitive is EMBED and not value.attributes["fill"]


class PartsTask(Task):
    """One sum of ``terms``, some of them ``embeds``; ``links`` are the partial sums, and it."""

    writes_rows = True

    def __init__(
        self, terms: Sequence[Value], embeds: Mapping[Value, PlainTask], links: Sequence[Value]
    ) -> None:
        self.values = (links[-1],)
        self._links = links
        self._terms = terms
        self._embeds = {x: embeds[x] for x in terms if x in embeds}
        self.inputs = [embeds[x].inputs[0] if x in embeds else x for x in terms]

    @property
    def covers(self) -> Sequence[Value]:
        """The parts within zeros, the partial sums, and the sum."""
        return [*self._embeds, *self._links]

    def rooms(self) -> dict[Value, Room]:
        """The parts within the sum, if none overlaps another."""
        written = np.zeros(self.values[0].shape, bool)
        found: dict[Value, Room] = {}
        for term, source in zip(self._terms, self.inputs, strict=True):
            embed = self._embeds.get(term)
            index = embed.value.attributes["index"] if embed is not None else ...
            if embed is None or written[index].any() or source in found:
                return {}
            written[index] = True
            found[source] = Room(self.values[0], index)
        return found

    def bind(self, arrays: Arrays) -> list[Step]:
        """Zeros where parts leave a gap, and a copy or an addition for each term that is not in
        its place. If one is, the sum has memory of its own, whose gaps stay 0.
        """
        out = arrays[self.values[0]]
        everything = (slice(None),) * out.ndim
        steps: list[Step] = []
        written = np.zeros(out.shape, bool)
        has_gaps = is_own = False
        for term, source in zip(self._terms, self.inputs, strict=True):
            embed = self._embeds.get(term)
            place = everything if embed is None else embed.value.attributes["index"]
            target = out[place]
            if written[place].any():
                has_gaps |= not written[place].all()
                steps.append(partial(np.add, target, arrays[source], target))
            else:
                copies = placed(target, arrays[source])
                is_own |= not copies
                steps += copies
            written[place] = True
        has_gaps |= not written.all()
        if is_own:
            out[~written] = 0
            return steps
        return [partial(out.fill, 0), *steps] if has_gaps else steps
