"""Root mean squares of gradients: their size, without keeping them in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.value import Primitive
from gradwire.runtime.engine.plan.sparse_rows import SparseRows, numbers_of

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.program import Program


_TILE = 8192
"""Elements that are summed in their own precision; the sums of tiles are added in float64."""
_SMALL = 256
"""Elements up to which arrays are measured in batches: calls cost more than arithmetic there."""


def rms(array: Array | SparseRows) -> float:
    """√(Σ x² / n), to five digits or better; 0 for an empty array."""
    if isinstance(array, SparseRows):
        return rms(array.values) * math.sqrt(array.values.size / max(1, array.size))
    if not array.size:
        return 0.0
    once = array[tuple(0 if step == 0 else slice(None) for step in array.strides)]
    flat = once.ravel(order="K")
    if flat.dtype == np.float16:
        flat = flat.astype(np.float32)
    elif flat.dtype.kind in "iub":  # products of integers wrap around
        flat = flat.astype(np.float64)
    with np.errstate(all="ignore"):
        total = 0.0
        for start in range(0, flat.size, _TILE):
            tile = flat[start : start + _TILE]
            total += float(np.dot(tile, tile))
        # Squares overflow or underflow long before the numbers themselves do.
        low = 1e-290 if flat.dtype == np.float64 else 1e-30
        if low < total < math.inf:
            return math.sqrt(total / flat.size)
        return _scaled(flat.astype(np.float64))


def _scaled(x: NDArray[np.float64]) -> float:
    top = float(np.max(np.abs(x)))
    if not 0.0 < top < math.inf:
        return top
    x = x / top
    return top * math.sqrt(float(np.dot(x, x)) / x.size)


def rms_of_each(arrays: Sequence[Array | SparseRows]) -> NDArray[np.float64]:
    """The root mean square of every array, as ``rms`` gives it; small ones are batched."""
    found = np.zeros(len(arrays))
    for places, rows in batches(arrays):
        if rows is None:
            found[places] = [rms(arrays[place]) for place in places]
        else:
            found[places] = rms_of_rows(rows, np.max(np.abs(rows), axis=1))
    return found


def rms_of_rows(rows: Array, peaks: Array) -> NDArray[np.float64]:
    """The root mean square of every row, given the largest magnitude in it."""
    top = peaks.astype(np.float64)
    if rows.shape[1] == 1:
        return top
    plain = (top > 0.0) & (top < math.inf)
    unit = np.where(plain, top, 1.0)
    with np.errstate(all="ignore"):
        shares = rows / unit[:, None]
        means = np.einsum("ij,ij->i", shares, shares) / rows.shape[1]
        return np.where(plain, top * np.sqrt(means), top)


class NormBatch(NamedTuple):
    """Arrays of one size and dtype by their positions; those that are not ``small`` are measured
    one by one.
    """

    places: list[int]
    size: int
    small: bool


def batched(arrays: Iterable[Array | SparseRows]) -> list[NormBatch]:
    """Which of ``arrays`` can be measured together; the same for others of these sizes and
    dtypes.
    """
    alike: dict[tuple[int, np.dtype[Any]], list[int]] = {}
    for place, array in enumerate(arrays):
        alike.setdefault((array.size, array.dtype), []).append(place)
    return [NormBatch(places, size, 0 < size <= _SMALL) for (size, _), places in alike.items()]


def batches(
    arrays: Sequence[Array | SparseRows], known: Iterable[NormBatch] | None = None
) -> Iterator[tuple[list[int], Array | None]]:
    """Batches of arrays of one size and dtype: their positions, and the arrays as rows of one.

    Large and empty arrays are not batched: None stands for the rows. ``known`` is what
    ``batched`` says about them.
    """
    for places, size, small in batched(arrays) if known is None else known:
        if not small:
            yield places, None
        elif len(places) == len(arrays):
            yield places, np.concatenate(arrays, axis=None).reshape(-1, size)
        else:
            rows = np.concatenate([arrays[place] for place in places], axis=None)
            yield places, rows.reshape(-1, size)


def all_finite(
    arrays: Sequence[Array | SparseRows], known: Iterable[NormBatch] | None = None
) -> bool:
    """Whether no array of floats has NaN or an infinity; ``known`` as in ``batches``."""
    return all(
        np.isfinite(rows).all()
        if rows is not None
        else all(np.isfinite(numbers_of(arrays[place])).all() for place in places)
        for places, rows in batches(arrays, known)
    )


def combined_rms(parts: Iterable[tuple[float | None, int]]) -> float | None:
    """The root mean square over several arrays, from pairs of root mean square and element count.

    None if no array has one.
    """
    return combined_rms_by_name({"": list(parts)})[""]


def combined_rms_by_name(
    groups: Mapping[str, Iterable[tuple[float | None, int]]],
) -> dict[str, float | None]:
    """``combined_rms`` for every group of arrays, by the name of the group."""
    known = {
        name: [(size, count) for size, count in parts if size is not None]
        for name, parts in groups.items()
    }
    found: dict[str, float | None] = dict.fromkeys(groups)
    filled = {name: parts for name, parts in known.items() if parts}
    if filled:
        sizes, counts = zip(*(part for parts in filled.values() for part in parts), strict=True)
        starts = np.cumsum([0, *map(len, filled.values())])[:-1]
        each = combined_rms_of_runs(np.array(sizes, float), np.array(counts), starts)
        found |= dict(zip(filled, each.tolist(), strict=True))
    return found


def combined_rms_of_runs(
    sizes: NDArray[np.float64], counts: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The root mean square over each run of consecutive arrays; runs begin at ``starts`` and are
    not empty.
    """
    top = np.maximum.reduceat(sizes, starts)
    plain = (top > 0.0) & (top < math.inf)
    unit = np.repeat(np.where(plain, top, 1.0), np.diff(starts, append=len(sizes)))
    with np.errstate(all="ignore"):
        squares = np.add.reduceat(counts * (sizes / unit) ** 2, starts)
        means = squares / np.maximum(1, np.add.reduceat(counts, starts))
        return np.where(plain, top * np.sqrt(means), top)


def with_tree_norms(program: Program, norms: Mapping[str, Array | None]) -> dict[str, float | None]:
    """Norms by wire as floats, including those of trees whose leaves are among the wires."""
    if not norms:
        return {}
    found = {wire: None if norm is None else float(norm) for wire, norm in norms.items()}
    trees = {
        wire: [(found[leaf], program.wires[leaf].size) for leaf in leaves]
        for wire, tree in program.wire_trees.items()
        if (leaves := [leaf for leaf in tree.arrays.values() if leaf in found])
    }
    return found | combined_rms_by_name(trees)


def norm_of(value: Value) -> Value:
    """Trace the root mean square of a value: a float64 of rank 0."""
    xp = value.trace.xp
    if not value.shape:
        return xp.astype(xp.abs(value), "float64")
    return value.trace.apply(RMS, value)


def square_of(value: Value) -> Value:
    """Trace the sum of the squares of a value: a float64 of rank 0."""
    return value.trace.apply(SUM_OF_SQUARES, value)


def sum_of_squares(block: Array) -> float:
    """The sum of the squares of all elements, of an array of one dimension; in float64 where that
    of their dtype overflows, and for float16. NumPy's warnings are the caller's.
    """
    total = float(np.dot(block, block)) if block.itemsize >= 4 else math.inf
    if not math.isfinite(total):
        wide = block.astype(np.float64)
        total = float(np.dot(wide, wide))
    return total


def square_sum(rows: SparseRows) -> float:
    """The sum of the squares of all elements, as ``sum_of_squares`` computes it."""
    return sum_of_squares(rows.values.reshape(-1))


def _infer(x: Value) -> tuple[Shape, str]:
    return (), "float64"


def _rms_kernel(x: Array, *, out: Array) -> None:
    out[...] = rms(x)


def _squares_kernel(x: Array, *, out: Array) -> None:
    out[...] = sum_of_squares(x.reshape(-1))


RMS = Primitive("rms", _infer, _rms_kernel, (None,))
SUM_OF_SQUARES = Primitive("sum_of_squares", _infer, _squares_kernel, (None,))
