"""Results that are computed when they are first read, as if the run had kept them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

T = TypeVar("T")


class LazyResults(Mapping[str, T], Generic[T]):
    """Results by path, of which those in ``known`` are there, and the others come from ``rest``,
    which raises what running raises: reading one raises RunError if a block fails that nothing else
    needed. All names are found out once they are asked for, or one that is not known.
    """

    def __init__(
        self,
        names: Callable[[], Iterable[str]],
        known: Mapping[str, T],
        rest: Callable[[], Mapping[str, T]],
    ) -> None:
        self._find = names
        self._known = known
        self._rest = rest

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(self._find())

    def __getitem__(self, name: str) -> T:
        if name in self._known:
            return self._known[name]
        if name not in self:
            raise KeyError(name)
        return self._rest()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, T]], tuple[dict[str, T]]]:
        """Copies and pickles are of the results, and need neither the session nor the program."""
        return dict, (dict(self),)


class Accumulated(MutableMapping[str, "Array | None"]):
    """Gradients by variable. Those that the last backward wrote are its own, and nobody copies
    them for this: they are computed again if they are read here.
    """

    __slots__ = ("_arrays", "_written")

    def __init__(self, arrays: Mapping[str, Array | None]) -> None:
        self._arrays = dict(arrays)
        self._written: dict[tuple[str, ...], Callable[[], Mapping[str, Array | None]]] = {}

    def write(
        self, names: tuple[str, ...], compute: Callable[[], Mapping[str, Array | None]]
    ) -> None:
        """From now on the gradients with these names are those that ``compute`` returns."""
        written = self._written
        if names not in written or len(written) > 1:
            new = frozenset(names)
            for before in [before for before in written if new.issuperset(before)]:
                del written[before]
        written[names] = compute

    def _settle(self) -> dict[str, Array | None]:
        for names in list(self._written):
            self._arrays |= self._written[names]()
            del self._written[names]
        return self._arrays

    def __getitem__(self, name: str) -> Array | None:
        return self._settle()[name]

    def __setitem__(self, name: str, gradient: Array | None) -> None:
        self._settle()[name] = gradient

    def __delitem__(self, name: str) -> None:
        del self._settle()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settle())

    def __len__(self) -> int:
        return len(self._settle())

    def __repr__(self) -> str:
        return repr(self._settle())

    def __reduce__(self) -> tuple[type[dict[str, Array | None]], tuple[dict[str, Array | None]]]:
        """Copies and pickles are of the gradients."""
        return dict, (dict(self._settle()),)
