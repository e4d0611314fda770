"""Results by path, and those that are computed when they are first read, as if kept by the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradwire.runtime.engine.plan.sparse_rows import WholeOnRead

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.flat import Flat
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows


T = TypeVar("T")


class ByPath(Mapping[str, T], Generic[T]):
    """Iterates over each result once, but finds the shared ``enc1/W`` also as ``enc2/W``, and the
    own variable ``fc/weight`` also as ``fc.weight``; an output of a page or Formula block is that
    of the block inside, ``enc.y`` that of ``enc/y.out``.
    """

    def __init__(self, results: Mapping[str, T], flat: Flat) -> None:
        self._results = results
        self._flat = flat

    def __getitem__(self, name: str) -> T:
        return self._results[name if name in self._results else self._flat.canonical(name)]

    def of_rows(self) -> ByPath[SparseRows]:
        """The results that are known by rows."""
        return ByPath(rows_among(self._results), self._flat)

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return repr(self._results)


def by_path(results: Mapping[str, T], flat: Flat) -> Mapping[str, T]:
    """Wrap results in a ByPath unless each has only one name."""
    return ByPath(results, flat) if flat.aliases or flat.owned else results


def rows_among(results: Mapping[str, Any]) -> Mapping[str, SparseRows]:
    """The results that are known by rows."""
    if isinstance(results, ByPath):
        return results.of_rows()
    return results.rows if isinstance(results, WholeOnRead) else {}


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
