"""Stacks arrays of one shape along a new first axis, as a view if their memory allows it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gradwire.runtime.engine.plan.memory import BlockArrays

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Step


def stacked_values(
    values: Sequence[Value], arrays: Mapping[Value, Array]
) -> tuple[list[Step], Array]:
    """As ``stacked`` of their arrays, none of which is needed if all are rows of one block."""
    if isinstance(arrays, BlockArrays):
        known = arrays.rows
        rows = [known[x] for x in values if x in known]
        if len(rows) == len(values) > 1:
            block, start = arrays.block_of(min(rows))
            if max(rows) < start + len(block):
                return _rows_of(block, [row - start for row in rows])
    return stacked([arrays[x] for x in values])


def _rows_of(block: Array, rows: Sequence[int]) -> tuple[list[Step], Array]:
    first, distance, count = rows[0], rows[1] - rows[0], len(rows)
    if not distance and rows.count(first) == count:
        return [], np.broadcast_to(block[first, ...], (count, *block.shape[1:]))
    stop = first + count * distance
    if distance and list(rows) == list(range(first, stop, distance)):
        return [], block[first : stop if stop >= 0 else None : distance]
    whole = np.empty((count, *block.shape[1:]), block.dtype)
    # With another mode numpy would write to a copy of ``whole`` first.
    return [partial(block.take, np.array(rows), 0, whole, "clip")], whole


def stacked(arrays: Sequence[Array]) -> tuple[list[Step], Array]:
    """``np.stack(arrays)``, and the steps that refresh it in every run: none for a view.

    It is a view if the arrays are parts of one block of memory at equal distances, or all the
    same array; otherwise it is a copy.
    """
    view = as_view(arrays)
    if view is not None:
        return [], view
    whole = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    rows = [array[None] for array in arrays]
    return [partial(np.concatenate, rows, 0, whole)], whole


def as_view(arrays: Sequence[Array]) -> Array | None:
    """``np.stack(arrays)`` without a copy, or None if memory does not allow it."""
    first = arrays[0]
    if any(array.strides != first.strides for array in arrays):
        return None
    if all(array is first for array in arrays):
        return np.broadcast_to(first, (len(arrays), *first.shape))
    places = [array.__array_interface__["data"][0] for array in arrays]
    distance = places[1] - places[0]
    even = all(b - a == distance for a, b in itertools.pairwise(places))
    if not even or not first.size:
        return None
    if distance and any(_block(array) is not _block(first) for array in arrays):
        return None  # neighbours by accident
    return as_strided(
        first, (len(arrays), *first.shape), (distance, *first.strides), writeable=False
    )


def are_contiguous(values: Iterable[Value], arrays: Mapping[Value, Array]) -> bool:
    """Whether each of the arrays is contiguous, as rows of blocks are."""
    rows = arrays.rows if isinstance(arrays, BlockArrays) else {}
    return all(x in rows or arrays[x].flags.c_contiguous for x in values)


def in_order(stack: Array) -> bool:
    """Whether numpy reduces a stack in the same order of addition as one array after another.

    Numpy sorts axes by stride, so that of the first axis must be the largest, or 0.
    """
    inner = (abs(s) for n, s in zip(stack.shape[1:], stack.strides[1:], strict=True) if n > 1)
    return not stack.strides[0] or stack.strides[0] > max(inner, default=0)


def _block(array: Array) -> Array:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
