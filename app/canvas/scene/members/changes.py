"""What an edit has added to a mapping, taken from it and replaced, by numbers in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress, count, pairwise
from operator import is_not, ne
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.app.canvas.scene.arrays import Indices

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Changes:
    """The entries (n,) of a mapping, and those (o,) that it had before."""

    before: Indices
    """The number that each entry had (n,); -1 for new ones."""
    now: Indices
    """The number that each of those before has (o,); -1 for those that are gone."""
    fresh: list[int]
    """Numbers of the entries that are new, or other objects."""
    first: int
    """How many of the first entries are the same as before."""
    last: int
    """How many of the last ones."""

    @property
    def gone(self) -> Indices:
        """The numbers that those which are gone had."""
        return np.flatnonzero(self.now < 0)

    @property
    def are_numbered_alike(self) -> bool:
        """Whether all that were there have kept their numbers."""
        return self.first == len(self.now)

    def __len__(self) -> int:
        return len(self.fresh) + int(np.count_nonzero(self.now < 0))

    def rows(self, known: NDArray[T], default: Any = 0) -> NDArray[T]:
        """The rows ``known`` (o, …) of what is still there (n, …), and of new ones ``default``."""
        parts = [  # far fewer than rows
            known[at : at + count]
            if at >= 0
            else np.full((1, *known.shape[1:]), default, known.dtype)
            for at, count in self._runs
        ]
        return np.concatenate([known[:0], *parts])

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """The numbers that the first of entries had which follow each other as before, and how many
        these are; -1 for each new one.
        """
        if not len(self.before):
            return []
        ends = (np.diff(self.before) != 1) | (self.before[1:] == 0)
        edges = [0, *(np.flatnonzero(ends) + 1).tolist(), len(self.before)]
        begin = self.before[edges[:-1]].tolist()
        return [(at, high - low) for at, (low, high) in zip(begin, pairwise(edges), strict=True)]

    def listed(self, known: Sequence[V]) -> Iterator[V | None]:
        """Those ``known`` (o,) that are still there (n,), and None for new ones."""
        middle = self.before[self.first : len(self.before) - self.last].tolist()
        between = (known[number] if number >= 0 else None for number in middle)
        return chain(known[: self.first], between, known[len(known) - self.last :])


def changes_of(was: Mapping[K, V], now: Mapping[K, V]) -> Changes:
    """The difference between two versions of a mapping."""
    if was is now:
        same = np.arange(len(now))
        return Changes(same, same, [], len(now), 0)
    old, new = list(was), list(now)
    fewest = min(len(old), len(new))
    first = next(compress(count(), map(ne, old, new)), fewest)
    last = next(compress(count(), map(ne, reversed(old), reversed(new))), fewest)
    last = min(last, fewest - first)
    numbers = {key: first + i for i, key in enumerate(old[first : len(old) - last])}
    before = np.arange(len(new))
    end = len(new) - last
    before[first:end] = [numbers.get(key, -1) for key in new[first:end]]
    before[end:] += len(old) - len(new)
    after = np.full(len(old), -1)
    kept = np.flatnonzero(before >= 0)
    after[before[kept]] = kept
    found = Changes(before, after, [], first, last)
    values = found.listed(list(was.values()))
    found.fresh.extend(compress(count(), map(is_not, values, now.values())))
    return found
