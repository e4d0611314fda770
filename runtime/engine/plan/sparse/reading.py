"""Results of which some are known by rows: whole arrays are made when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradwire.runtime.engine.plan.sparse.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.values import Array


class WholeOnRead(Mapping[str, "Array | None"]):
    """Arrays by name; of those that are known by rows a whole one is made when it is first read."""

    def __init__(self, results: Mapping[str, Array | SparseRows | None]) -> None:
        self.compact = results
        """The same results, with rows in place of the arrays that are made of them."""
        self._made: dict[str, Array] = {}

    @property
    def rows(self) -> dict[str, SparseRows]:
        """The results that are known by rows."""
        return {name: x for name, x in self.compact.items() if isinstance(x, SparseRows)}

    def __getitem__(self, name: str) -> Array | None:
        found = self.compact[name]
        if not isinstance(found, SparseRows):
            return found
        if name not in self._made:
            self._made[name] = found.dense()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.compact)

    def __len__(self) -> int:
        return len(self.compact)

    def __contains__(self, name: object) -> bool:
        return name in self.compact

    def __repr__(self) -> str:
        return repr(dict(self.compact))


def compact(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """Results with rows in place of arrays that are made of them: for who measures them all."""
    return results.compact if isinstance(results, WholeOnRead) else results


def rows_reader(read: Callable[[], SparseRows]) -> Callable[[], SparseRows]:
    """Reads rows whose numbers nobody can change, as whole arrays may be made of them later."""

    def reader() -> SparseRows:
        found = read()
        rows, values = found.rows.view(), found.values.view()
        rows.flags.writeable = values.flags.writeable = False
        return SparseRows(rows, values, found.length)

    return reader
