"""Results by path; those of a shared variable are found under any of its paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gradwire.runtime.engine.plan.sparse.reading import WholeOnRead

if TYPE_CHECKING:
    from gradwire.runtime.engine.flat import Flat
    from gradwire.runtime.engine.plan.sparse.sparse_rows import SparseRows

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
