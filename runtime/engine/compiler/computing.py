"""Machine code for values, in given arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.compiler.emit import Emitter
from gradwire.runtime.engine.compiler.folding import Folded, folded
from gradwire.runtime.engine.compiler.front import (
    FOLDS,
    Images,
    copy_of,
    correlation_of,
    gathered_of,
    product_of,
    store_of,
    taps_of,
)
from gradwire.runtime.engine.compiler.products import tiled
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.compiler.schedule import Nest, Schedule, scheduled
from gradwire.runtime.engine.compiler.terms import COPY, RUNNING
from gradwire.runtime.engine.compiler.tiles import GatheredTiles, Tiles, WindowTiles
from gradwire.runtime.engine.plan.jobs import MULTIPLICATIONS, Job, divided
from gradwire.runtime.engine.plan.native import machine

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.compiler.terms import Store
    from gradwire.runtime.engine.plan.native import Kernel


LARGE = 1 << 9
"""Elements from which machine code is faster even by itself."""

APART = 1 << 8
"""Elements up to which it is where they are copied one by one."""

EACH = 2
"""What ``jobs`` counts as the work on an element that is read and written."""


def _kernel(schedule: Schedule | Folded) -> Kernel:
    """The code of a schedule."""
    if isinstance(schedule, Folded):
        return compiled_region(schedule.recipe)
    return _compiled(schedule.nest)


@lru_cache(maxsize=256)
def _compiled(nest: Nest) -> Kernel:
    if nest.tile is None:
        text = Emitter(nest).text()
    else:
        tiles = (
            WindowTiles if nest.store.row else GatheredTiles if nest.store.is_gathered else Tiles
        )
        text = tiles(nest).text()
    return machine.function(text, "nest")


def compiles(value: Value) -> bool:
    """Whether there may be code for a value."""
    if value.primitive.name not in FOLDS:
        return False
    source = value.inputs[0]
    return source.dtype == value.dtype and value.dtype in ("float32", "float64") and source.size > 0


def computation(value: Value, source: Array, strides: Sequence[int]) -> Computation | None:
    """What computes a value that ``compiles`` of an array, in arrays with these strides; None if
    NumPy is faster.
    """
    store = store_of(value.primitive.name, value.attributes, source, strides)
    if store.term.how not in (COPY, RUNNING):
        fold = folded(store)
        return None if fold is None else Computation(fold, source, source.size)
    found = scheduled(store)
    if not found.is_fast and source.size >= LARGE:
        return None
    return Computation(found, source, source.size * EACH)


def copy(source: Array, strides: Sequence[int], dtype: str | None = None) -> Computation | None:
    """What copies an array to arrays with these strides, of another dtype of floats or, of any
    elements of four or eight bytes, its own; None if NumPy is faster.
    """
    if dtype in (None, source.dtype.name):
        source = source.view(dtype := f"float{8 * source.itemsize}")
    found = scheduled(copy_of(source, strides, dtype))
    if not found.is_fast and source.size > APART:
        return None
    return Computation(found, source, source.size)


def contiguous(shape: Sequence[int], size: int) -> list[int]:
    """The strides of an array of this shape, with elements of so many bytes."""
    return [*itertools.accumulate(shape[:0:-1], mul, initial=size)][::-1]


def product(
    left: Array, right: Array, out: Sequence[int], strides: Sequence[int]
) -> Computation | None:
    """What computes products of matrices in arrays of this shape with these strides; None if none
    lies as vectors do.
    """
    found = tiled(product_of(left, right, out, strides), machine.lanes())
    if found is None:
        return None
    work = prod(out) * left.shape[-1] // MULTIPLICATIONS
    return Computation(found, left, work, [right])


def correlation(windows: Images, weights: Array, out: Array) -> Job:
    """The job that computes sums over windows (see ``correlation_of``)."""
    found = _cheapest(correlation_of(windows, weights, out))
    units, vectors = found.nest.units, windows.vectors
    tables = {"table_v": np.pad(vectors, ((0, -len(vectors) % units), (0, 0)), "edge")}
    tables |= {"table_k": windows.taps}
    work = out.size * windows.taps.size // MULTIPLICATIONS
    return Computation(found, weights, work, [windows.images], tables).into(out)


def taps(windows: Images, gradients: Array, out: Array, groups: int) -> Job:
    """The job that computes sums over all places (see ``taps_of``)."""
    found = _cheapest(taps_of(windows, gradients, out, groups))
    numbers = {"whole": windows.whole, "all": len(windows.vectors)}
    numbers |= {"skipped": -windows.row % found.nest.lanes}
    found = found._replace(numbers={**found.numbers, **numbers})
    tables = {"table_v": windows.taps, "table_k": windows.vectors}
    work = gradients.size * out[0].size // MULTIPLICATIONS
    return Computation(found, gradients, work, [windows.images], tables).into(out)


def gathered(images: Images, rows: Array, terms: Array, factors: Array, out: Array) -> Job:
    """The job that computes sums of what is at ``rows`` and ``terms``, tables of bytes, in images
    times factors (see ``gathered_of``).
    """
    found = _cheapest(gathered_of(images.group, factors, out))
    work, tables = out.size * terms.size // MULTIPLICATIONS, {"table_v": rows, "table_k": terms}
    return Computation(found, factors, work, [images.images], tables).into(out)


def _cheapest(store: Store) -> Schedule:
    found = tiled(store, machine.lanes())
    assert found is not None, "vectors lie along places"
    return found


class Computation:
    """Computes the same of arrays in any other."""

    def __init__(
        self,
        schedule: Schedule | Folded,
        source: Array,
        work: int,
        others: Sequence[Array] = (),
        tables: Mapping[str, Array] = {},
    ) -> None:
        arrays = {f"array{i}": x for i, x in enumerate(others, 2)} | dict(tables)
        self._kept = [source, *arrays.values()]
        self._frame = machine.frame(
            schedule.frame, array0=source, array1=0, **arrays, **schedule.numbers
        )
        self._target = schedule.frame.index("array1")
        self._job = divided(
            _kernel(schedule),
            self._frame,
            schedule.turns,
            work,
            self._kept,
            schedule.room,
            schedule.length,
        )
        self._kept.append(source)

    def into(self, out: Array) -> Job:
        """The job that computes it in this array, until another is given."""
        self._frame[self._target] = machine.address(out)
        self._kept[-1] = out
        return self._job

    def __call__(self, out: Array) -> None:
        """Compute it in this array."""
        self.into(out)()
