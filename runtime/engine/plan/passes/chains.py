"""Chains of additions. Long ones are one sum in the same order.

Parts of an array are added where they belong, in place of whole arrays of zeros around them: the
gradient of a slice is a whole array that is 0 outside the slice. Where a value is sliced many
times, as by the steps of a recurrent network, each element gets its parts in the same order as in
the chain of additions.

If most of such an array is the slice, as in the gradient of a stencil, it needs no memory of its
own: the slice is computed within a margin of zeros, and each such array is a view that reaches into
the margin. Then the sum of many is an elementwise region like others, in one loop.

Results are equal bit for bit, but for the sign of 0 in sums of parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.runtime.calculus.dtypes import FLOATS, NUMPY
from gradwire.runtime.calculus.primitives.shape import EMBED, PERMUTE, SLICE
from gradwire.runtime.engine.plan.memory import Room, allocate
from gradwire.runtime.engine.plan.passes.elementwise.groups import in_order, stacked_values
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, placed, times

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
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


LEAST = 2
"""At least one element of so many of the whole is that of the slice."""


LARGE = 1 << 18
"""Elements from which memory also serves slices of other shapes: of each the margin is then filled
with zeros in every run.
"""


def margins(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Replace embedded slices of which sums consist, if they are most of the sum, and arrays that
    are padded for the sake of their neighbours.

    A compiler makes one loop of what reads them.
    """
    embeds = {t.value: t for t in tasks if isinstance(t, PlainTask) and _fits(t)}
    if not embeds:
        return tasks
    terms = {x for some, _ in find_chains(tasks, kept).values() for x in some}
    terms |= _neighbourhoods(tasks, embeds)
    of_source: dict[Value, list[PlainTask]] = defaultdict(list)
    for value, task in embeds.items():
        if value in terms and value not in kept:
            of_source[task.inputs[0]].append(task)
    found: dict[Value, Task] = {}
    for some in of_source.values():
        found |= dict.fromkeys((task.value for task in some), MarginTask(some))
    return list(dict.fromkeys(found.get(task.values[0], task) for task in tasks))


def _neighbourhoods(tasks: Sequence[Task], embeds: Collection[Value]) -> set[Value]:
    """Those of some values of which slices are taken, and all that reads them is elementwise."""
    sliced: set[Value] = set()
    others: set[Value] = set()
    for task in tasks:
        for x in task.inputs:
            if x not in embeds:
                continue
            primitive = task.values[0].primitive
            if primitive is SLICE:
                sliced.add(x)
            elif not (isinstance(task, PlainTask) and primitive.elementwise):
                others.add(x)
    return sliced - others


def margins_shared(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Give memory to slices within margins: the last pass, as tasks must not change places. The
    same memory serves several, one after another.
    """
    waiting = [task for task in tasks if isinstance(task, MarginTask)]
    if not waiting:
        return tasks
    made, read = times(tasks, kept)
    free: dict[Hashable, list[tuple[int, Array]]] = defaultdict(list)
    for task in sorted(waiting, key=lambda task: made.get(task.inputs[0], 0)):
        begin = made.get(task.inputs[0], 0)
        end = max(read[x] for x in (*task.inputs, *task.values))
        margin = task.margin
        task.is_filled = prod(margin.shape) >= LARGE
        spare = free[margin.dtype if task.is_filled else margin]
        fits = [last < begin and _holds(memory, margin) for last, memory in spare]
        memory = spare.pop(fits.index(True))[1] if any(fits) else _new(task)
        task.whole = memory[: prod(margin.shape)].reshape(margin.shape)
        spare.append((end, memory))
    return tasks


def _new(task: MarginTask) -> Array:
    """Zeros, up to a quarter more than it needs: slices grow from step to step, backward."""
    margin = task.margin
    size = prod(margin.shape)
    unit = 1 << max(0, size.bit_length() - 3) if task.is_filled else 1
    found = allocate(task.values[0], (-(-size // unit) * unit,), margin.dtype)
    found.fill(0)
    return found


def _holds(memory: Array, margin: Margin) -> bool:
    """Whether memory is large enough, and not far larger."""
    return prod(margin.shape) <= memory.size <= 2 * prod(margin.shape)


def _fits(task: PlainTask) -> bool:
    value = task.value
    if value.primitive is not EMBED or value.attributes["fill"] or value.dtype not in FLOATS:
        return False
    steps = {part.step for part in value.attributes["index"]}
    source = task.inputs[0]
    return steps <= {None, 1} and 0 < value.size <= LEAST * source.size


class Margin(NamedTuple):
    """Memory for a slice and zeros around it, and where the slice begins and how long it is."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    starts: tuple[int, ...]
    lengths: tuple[int, ...]


class MarginTask(Task):
    """Some embeddings of one slice, as views of it and the zeros around it."""

    writes_rows = True

    def __init__(self, embeds: Sequence[PlainTask]) -> None:
        self.inputs = (embeds[0].inputs[0],)
        self.values = [task.value for task in embeds]
        self._embeds = embeds
        self.whole: Array | None = None
        """Memory for all; None to copy."""
        self.is_filled = False
        """Whether others write to the margin between the runs."""
        source = self.inputs[0]
        before = [self._starts(value) for value in self.values]
        starts = tuple(map(max, *before, (0,) * len(source.shape)))
        after = [
            tuple(n - b - m for n, b, m in zip(value.shape, start, source.shape, strict=True))
            for value, start in zip(self.values, before, strict=True)
        ]
        ends = tuple(map(max, *after, (0,) * len(source.shape)))
        shape = tuple(b + n + a for b, n, a in zip(starts, source.shape, ends, strict=True))
        self.margin = Margin(shape, NUMPY[source.dtype], starts, source.shape)

    def _starts(self, value: Value) -> tuple[int, ...]:
        index: tuple[slice, ...] = value.attributes["index"]
        return tuple(
            part.indices(length)[0] for part, length in zip(index, value.shape, strict=True)
        )

    def rooms(self) -> Mapping[Value, Room]:
        """The slice within the margin, and what is embedded around it."""
        return {x: Room(None, place) for x, place in self._places().items()}

    def _places(self) -> dict[Value, Array]:
        if self.whole is None:
            return {}
        found = {self.inputs[0]: self._part(self.margin.starts, self.inputs[0])}
        for value in self.values:
            steps = zip(self.margin.starts, self._starts(value), strict=True)
            found[value] = self._part(tuple(a - b for a, b in steps), value)
        return found

    def _part(self, starts: Sequence[int], value: Value) -> Array:
        assert self.whole is not None, "it was given"
        return self.whole[tuple(slice(a, a + n) for a, n in zip(starts, value.shape, strict=True))]

    def bind(self, arrays: Arrays) -> list[Step]:
        """Nothing, or copies of what lies elsewhere."""
        places = self._places()
        if not places:
            return [step for task in self._embeds for step in task.bind(arrays)]
        (source,) = self.inputs
        steps = self._fills() if self.is_filled else []
        steps += placed(places[source], arrays[source])
        return steps + [x for v in self.values for x in placed(arrays[v], places[v])]

    def _fills(self) -> list[Step]:
        """Zeros before and after the slice along each axis."""
        assert self.whole is not None, "it was given"
        steps: list[Step] = []
        starts, lengths = self.margin.starts, self.inputs[0].shape
        for axis, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            for part in (slice(0, start), slice(start + length, None)):
                side = self.whole[(slice(None),) * axis + (part,)]
                steps += [partial(side.fill, 0)] if side.size else []
        return steps


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
