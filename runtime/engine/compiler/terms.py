"""Terms: what is computed at one place of an array, and where it is read and written.

A place is given by axes, along which arrays lie in steps of bytes.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple, TypeAlias


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
