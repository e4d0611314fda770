"""How large a gradient is: what is measured on every wire, and the scale of a loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.norms import (
    NormBatch,
    batched,
    batches,
    combined_rms_of_runs,
    rms,
    rms_of_rows,
)
from gradwire.runtime.engine.plan.sparse_rows import SparseRows, numbers_of

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


class ArraySize(NamedTuple):
    """What is measured on one array.

    Root mean square, exact zeros, elements, whether all are finite, whether it is subnormal, and
    the largest magnitude (NaN where one is).
    """

    rms: float
    zeros: int
    total: int
    finite: bool
    subnormal: bool
    peak: float = 0.0

    @property
    def is_zero(self) -> bool:
        """All elements are exactly 0."""
        return self.zeros == self.total > 0


def measure(array: Array | SparseRows) -> ArraySize:
    """The size of an array of floats."""
    numbers = numbers_of(array)
    finite = bool(np.isfinite(numbers).all())
    zeros = array.size - int(np.count_nonzero(numbers))
    peak = float(np.max(np.abs(numbers))) if numbers.size else 0.0
    subnormal = 0.0 < peak < float(np.finfo(array.dtype).tiny)
    return ArraySize(rms(array), zeros, array.size, finite, subnormal, peak)


class SizesLayout(NamedTuple):
    """What many arrays have in common with others of the same names, sizes and dtypes."""

    places: Mapping[str, int]
    """The place of each name."""
    batches: list[NormBatch]


def layout_of(arrays: Mapping[str, Array | SparseRows]) -> SizesLayout:
    """The layout of arrays."""
    places = {name: place for place, name in enumerate(arrays)}
    return SizesLayout(places, batched(arrays.values()))


class ArraySizes(Mapping[str, ArraySize]):
    """The sizes of many arrays by name; what is measured is kept by column, in that order."""

    def __init__(self, index: Mapping[str, int], columns: Sequence[Array]) -> None:
        self.index = index
        """The place of each name in the columns."""
        self.rms, self.zeros, self.total, self.finite, self.subnormal, self.peak = columns

    @property
    def is_zero(self) -> NDArray[np.bool_]:
        """Where all elements are exactly 0."""
        zero: NDArray[np.bool_] = (self.zeros == self.total) & (self.total > 0)
        return zero

    def __getitem__(self, name: str) -> ArraySize:
        place = self.index[name]
        return ArraySize(*(column[place].item() for column in self._columns))

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.rms, self.zeros, self.total, self.finite, self.subnormal, self.peak

    def combined(self, groups: Mapping[str, Iterable[str]]) -> ArraySizes:
        """The sizes of groups of these arrays, each taken as one; of those of which any is here."""
        known = {
            name: places
            for name, members in groups.items()
            if (places := [self.index[member] for member in members if member in self.index])
        }
        if not known:
            return ArraySizes({}, [column[:0] for column in self._columns])
        starts = np.cumsum([0, *map(len, known.values())])[:-1]
        at = np.array([place for places in known.values() for place in places])
        small = self.subnormal[at]
        return ArraySizes(
            {name: place for place, name in enumerate(known)},
            (
                combined_rms_of_runs(self.rms[at], self.total[at], starts),
                np.add.reduceat(self.zeros[at], starts),
                np.add.reduceat(self.total[at], starts),
                np.logical_and.reduceat(self.finite[at], starts),
                np.logical_or.reduceat(small, starts)
                & np.logical_and.reduceat(small | (self.peak[at] == 0), starts),
                np.maximum.reduceat(self.peak[at], starts),
            ),
        )


def measure_each(
    arrays: Mapping[str, Array | SparseRows], layout: SizesLayout | None = None
) -> ArraySizes:
    """The sizes of arrays of floats by name; small ones of a kind are measured in one pass.

    ``layout`` is theirs, if it is known.
    """
    listed = list(arrays.values())
    index, known = layout_of(arrays) if layout is None else layout
    found = np.zeros((len(ArraySize._fields), len(listed)))
    for places, rows in batches(listed, known):
        if rows is None:
            found[:, places] = np.array([measure(listed[place]) for place in places]).T
            continue
        peaks = np.max(np.abs(rows), axis=1)
        found[:, places] = (
            rms_of_rows(rows, peaks),
            rows.shape[1] - np.count_nonzero(rows, axis=1),
            np.full(len(rows), rows.shape[1]),
            np.isfinite(rows).all(axis=1),
            (0.0 < peaks) & (peaks < np.finfo(rows.dtype).tiny),
            peaks,
        )
    kinds = (float, int, int, bool, bool, float)
    return ArraySizes(index, [c.astype(kind) for c, kind in zip(found, kinds, strict=True)])


class LossScale(NamedTuple):
    """The largest root mean square of a loss, 0 where nothing is carried; and that of the gradient
    that leaves the loss itself.
    """

    largest: float
    seed: float = 1.0


def scale_of(sizes: ArraySizes, seed: float = 1.0) -> LossScale:
    """Over what is finite and not 0."""
    found = sizes.rms[sizes.finite & (sizes.rms > 0.0) & (sizes.rms < np.inf)]
    return LossScale(float(np.max(found)) if found.size else 0.0, seed)
