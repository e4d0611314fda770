"""Terms, which are what is computed at one place of an array, and where it is read and written; and
in which loops and vectors a copy or running sums are computed.

A place is given by axes, along which arrays lie in steps of bytes. Vectors lie along an axis of the
result in which neighbours lie side by side; of running sums, several at once hide how long an
addition takes. Copies between different such axes, and running sums of rows, go through squares
that are turned in registers. The last vector along an axis overlaps the one before.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from gradwire.runtime.engine.plan.native import machine


class LoopAxis(NamedTuple):
    """Places from 0 to ``extent``; axes of one store have different names."""

    name: str
    extent: int


Steps: TypeAlias = "tuple[tuple[LoopAxis, int], ...]"
"""Of each axis along which an array lies, the bytes from place to place; none of them is 0."""

RUNNING, COPY = "running sum", "copy"


class Read(NamedTuple):
    """An element of the array of this number."""

    array: int
    steps: Steps
    dtype: str


class Fold(NamedTuple):
    """The "sum" of the elements along some axes, or the largest ("max") or smallest ("min"), which
    is NaN where one is; or a "running sum": of all up to a place along one axis, added in order. A
    "copy" folds nothing.
    """

    how: str
    of: Read
    axes: tuple[LoopAxis, ...]
    by: Read | None = None
    """What each element is multiplied by before it is added: a sum of products."""

    @property
    def runs(self) -> bool:
        """Whether there is a result for every place along the axis."""
        return self.how == RUNNING


class Store(NamedTuple):
    """What is written to the array of this number, for every place of its axes; what is read for a
    copy may have another dtype.
    """

    array: int
    steps: Steps
    dtype: str
    term: Fold
    row: int = 0
    """In sums over windows, the results that lie side by side at most, along the axis ``v``. These
    are of places, and the terms ``k`` of taps, of which tables say where in array 2 they are.
    """
    is_gathered: bool = False
    """Whether, in other sums of products, tables say where in array 2 rows and terms are."""

    @property
    def reads(self) -> list[Read]:
        """All that is read."""
        return [x for x in (self.term.of, self.term.by) if x is not None]


def merged(store: Store) -> Store:
    """The same with fewer axes: one for two that all arrays have in one stretch."""
    while pair := _stretch(store):
        outer, inner = pair
        whole = LoopAxis(f"{outer.name}{inner.name}", outer.extent * inner.extent)
        store = _renamed(store, {outer: None, inner: whole})
    return store


def _stretch(store: Store) -> tuple[LoopAxis, LoopAxis] | None:
    """Two axes of which a step of one is all of the other."""
    steps = [dict(store.steps), *(dict(x.steps) for x in store.reads)]
    fixed = set(store.term.axes) if store.term.runs else set()
    for outer, inner in permutations(dict.fromkeys(a for some in steps for a in some), 2):
        is_one = all(s.get(outer, 0) == inner.extent * s.get(inner, 0) for s in steps)
        if is_one and not fixed & {outer, inner}:
            return outer, inner
    return None


def _renamed(store: Store, names: dict[LoopAxis, LoopAxis | None]) -> Store:
    """The store over other axes; None for an axis that is part of another."""

    def steps(some: Steps) -> Steps:
        found = [(names.get(axis, axis), step) for axis, step in some]
        return tuple((axis, step) for axis, step in found if axis is not None)

    def read(x: Read | None) -> Read | None:
        return None if x is None else x._replace(steps=steps(x.steps))

    term, axes = store.term, [names.get(axis, axis) for axis in store.term.axes]
    folded = tuple(axis for axis in axes if axis is not None)
    of = term.of._replace(steps=steps(term.of.steps))
    term = term._replace(of=of, axes=folded, by=read(term.by))
    return store._replace(steps=steps(store.steps), term=term)


UNITS = 8
"""Vectors at once at most: half of 16 registers."""

EACH, LATENCY, TURN = 1.5, 4.0, 6.0
"""Cycles for adding a vector to a running sum, until the next is added, and for a turn of the loop
around.
"""

WORTH = 1 << 9
"""Elements from which several vectors are: what fits any length is compiled less often."""

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
    outer: tuple[LoopAxis, ...]
    vector: LoopAxis | None
    turned: LoopAxis | None
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
    """A way to compute a store: the loops, the numbers of its frame but for addresses, and
    how many turns the outermost loop has.
    """

    nest: Nest
    numbers: dict[str, int]
    turns: int
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


def scheduled(store: Store) -> Schedule:
    """The way to compute a copy or running sums."""
    return _scheduled(store, machine.lanes())


@lru_cache(maxsize=1024)
def _scheduled(store: Store, lanes: int) -> Schedule:
    return _Loops(merged(store)).laid_out()


class _Loops:
    """The loops for a store."""

    def __init__(self, store: Store) -> None:
        self.store, self.fold = store, store.term
        dtypes = store.term.of.dtype, store.dtype
        self.sizes = [np.dtype(dtype).itemsize for dtype in dtypes]
        self.dtype = max(dtypes, key=lambda dtype: np.dtype(dtype).itemsize)
        self.written, self.read = dict(store.steps), dict(store.term.of.steps)
        self.outer = [axis for axis in self.written if axis not in store.term.axes]
        self.elements = prod(axis.extent for axis in self.written)
        self.lanes, self.units = 1, 1
        self.vector: LoopAxis | None = None
        self.turned: LoopAxis | None = None
        self._choose()

    def _choose(self) -> None:
        """Vectors along an axis, or else squares, or else single elements."""
        for axis in self.outer:
            if self.read.get(axis) == self.sizes[0] and self.written[axis] == self.sizes[1]:
                self.vector, self.lanes = axis, machine.vector(self.dtype, axis.extent)
                self.units = self._units(-(-axis.extent // self.lanes))
                return
        for axis, along in product(self.outer, self.fold.axes or self.outer):
            side = self._side(axis, along)
            if side >= SQUARE and side > self.lanes:
                self.vector, self.turned, self.lanes = axis, along, side

    def _units(self, vectors: int) -> int:
        """How many vectors at once are fastest."""
        if not self.fold.runs or self.elements < WORTH:
            return 1
        levels = self.fold.axes[0].extent

        def cost(units: int) -> float:
            return -(-vectors // units) * (levels * max(LATENCY, units * EACH) + TURN)

        return min(range(1, min(UNITS, vectors) + 1), key=cost)

    def _side(self, axis: LoopAxis, along: LoopAxis) -> int:
        """The elements of a side of squares, if results lie side by side ``along`` an axis; of
        running sums, so does what is read.
        """
        read = self.read.get(along if self.fold.runs else axis, 0)
        lies_so = abs(read) == self.sizes[0] if self.fold.runs else read == self.sizes[0]
        if not lies_so or self.written[along] != self.sizes[1] or not {axis, along} <= {*self.read}:
            return 0
        shortest = axis.extent if self.fold.runs else min(axis.extent, along.extent)
        return machine.vector(self.dtype, shortest)

    def laid_out(self) -> Schedule:
        """The loops, with the names of axes."""
        vector, turned = self.vector, self.turned

        def far(axis: LoopAxis) -> int:
            return max(abs(self.read.get(axis, 0)), abs(self.written[axis]))

        singles = (axis for axis in self.outer if axis not in (vector, turned))
        outer = sorted(singles, key=far, reverse=True)
        names = {axis: LoopAxis("i", 0) for axis in self.fold.axes}
        names |= {axis: LoopAxis(f"o{i}", 0) for i, axis in enumerate(outer)}
        if vector is not None:
            names[vector] = LoopAxis("v", 0)
        if turned is not None:
            names[turned] = LoopAxis("t", 0)
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
        fold = self.fold._replace(of=of, axes=tuple(names[axis] for axis in self.fold.axes))
        store = self.store._replace(steps=steps(1, self.store.steps), term=fold)
        if vector is not None and vector in self.outer:
            numbers["turns"] = -(-vector.extent // (self.lanes * self.units))
        loops = [axis.extent for axis in outer] + [numbers[x] for x in ("turns",) if x in numbers]
        joined = len(loops) > 1 and loops[0] < SHORT and self.elements >= SHARED
        joined = joined and self.elements >= SHORT * loops[0] * loops[1]
        nest = Nest(
            store=store,
            lanes=self.lanes,
            units=self.units,
            outer=tuple(names[axis] for axis in outer),
            vector=None if vector is None else names[vector],
            turned=None if turned is None else names[turned],
            in_parts=False,
            joined=joined,
            frame=("array0", "array1", *numbers),
        )
        return Schedule(nest, numbers, prod(loops[: 1 + joined]))
