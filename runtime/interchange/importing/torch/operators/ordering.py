"""Largest and smallest elements, and sorting.

PyTorch gives the whole gradient of ``max(dim)`` to the one element that it picks, where the blocks
Max and Min share it among equals: so it becomes an ArgMax and the element there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.indexing import take_along
from gradwire.runtime.interchange.importing.torch.operators.table import Operand, like, operator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _picked(stage: Stage, kind: str, x: Staged, dim: int, keepdim: bool) -> list[Staged]:
    if not x.ndim:
        return [x, stage.constant(np.int64(0))]
    place = stage.block(kind, x, axis=dim % x.ndim)
    value = stage.block("PickAlong", x, place, axis=dim % x.ndim)
    if not keepdim:
        return [value, place]
    shape = (*x.shape[: dim % x.ndim], 1, *x.shape[dim % x.ndim + 1 :])
    return [stage.reshape(value, shape), stage.reshape(place, shape)]


@operator("max.dim")
def max_dim(stage: Stage, x: Staged, dim: int, keepdim: bool = False) -> list[Staged]:
    """The largest element along an axis, and where it is."""
    return _picked(stage, "ArgMax", x, dim, keepdim)


@operator("min.dim")
def min_dim(stage: Stage, x: Staged, dim: int, keepdim: bool = False) -> list[Staged]:
    """The smallest element along an axis, and where it is."""
    return _picked(stage, "ArgMin", x, dim, keepdim)


@operator("max")
def max_(stage: Stage, x: Staged) -> Staged:
    """The largest element."""
    return stage.block("Max", x)


@operator("min")
def min_(stage: Stage, x: Staged) -> Staged:
    """The smallest element."""
    return stage.block("Min", x)


@operator("max.other")
def max_other(stage: Stage, a: Staged, b: Staged) -> Staged:
    """The larger of two, element by element."""
    return stage.block("Maximum", a, b)


@operator("min.other")
def min_other(stage: Stage, a: Staged, b: Staged) -> Staged:
    """The smaller of two, element by element."""
    return stage.block("Minimum", a, b)


@operator("argmax")
def argmax(stage: Stage, x: Staged, dim: int | None = None, keepdim: bool = False) -> Staged:
    """Where the largest element is."""
    return stage.block("ArgMax", x, axis=dim, keepdims=keepdim)


@operator("argmin")
def argmin(stage: Stage, x: Staged, dim: int | None = None, keepdim: bool = False) -> Staged:
    """Where the smallest element is."""
    return stage.block("ArgMin", x, axis=dim, keepdims=keepdim)


def _as_run(stage: Stage, x: Staged, dim: int, order: NDArray[Any] | None) -> Staged:
    """A result in the order that a run has left it in; None for that of the blocks."""
    if order is None:
        return x
    text = "Equal elements stand in the order of this run."
    stage.remark("specialised", text, x)
    return take_along(x, stage.constant(order), dim)


@operator("argsort.stable")
def argsort_stable(
    stage: Stage, x: Staged, stable: bool = True, dim: int = -1, descending: bool = False
) -> Staged:
    """Where the elements in order come from."""
    return argsort(stage, x, dim, descending)


@operator("argsort")
def argsort(
    stage: Stage,
    x: Staged,
    dim: int = -1,
    descending: bool = False,
    *,
    order: NDArray[Any] | None = None,
) -> Staged:
    """The same; ``order`` is that of the elements of a run, among those that are equal."""
    return _as_run(stage, stage.block("ArgSort", x, axis=dim, descending=descending), dim, order)


@operator("sort", "msort")
def sort(
    stage: Stage,
    x: Staged,
    dim: int = -1,
    descending: bool = False,
    *,
    order: NDArray[Any] | None = None,
) -> list[Staged]:
    """The elements in order, and where they come from; see ``argsort``."""
    places = argsort(stage, x, dim, descending, order=order)
    return [take_along(x, places, dim), places]


@operator("sort.stable")
def sort_stable(
    stage: Stage, x: Staged, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[Staged]:
    """The same; equal elements keep their order."""
    return sort(stage, x, dim, descending)


@operator("topk")
def topk(
    stage: Stage,
    x: Staged,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    order: NDArray[Any] | None = None,
) -> list[Staged]:
    """The first elements in order, and where they come from; see ``argsort``."""
    found = stage.blocks("TopK", x, k=k, axis=dim, largest=largest)
    return [_as_run(stage, each, dim, order) for each in found]


@operator("kthvalue")
def kthvalue(stage: Stage, x: Staged, k: int, dim: int = -1, keepdim: bool = False) -> list[Staged]:
    """The k-th smallest element along an axis, counted from 1, and where it is."""
    place = stage.cut(argsort(stage, x, dim), dim, k - 1, k)
    value = take_along(x, place, dim)
    if keepdim:
        return [value, place]
    return [stage.select(value, dim, 0), stage.select(place, dim, 0)]


@operator("median.dim")
def median_dim(stage: Stage, x: Staged, dim: int = -1, keepdim: bool = False) -> list[Staged]:
    """The lower median along an axis, and where it is."""
    return kthvalue(stage, x, (x.shape[dim] + 1) // 2, dim, keepdim)


@operator("median")
def median(stage: Stage, x: Staged) -> Staged:
    """The lower median of all elements."""
    return median_dim(stage, stage.reshape(x, (x.size,)), 0)[0]


@operator("bucketize.Tensor")
def bucketize(stage: Stage, x: Staged, edges: Staged, right: bool = False, **_: Any) -> Staged:
    """How many edges lie below each element; right counts those that equal it as well."""
    if edges.ndim != 1:
        raise UnsupportedError("bucketize", "each row has edges of its own")
    each = stage.reshape(x, (*x.shape, 1))
    below = stage.block("GreaterEqual" if right else "Greater", each, edges)
    return stage.block("Sum", stage.cast(below, "int64"), axis=(x.ndim,))


@operator("searchsorted.Tensor")
def searchsorted(
    stage: Stage,
    edges: Staged,
    x: Staged,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Staged | None = None,
) -> Staged:
    """How many of the edges, or of those in its row, lie below each element."""
    edges = edges if sorter is None else take_along(edges, sorter, -1)
    if edges.ndim > 1:
        edges = stage.reshape(edges, (*edges.shape[:-1], 1, edges.shape[-1]))
    each = stage.reshape(x, (*x.shape, 1))
    kind = "GreaterEqual" if right or side == "right" else "Greater"
    return stage.block("Sum", stage.cast(stage.block(kind, each, edges), "int64"), axis=(x.ndim,))


@operator("isin.Tensor_Tensor", "isin.Tensor_Scalar")
def isin(
    stage: Stage, x: Staged, among: Operand, *, assume_unique: bool = False, invert: bool = False
) -> Staged:
    """Whether each element is among others, or is not."""
    others = like(stage, among, x)
    each = stage.reshape(x, (*x.shape, 1))
    equal = stage.block("Equal", each, stage.reshape(others, (others.size,)))
    found = stage.block("AnyTrue", equal, axis=(x.ndim,))
    return stage.block("Not", found) if invert else found


@operator("cummax")
def cummax(stage: Stage, x: Staged, dim: int) -> list[Staged]:
    """The largest element up to each, for each prefix on its own."""
    return _running(stage, "ArgMax", x, dim)


@operator("cummin")
def cummin(stage: Stage, x: Staged, dim: int) -> list[Staged]:
    """The smallest element up to each, for each prefix on its own."""
    return _running(stage, "ArgMin", x, dim)


def _running(stage: Stage, kind: str, x: Staged, dim: int) -> list[Staged]:
    """The last of equal elements is picked: the first one backwards."""
    axis = dim % x.ndim
    backwards = stage.block("Flip", x, axis=(axis,))
    length = x.shape[dim]
    back = [
        stage.block(kind, stage.cut(backwards, dim, length - n, None), axis=axis, keepdims=True)
        for n in range(1, length + 1)
    ]
    along = np.arange(length).reshape([length if i == axis else 1 for i in range(x.ndim)])
    order = stage.constant(along) - stage.block("Concat", *back, axis=axis)
    return [take_along(x, order, dim), order]


@operator("_unique2")
def unique(
    stage: Stage, x: Staged, sorted: bool = True, inverse: bool = False, counts: bool = False
) -> list[Staged]:
    """The different numbers in order, where each went and how many there were, as of import."""
    found = np.unique(stage.numbers(x, "unique"), return_inverse=True, return_counts=True)
    return _different(stage, *found, inverse, counts)


@operator("unique_dim")
def unique_dim(
    stage: Stage,
    x: Staged,
    dim: int,
    sorted: bool = True,
    inverse: bool = False,
    counts: bool = False,
) -> list[Staged]:
    """The same of slices along an axis."""
    array = stage.numbers(x, "unique")
    found = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
    return _different(stage, *found)


@operator("unique_consecutive")
def unique_consecutive(
    stage: Stage, x: Staged, inverse: bool = False, counts: bool = False, dim: int | None = None
) -> list[Staged]:
    """Numbers, or slices along an axis, that differ from the one before; as of import."""
    array = stage.numbers(x, "unique_consecutive")
    lined = array.ravel() if dim is None else np.moveaxis(array, dim, 0)
    changes = (lined[1:] != lined[:-1]).reshape(max(0, len(lined) - 1), -1).any(axis=1)
    starts = np.flatnonzero(np.append(len(lined) > 0, changes)) if len(lined) else np.arange(0)
    values = lined[starts] if dim is None else np.moveaxis(lined[starts], 0, dim)
    places = np.append(0, np.cumsum(changes))[: len(lined)]
    places = places.reshape(array.shape) if dim is None else places
    times = np.diff(np.append(starts, len(lined)))
    if dim is not None:
        return _different(stage, values, places, times)
    return _different(stage, values, places, times, inverse, counts)


def _different(
    stage: Stage,
    values: NDArray[Any],
    places: NDArray[Any],
    times: NDArray[Any],
    inverse: bool = True,
    counts: bool = True,
) -> list[Staged]:
    """Three results, of which those that are not wanted are empty."""
    nothing = np.zeros(0, np.int64)
    found = (values, places if inverse else nothing, times if counts else nothing)
    return [stage.constant(x) for x in found]


@operator("bincount")
def bincount(stage: Stage, x: Staged, weights: Staged | None = None, minlength: int = 0) -> Staged:
    """How often each number from 0 to the largest occurs, or the sums of weights there."""
    largest = int(stage.numbers(x, "the number of bins of bincount").max(initial=-1))
    weights = stage.constant(np.ones(x.shape, np.int64)) if weights is None else weights
    empty = stage.constant(np.zeros(max(minlength, largest + 1), weights.dtype))
    return stage.block("ScatterAlong", empty, x, weights, mode="add", axis=0)
