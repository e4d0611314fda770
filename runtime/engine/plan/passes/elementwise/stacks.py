"""Stacks arrays of one shape along a new first axis, as a view if their memory allows it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

if TYPE_CHECKING:
    from runtime.engine.plan.tasks import Step

Array = NDArray[Any]


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
