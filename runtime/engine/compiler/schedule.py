"""Chooses in which loops and vectors a copy or running sums are computed: few rules and one cost
model.

Vectors lie along an axis of the result in which neighbours lie side by side; several at once hide
how long an operation takes. Copies between different such axes, and running sums of rows, go
through squares that are turned in registers. The last vector along an axis overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import log2, prod
from typing import NamedTuple, TypeAlias

import numpy as np

from gradwire.runtime.engine.compiler.terms import COPY, RUNNING, Axis, Steps, Store, merged
from gradwire.runtime.engine.plan.native import machine

# The cost model, in cycles; fitted to Zen 3.


class _Cost(NamedTuple):
    each: float
    """For reading a vector, or adding it to a sum,"""

    latency: float
    """until that sum can take the next,"""

    single: float
    """and for an element in no vector."""


COSTS = {
    RUNNING: _Cost(1.5, 4.0, 4.0),
    COPY: _Cost(0.5, 0.0, 1.5),
}

WRITE = 1.0
"""For writing a vector, or for a mask."""

TURN = 6.0
"""For a turn of a loop around others."""

UNITS = 8
"""Vectors at once at most: half of 16 registers."""

WORTH = 1 << 9
"""Elements from which several are: what fits any length is compiled less often."""

SQUARE = 4
"""Elements of a side of squares at least."""

SHORT = 64
"""Turns of the outermost loop below which it is one with the next, for threads to share them: where
a turn of both has at least as many elements, since it divides numbers,
"""

SHARED = 1 << 14
"""and there are so many elements."""


Order: TypeAlias = "tuple[tuple[str, str], ...]"
"""Loops from outside in: what each does, and the axis."""


class Tile(NamedTuple):
    """How sums of products are computed: ``rows`` at once, of the axis ``r``; of vectors, which lie
    along ``v`` or else the fold's ``k``, so do the places of ``v``.

    The ``order`` is of loops over a "group" or "block" of the tiles of an axis, over "each" one, or
    over a "part" of the fold; to "lay" an axis is to copy the operand that lies along it so that
    all of a tile is side by side. Threads share the tiles of the ``cut`` axis. ``wide`` is the
    operand that lies along ``v``. Where a tile is all of that axis, its vectors may ``overlap``.
    """

    rows: int
    order: Order
    cut: str
    wide: int
    overlap: bool


class Nest(NamedTuple):
    """The loops for a store, for arrays of any lengths.

    Axes are named by their place in the loops; they have an extent where they are written out, and
    else 0. Steps are bytes where places along axes of vectors are beside each other, and
    else 0: those are numbers of the frame. ``outer`` axes are loops over single places; then come
    ``units`` vectors along the ``vector``'s axis, and what is folded or added up. Squares are along
    ``turned`` as well. The first two loops may be ``joined`` to one.
    """

    store: Store
    lanes: int
    units: int
    outer: tuple[Axis, ...]
    vector: Axis | None
    turned: Axis | None
    in_parts: bool
    """Whether sums are long."""
    joined: bool
    frame: tuple[str, ...]
    """The int64 numbers that the code reads: ``array0``, ``extent_o0``, ``step0_o0``, …"""
    tile: Tile | None = None

    @property
    def is_along(self) -> bool:
        """Whether vectors are along the axis of a fold."""
        return self.vector in self.store.term.axes


class Schedule(NamedTuple):
    """A way to compute a store: the loops, the numbers of its frame but for addresses, how many
    turns the outermost loop has, and the estimated cycles.
    """

    nest: Nest
    numbers: dict[str, int]
    turns: int
    cost: float
    room: int = 0
    """Bytes that each thread has for itself."""
    length: int = 0
    """What the code has as its second argument where there is no room."""

    @property
    def frame(self) -> tuple[str, ...]:
        """The names of the int64 numbers that the code reads."""
        return self.nest.frame

    @property
    def is_fast(self) -> bool:
        """Whether NumPy is slower: not for copies of elements that lie apart."""
        return self.nest.vector is not None or self.nest.store.term.runs


class _Choice(NamedTuple):
    cost: float
    lanes: int
    units: int = 1
    vector: Axis | None = None
    turned: Axis | None = None


def scheduled(store: Store) -> Schedule:
    """The cheapest way."""
    return _scheduled(store, machine.lanes())


@lru_cache(maxsize=1024)
def _scheduled(store: Store, lanes: int) -> Schedule:
    costs = _Costs(store)
    return costs.laid_out(min(costs.choices(), key=lambda choice: choice.cost))


def schedules(store: Store) -> Iterator[Schedule]:
    """All ways; they differ in time."""
    costs = _Costs(store)
    return map(costs.laid_out, costs.choices())


class _Costs:
    """What a store costs in different loops."""

    def __init__(self, store: Store) -> None:
        store = merged(store)
        self.store, self.fold = store, store.term
        self.cost = COSTS[store.term.how]
        dtypes = store.term.of.dtype, store.dtype
        self.sizes = [np.dtype(dtype).itemsize for dtype in dtypes]
        self.dtype = max(dtypes, key=lambda dtype: np.dtype(dtype).itemsize)
        self.lanes = machine.vector(self.dtype, 1 << 20)
        self.written, self.read = dict(store.steps), dict(store.term.of.steps)
        self.outer = [axis for axis in self.written if axis not in store.term.axes]
        self.inner = store.term.axes
        self.rows, self.levels = (prod(a.extent for a in x) for x in (self.outer, self.inner))
        self.is_small = self.rows * self.levels < WORTH
        self.units = range(1, 2 if self.is_small else UNITS + 1)

    def choices(self) -> Iterator[_Choice]:
        """All ways, with what each costs."""
        single = max(self.cost.single, self.cost.latency)
        yield _Choice(self.rows * (self.levels * single + TURN), 1)
        for axis in self.outer:
            if self._is_read_beside(axis) and self._is_written_beside(axis):
                yield from self._vectors_of_results(axis)
            elif self.fold.runs and axis in self.read:
                yield from self._squares(axis, self.inner[0])
            elif self.fold.how == COPY and self._is_read_beside(axis):
                for other in self.outer:
                    if other in self.read:
                        yield from self._squares(axis, other)

    def _is_read_beside(self, axis: Axis) -> bool:
        return self.read.get(axis) == self.sizes[0]

    def _is_written_beside(self, axis: Axis) -> bool:
        return self.written.get(axis) == self.sizes[1]

    def _vectors_of_results(self, axis: Axis) -> Iterator[_Choice]:
        wide = machine.vector(self.dtype, axis.extent)
        vectors = -(-axis.extent // wide)
        for units in self.units:
            if units > vectors:
                return
            turns = self.rows // axis.extent * -(-vectors // units)
            turn = TURN if self.fold.runs or self.is_small else 0.0  # the next one begins before
            step = max(self.cost.latency, units * self.cost.each)
            yield _Choice(turns * (self.levels * step + turn + units * WRITE), wide, units, axis)

    def _squares(self, axis: Axis, along: Axis) -> Iterator[_Choice]:
        """Results lie side by side ``along`` an axis; of running sums, so does what is read."""
        is_read = abs(self.read.get(along, 0)) == self.sizes[0] or not self.fold.runs
        lengths = [axis.extent] if self.fold.runs else [axis.extent, along.extent]
        wide = machine.vector(self.dtype, min(lengths))
        if not is_read or not self._is_written_beside(along) or wide < SQUARE:
            return
        squares = prod(-(-n // wide) for n in (axis.extent, along.extent))
        others = self.rows * self.levels // (axis.extent * along.extent)
        each = wide * (self.cost.latency + (1 + log2(wide)) * WRITE)
        yield _Choice(others * squares * each, wide, 1, axis, along)

    def laid_out(self, choice: _Choice) -> Schedule:
        """The loops of a choice."""
        vector, turned = choice.vector, choice.turned

        def far(axis: Axis) -> int:
            return max(abs(self.read.get(axis, 0)), abs(self.written[axis]))

        singles = (axis for axis in self.outer if axis not in (vector, turned))
        outer = sorted(singles, key=far, reverse=True)
        names = {axis: Axis("i", 0) for axis in self.inner}
        names |= {axis: Axis(f"o{i}", 0) for i, axis in enumerate(outer)}
        if vector is not None:
            names[vector] = Axis("v", 0)
        if turned is not None:
            names[turned] = Axis("t", 0)
        numbers = {f"extent_{name.name}": axis.extent for axis, name in names.items()}

        def steps(array: int, some: Steps) -> Steps:
            found = []
            for axis, step in some:
                is_beside = axis in (vector, turned) and abs(step) <= self.sizes[array]
                if not is_beside:
                    numbers[f"step{array}_{names[axis].name}"] = step
                found.append((names[axis], step if is_beside else 0))
            return tuple(sorted(found))

        of = self.fold.of._replace(steps=steps(0, self.fold.of.steps))
        fold = self.fold._replace(of=of, axes=tuple(names[axis] for axis in self.inner))
        store = self.store._replace(steps=steps(1, self.store.steps), term=fold)
        if vector is not None and vector in self.outer:
            numbers["turns"] = -(-vector.extent // (choice.lanes * choice.units))
        loops = [axis.extent for axis in outer] + [numbers[x] for x in ("turns",) if x in numbers]
        elements = self.rows * self.levels
        joined = len(loops) > 1 and loops[0] < SHORT and elements >= SHARED
        joined = joined and elements >= SHORT * loops[0] * loops[1]
        nest = Nest(
            store=store,
            lanes=choice.lanes,
            units=choice.units,
            outer=tuple(names[axis] for axis in outer),
            vector=None if vector is None else names[vector],
            turned=None if turned is None else names[turned],
            in_parts=False,
            joined=joined,
            frame=("array0", "array1", *numbers),
        )
        return Schedule(nest, numbers, prod(loops[: 1 + joined]), choice.cost)
