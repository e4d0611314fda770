"""Elements by their order: extremes and where they are, sorting, and what lies below others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings.indexing import take_along
from gradwire.runtime.interchange.importing.meanings.shapes import flatten, unsqueeze
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def place(
    kind: str, x: Staged, axis: int | None = None, keepdims: bool = False, last: bool = False
) -> Staged:
    """Where the ArgMax or ArgMin is: of equal elements the first or the last one."""
    if axis is None or not last:
        return put(kind, x, axis=axis, keepdims=keepdims)
    back = put(kind, put("Flip", x, axis=axis), axis=axis, keepdims=keepdims)
    return (x.shape[axis] - 1) - back


def extreme(kind: str, x: Staged, axis: int, keepdims: bool = False) -> list[Staged]:
    """The element at the ArgMax or ArgMin, which gets all gradient, and where it is."""
    if not x.ndim:
        return [x, x.stage.constant(np.int64(0))]
    axis %= x.ndim
    where = put(kind, x, axis=axis)
    found = [put("PickAlong", x, where, axis=axis), where]
    return [unsqueeze(y, (axis,)) for y in found] if keepdims else found


def running_extreme(kind: str, x: Staged, axis: int) -> list[Staged]:
    """The extreme up to each element, of equal ones the last, and where it is."""
    axis, length = axis % x.ndim, x.shape[axis]
    backwards = put("Flip", x, axis=(axis,))
    back = [
        put(kind, x.stage.cut(backwards, axis, length - n, None), axis=axis, keepdims=True)
        for n in range(1, length + 1)
    ]
    along = np.arange(length).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    order = x.stage.constant(along) - put("Concat", *back, axis=axis)
    return [take_along(x, order, axis), order]


def sort(x: Staged, axis: int = -1, descending: bool = False) -> list[Staged]:
    """The elements in order, and where they come from."""
    order = put("ArgSort", x, axis=axis, descending=descending)
    return [take_along(x, order, axis), order]


def sort_together(xs: Sequence[Staged], axis: int = -1, keys: int = 1) -> list[Staged]:
    """All in the order of the first, where equal of the second, and so on: ``keys`` of them."""
    if len(xs) == 1:
        return [put("Sort", xs[0], axis=axis)]
    order = put("ArgSort", xs[keys - 1], axis=axis)
    for key in xs[: keys - 1][::-1]:  # stable from the last
        then = put("ArgSort", put("TakeAlong", key, order, axis=axis), axis=axis)
        order = put("TakeAlong", order, then, axis=axis)
    return [put("TakeAlong", x, order, axis=axis) for x in xs]


def top_k(x: Staged, k: int, axis: int = -1, largest: bool = True) -> tuple[Staged, ...]:
    """The first elements in order, and where they come from."""
    return x.stage.blocks("TopK", x, k=k, axis=axis, largest=largest)


def kth(x: Staged, k: int, axis: int = -1, keepdims: bool = False) -> list[Staged]:
    """The k-th smallest element along an axis, counted from 1, and where it is."""
    where = x.stage.cut(put("ArgSort", x, axis=axis), axis, k - 1, k)
    found = [take_along(x, where, axis), where]
    return found if keepdims else [x.stage.select(y, axis, 0) for y in found]


def median(x: Staged, axis: int = -1, keepdims: bool = False) -> list[Staged]:
    """The lower median along an axis, and where it is."""
    return kth(x, (x.shape[axis] + 1) // 2, axis, keepdims)


def shared(x: Staged, y: Staged) -> Staged:
    """``y``, a number that is among those of ``x``, as the mean of those that equal it: they share
    its gradient.
    """
    if not x.is_float or y.array is not None:
        return y
    equal = put("Equal", x, y)
    return put("Sum", put("Where", equal, x, x.like(0))) / put("Sum", x.stage.cast(equal, x.dtype))


def count_below(x: Staged, edges: Staged, right: bool = False) -> Staged:
    """How many edges, or of those in its row, lie below each element, or equal it (``right``)."""
    edges = unsqueeze(edges, (-2,)) if edges.ndim > 1 else edges
    below = put("GreaterEqual" if right else "Greater", unsqueeze(x, (-1,)), edges)
    return put("Sum", x.stage.cast(below, "int64"), axis=(x.ndim,))


def is_among(x: Staged, others: Staged, inverted: bool = False) -> Staged:
    """Whether each element equals one of others, or none."""
    equal = put("Equal", unsqueeze(x, (-1,)), flatten(others))
    found = put("AnyTrue", equal, axis=(x.ndim,))
    return put("Not", found) if inverted else found


def histogram(x: Staged, count: int, weights: Staged | None = None) -> Staged:
    """How often each number from 0 on occurs, or the sums of weights there."""
    weights = x.stage.constant(np.ones(x.shape, np.int64)) if weights is None else weights
    empty = x.stage.constant(np.zeros(count, weights.dtype))
    return put("ScatterAlong", empty, x, weights, mode="add", axis=0)
