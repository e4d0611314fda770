"""Leaves zeros around arrays whose shifted copies are added, as in the gradient of a stencil.

The gradient of a slice is a whole array that is 0 outside the slice. If most of it is the slice,
it needs no memory of its own: the slice is computed within a margin of zeros, and each such array
is a view that reaches into the margin. Then the sum of many is an elementwise region like others,
in one loop. Results are equal bit for bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.runtime.calculus.dtypes import FLOATS, NUMPY
from gradwire.runtime.calculus.primitives.shape import EMBED, SLICE
from gradwire.runtime.engine.plan.allocation import allocate
from gradwire.runtime.engine.plan.copies import placed
from gradwire.runtime.engine.plan.memory import Room
from gradwire.runtime.engine.plan.passes.chains import find_chains
from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step, Task, times

if TYPE_CHECKING:
    import numpy as np

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


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
