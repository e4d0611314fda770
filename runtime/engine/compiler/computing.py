"""From primitives to machine code: where inputs are read for an element of a value, and what
computes values in given arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.engine.compiler.products import tiled
from gradwire.runtime.engine.compiler.regions import (
    UNITS,
    WIDE,
    MemoryPlace,
    Recipe,
    compiled_region,
)
from gradwire.runtime.engine.compiler.schedule import (
    COPY,
    RUNNING,
    Fold,
    LoopAxis,
    Nest,
    Read,
    Schedule,
    Steps,
    Store,
    merged,
    scheduled,
)
from gradwire.runtime.engine.compiler.tiles import Emitter, GatheredTiles, Tiles, WindowTiles
from gradwire.runtime.engine.plan.jobs import MULTIPLICATIONS, Job, divided
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.operations import Operation

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.native import Kernel


FOLDS = {"sum": "sum", "max": "max", "min": "min", "cumulative_sum": RUNNING}
"""What primitives fold."""


def store_of(
    name: str, attributes: Mapping[str, Any], source: Array, strides: Sequence[int]
) -> Store:
    """What a primitive of one input computes: array 0 is read; array 1, which has these strides, is
    written.
    """
    copy, axes = copy_of(source, strides, source.dtype.name), _axes(source)
    runs = FOLDS[name] == RUNNING
    places = (attributes["axis"],) if runs else attributes["axes"]
    folded = tuple(axes[i] for i in places if axes[i].extent > 1)
    if not folded:
        return copy
    kept = tuple(step for step in copy.steps if runs or step[0] not in folded)
    return copy._replace(steps=kept, term=Fold(FOLDS[name], copy.term.of, folded))


def copy_of(source: Array, strides: Sequence[int], dtype: str) -> Store:
    """A copy of array 0 to array 1, which has these strides and this dtype."""
    axes = _axes(source)
    read = Read(0, _steps(axes, source.strides), source.dtype.name)
    return Store(1, _steps(axes, strides), dtype, Fold(COPY, read, ()))


def product_of(left: Array, right: Array, shape: Sequence[int], strides: Sequence[int]) -> Store:
    """Products of matrices: arrays 0 and 2 are read."""
    *batch, r, v = (LoopAxis(f"d{i}", n) for i, n in enumerate(shape))
    k = LoopAxis("k", left.shape[-1])

    def read(array: int, x: Array, *axes: LoopAxis) -> Read:
        all_ = [*batch[len(batch) + 2 - x.ndim :], *axes]
        steps = [step if n > 1 else 0 for n, step in zip(x.shape, x.strides, strict=True)]
        return Read(array, _steps(all_, steps), x.dtype.name)

    folded = (k,) if k.extent > 1 else ()
    fold = Fold("sum", read(0, left, r, k), folded, by=read(2, right, k, v))
    return Store(1, _steps([*batch, r, v], strides), left.dtype.name, fold)


@by_identity
class Images(NamedTuple):
    """Images (batch, …) as windows read them: bytes between groups of channels, and tables of bytes
    (see ``Store.row``): pairs of where vectors of places are in an image and in the other images,
    of which the ``whole`` ones come first; where taps are; and the longest ``row``.
    """

    images: Array
    group: int
    vectors: Array
    whole: int
    taps: Array
    row: int


def correlation_of(windows: Images, weights: Array, out: Array) -> Store:
    """Sums over windows: weights are (groups, filters, taps), the result is (batch, filters, …)."""
    groups, filters, _ = weights.shape
    n, g, r = LoopAxis("n", len(out)), LoopAxis("g", groups), LoopAxis("r", filters)
    size, dtype = out.itemsize, out.dtype.name
    v = LoopAxis("v", windows.vectors.size // 2 * machine.vector(dtype, windows.row))
    k = LoopAxis("k", windows.taps.size)
    channel = out.strides[1]
    images = _steps([n, g, v, k], [windows.images.strides[0], windows.group, size, size])
    fold = Fold("sum", Read(0, _steps([g, r, k], weights.strides), dtype), (k,))
    fold = fold._replace(by=Read(2, images, dtype))
    steps = _steps([n, g, r, v], [out.strides[0], r.extent * channel, channel, size])
    return Store(1, steps, dtype, fold, row=windows.row)


def taps_of(windows: Images, gradients: Array, out: Array, groups: int) -> Store:
    """Sums over all places, for each tap: gradients are (batch, filters, …), and the result
    (filters, taps …).
    """
    n, g, r = (
        LoopAxis(*x) for x in zip("ngr", (len(gradients), groups, len(out) // groups), strict=True)
    )
    size, dtype = out.itemsize, out.dtype.name
    k = LoopAxis("k", windows.vectors.size // 2 * machine.vector(dtype, windows.row))
    v, channel, row = LoopAxis("v", windows.taps.size), gradients.strides[1], out.strides[0]
    lines = _steps([n, g, r, k], [gradients.strides[0], r.extent * channel, channel, size])
    images = _steps([n, g, v, k], [windows.images.strides[0], windows.group, size, size])
    fold = Fold("sum", Read(0, lines, dtype), (n, k), by=Read(2, images, dtype))
    return Store(1, _steps([g, r, v], [r.extent * row, row, size]), dtype, fold, row=windows.row)


def gathered_of(factors: Array, out: Array) -> Store:
    """Sums of what is gathered times factors (filters, terms); the result is (rows, filters)."""
    dtype = out.dtype.name
    v, k = (LoopAxis(*x) for x in zip("vk", factors.shape, strict=True))
    r = LoopAxis("r", len(out))
    fold = Fold("sum", Read(0, _steps([v, k], factors.strides), dtype), (k,))
    fold = fold._replace(by=Read(2, _steps([r, k], [1, out.itemsize]), dtype))
    return Store(1, _steps([r, v], out.strides), dtype, fold, is_gathered=True)


def _axes(source: Array) -> list[LoopAxis]:
    return [LoopAxis(f"d{i}", n) for i, n in enumerate(source.shape)]


def _steps(axes: Sequence[LoopAxis], strides: Sequence[int]) -> Steps:
    pairs = zip(axes, strides, strict=True)
    return tuple((axis, step) for axis, step in pairs if axis.extent > 1 and step)


SHORT = 1 << 8
"""Terms for each element of a vector up to which sums are added in their own dtype: errors are no
larger than NumPy's.
"""


class Folded(NamedTuple):
    """A fold of rows: how many there are, the numbers of the frame but for addresses, and the
    length of rows of any length.
    """

    recipe: Recipe
    turns: int
    numbers: dict[str, int]
    length: int
    frame: tuple[str, ...] = ("array0", "step0", "array1", "step1")
    room: int = 0


def folded(store: Store) -> Folded | None:
    """How a store of a fold is computed; None where its elements or results lie otherwise than in
    rows, or in columns.
    """
    store = merged(store)
    term, size = store.term, np.dtype(store.dtype).itemsize
    read, written = dict(term.of.steps), dict(store.steps)

    def beside(some: dict[LoopAxis, int], axis: LoopAxis) -> bool:
        return some.get(axis) == size

    row = next((axis for axis in term.axes if beside(read, axis)), None)
    across = row is None
    if row is None:
        row = next((x for x in written if beside(read, x) and beside(written, x)), None)
    lines = [axis for axis in term.axes if axis != row]
    rows = [axis for axis in written if axis != row]
    if row is None or len(lines) > 1 or len(rows) > 1 or any(x not in read for x in lines):
        return None
    line, many = (*lines, LoopAxis("", 1))[0], (*rows, LoopAxis("", 1))[0]
    steps, turns, columns = [x.get(many, 0) for x in (read, written)], many.extent, row.extent
    width = WIDE * machine.lanes()
    if across and not rows and columns % width == 0:  # for threads to share them
        steps, turns, columns = [width * size] * 2, columns // width, width
    terms = line.extent * (1 if across else -(-columns // (UNITS * machine.lanes())))
    how = "short_sum" if term.how == "sum" and terms <= SHORT else term.how
    is_any = not across and not lines and columns > width
    recipe = Recipe(
        columns=0 if is_any else columns,
        operands=((store.dtype, MemoryPlace(0, depth=read.get(line, 0) // size)),),
        operations=(Operation(how, store.dtype, (0,)),),
        wide=(False,),
        results=((1, MemoryPlace(1)),),
        lines=line.extent,
        across=across,
    )
    return Folded(recipe, turns, {"step0": steps[0], "step1": steps[1]}, columns if is_any else 0)


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
    found = _cheapest(gathered_of(factors, out))
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
