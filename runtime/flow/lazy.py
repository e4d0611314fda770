"""Collections that are only as large as what is looked into: lazy sequences, and overlays."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import TypeVar, overload

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
MANY = 32
"""Number of items of a list that are kept for every wire; the others are computed on demand."""


class LazySequence(Sequence[T]):
    """Behaves like the tuple that ``make`` returns.

    Slices within ``first`` and ``last``, and ``len`` if ``count`` is given, don't call ``make``.
    """

    __slots__ = ("_count", "_first", "_items", "_last", "_make")  # there are several for each wire

    def __init__(
        self,
        make: Callable[[], Sequence[T]],
        first: Sequence[T] = (),
        last: Sequence[T] = (),
        count: int | None = None,
    ) -> None:
        self._make = make
        self._first = tuple(first)
        self._last = tuple(last)
        self._count = count
        self._items: tuple[T, ...] | None = None

    @property
    def known_length(self) -> int | None:
        """The length, if it is known without computing all items; else None."""
        return self._count

    @property
    def _all(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = tuple(self._make())
        return self._items

    def __len__(self) -> int:
        return len(self._all) if self._count is None else self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice) and index.step is None:
            start, stop = index.start, index.stop
            if start is None and stop is not None and 0 <= stop <= len(self._first):
                return self._first[:stop]
            if stop is None and start is not None and -len(self._last) <= start < 0:
                return self._last[start:]
        return self._all[index]

    def __eq__(self, other: object) -> bool:
        return (
            self._all == tuple(other) if isinstance(other, tuple | LazySequence) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)


def known_length(items: Sequence[object]) -> int | None:
    """The length of a sequence; None for a lazy one of unknown length."""
    return items.known_length if isinstance(items, LazySequence) else len(items)


def overlaid(base: Mapping[K, V], changed: Mapping[K, V]) -> Mapping[K, V]:
    """``base`` with some of its keys ``changed``; where these are few, it takes memory for them
    only.
    """
    if isinstance(base, _Overlay):
        return overlaid(base.base, {**base.changed, **changed})
    return {**base, **changed} if 4 * len(changed) > len(base) else _Overlay(base, changed)


def looked_up(items: Mapping[K, V], times: int) -> Mapping[K, V]:
    """The same entries, to be looked up so many times: where these are many, in a dict."""
    return dict(items.items()) if isinstance(items, _Overlay) and 8 * times > len(items) else items


class _Overlay(Mapping[K, V]):
    def __init__(self, base: Mapping[K, V], changed: Mapping[K, V]) -> None:
        self.base = base
        self.changed = changed

    def __getitem__(self, key: K) -> V:
        return self.changed[key] if key in self.changed else self.base[key]

    def __contains__(self, key: object) -> bool:
        return key in self.base

    def items(self) -> ItemsView[K, V]:
        return self._joined().items()

    def values(self) -> ValuesView[V]:
        return self._joined().values()

    def _joined(self) -> dict[K, V]:
        """All of it, to go through: looking up each key takes ten times as long."""
        return {**self.base, **self.changed}

    def __iter__(self) -> Iterator[K]:
        return iter(self.base)

    def __len__(self) -> int:
        return len(self.base)
