"""An array that is 0 but for some rows, as rows and values; and results of which some are known so,
of which whole arrays are made when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """An array of which all rows that are not listed are 0: the gradient of a table.

    ``dense()`` and every function of NumPy, which takes it for an array, give the whole array.
    """

    rows: NDArray[np.intp]
    """Numbers of rows, in ascending order, each once."""
    values: Array
    """These rows: (rows, …)."""
    length: int
    """Rows of the whole array."""

    @property
    def shape(self) -> Shape:
        """The shape of the whole array."""
        return (self.length, *self.values.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the numbers."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """Elements of the whole array."""
        return prod(self.shape)

    def dense(self) -> Array:
        """The whole array."""
        found = np.zeros(self.shape, self.dtype)
        found[self.rows] = self.values
        return found

    def fill(self, out: Array, clear: Callable[[Array], object] | None = None) -> None:
        """Write the whole array, of which ``clear`` sets all elements to 0."""
        if clear is None:
            out.fill(0)
        else:
            clear(out)
        out[self.rows] = self.values

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("The whole array of sparse rows is always a new one.")
        return self.dense().astype(dtype or self.dtype, copy=False)

    def __repr__(self) -> str:
        return f"SparseRows({len(self.rows)} rows of {list(self.shape)}, {self.dtype})"


def added(terms: Sequence[SparseRows]) -> SparseRows:
    """The sum of several in their order, with the bits that whole arrays would have."""
    if len(terms) == 1:
        return terms[0]
    rows = np.unique(np.concatenate([term.rows for term in terms]))
    total = np.zeros((len(rows), *terms[0].values.shape[1:]), terms[0].dtype)
    for number, term in enumerate(terms):
        places = np.searchsorted(rows, term.rows)
        if number:
            total[places] += term.values
        else:
            total[places] = term.values
    return SparseRows(rows, total, terms[0].length)


def numbers_of(array: Array | SparseRows) -> Array:
    """All numbers of an array that may differ from 0."""
    return array.values if isinstance(array, SparseRows) else array


def rows_of(array: Array) -> SparseRows:
    """The rows of an array that are not 0, copied."""
    rows = np.flatnonzero(array.reshape(len(array), -1).any(axis=1))
    return SparseRows(rows, array[rows], len(array))


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
