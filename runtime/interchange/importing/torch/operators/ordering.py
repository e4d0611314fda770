"""Largest and smallest elements, and sorting.

PyTorch gives the whole gradient of ``max(dim)`` to the one element that it picks, where the blocks
Max and Min share it among equals: so it becomes an ArgMax and the element there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import ordering
from gradwire.runtime.interchange.importing.meanings.indexing import take_along
from gradwire.runtime.interchange.importing.meanings.shapes import flatten
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import enter, like, operator

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _as_run(x: Staged, dim: int, order: Array | None) -> Staged:
    """A result in the order that a run has left it in; None for that of the blocks."""
    if order is None:
        return x
    text = "Equal elements stand in the order of this run."
    x.stage.remark("specialised", text, x)
    return take_along(x, x.stage.constant(order), dim)


def _places(
    x: Staged, dim: int = -1, descending: bool = False, order: Array | None = None
) -> Staged:
    """Where the elements in order come from; ``order`` is that of a run, among equal ones."""
    return _as_run(put("ArgSort", x, axis=dim, descending=descending), dim, order)


def _sort(x: Staged, places: Staged, dim: int = -1) -> list[Staged]:
    return [take_along(x, places, dim), places]


def _searched(
    x: Staged, edges: Staged, right: bool, out_int32: bool, sorter: Staged | None = None
) -> Staged:
    edges = edges if sorter is None else take_along(edges, sorter, -1)
    return x.stage.cast(ordering.count_below(x, edges, right), "int32" if out_int32 else "int64")


def _bucketize(x: Staged, edges: Staged, *, right: bool = False, out_int32: bool = False) -> Staged:
    if edges.ndim != 1:
        raise UnsupportedError("bucketize", "each row has edges of its own")
    return _searched(x, edges, right, out_int32)


def _size(x: Staged, least: int) -> int:
    largest = x.stage.numbers(x, "the number of bins of bincount").max(initial=-1)
    return max(least, int(largest) + 1)


@operator("unique_consecutive")
def _unique_consecutive(
    x: Staged, inverse: bool = False, counts: bool = False, dim: int | None = None
) -> list[Staged]:
    """Numbers, or slices along an axis, that differ from the one before; as of import."""
    array = x.stage.numbers(x, "unique_consecutive")
    lined = array.ravel() if dim is None else np.moveaxis(array, dim, 0)
    changes = (lined[1:] != lined[:-1]).reshape(max(0, len(lined) - 1), -1).any(axis=1)
    starts = np.flatnonzero(np.append(len(lined) > 0, changes)) if len(lined) else np.arange(0)
    values = lined[starts] if dim is None else np.moveaxis(lined[starts], 0, dim)
    places = np.append(0, np.cumsum(changes))[: len(lined)]
    places = places.reshape(array.shape) if dim is None else places
    times = np.diff(np.append(starts, len(lined)))
    if dim is not None:
        return _different(x.stage, values, places, times)
    return _different(x.stage, values, places, times, inverse, counts)


def _unique(x: Staged, dim: int | None, *wanted: bool) -> list[Staged]:
    """The different numbers, or slices, in order, where each went, and how many there were."""
    array = x.stage.numbers(x, "unique")
    found = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
    return _different(x.stage, *found, *wanted)


def _different(
    stage: Stage,
    values: Array,
    places: Array,
    times: Array,
    inverse: bool = True,
    counts: bool = True,
) -> list[Staged]:
    """Three results, of which those that are not wanted are empty."""
    nothing = np.zeros(0, np.int64)
    found = (values, places if inverse else nothing, times if counts else nothing)
    return [stage.constant(x) for x in found]


enter({
    "max": partial(put, "Max"), "min": partial(put, "Min"),
    "max.dim": partial(ordering.extreme, "ArgMax"),
    "min.dim": partial(ordering.extreme, "ArgMin"),
    "argmax": lambda x, dim=None, keepdim=False: ordering.place("ArgMax", x, dim, keepdim),
    "argmin": lambda x, dim=None, keepdim=False: ordering.place("ArgMin", x, dim, keepdim),
    "cummax": partial(ordering.running_extreme, "ArgMax"),
    "cummin": partial(ordering.running_extreme, "ArgMin"),
    "argsort": _places,
    "argsort.stable": lambda x, stable=True, dim=-1, descending=False: _places(x, dim, descending),
    "msort": lambda x: ordering.sort(x, 0)[0],
    "sort": lambda x, dim=-1, descending=False, *, order=None: _sort(
        x, _places(x, dim, descending, order), dim
    ),
    "sort.stable": lambda x, stable=None, dim=-1, descending=False: ordering.sort(
        x, dim, descending
    ),
    "topk": lambda x, k, dim=-1, largest=True, sorted=True, *, order=None: [
        _as_run(each, dim, order) for each in ordering.top_k(x, k, dim, largest)
    ],
    "kthvalue": ordering.kth,
    "median.dim": ordering.median,
    "median": lambda x: ordering.shared(x, ordering.median(flatten(x), 0)[0]),
    "bucketize.Tensor": _bucketize,
    "searchsorted.Tensor": (
        lambda edges, x, *, out_int32=False, right=False, side=None, sorter=None: (
            _searched(x, edges, right or side == "right", out_int32, sorter)
        )
    ),
    "isin.Tensor_Tensor isin.Tensor_Scalar": (
        lambda x, among, *, assume_unique=False, invert=False: ordering.is_among(
            x, like(among, x), invert
        )
    ),
    "bincount": lambda x, weights=None, minlength=0: ordering.histogram(
        x, _size(x, minlength), weights
    ),
    "_unique2": lambda x, sorted=True, inverse=False, counts=False: _unique(
        x, None, inverse, counts
    ),
    "unique_dim": lambda x, dim, *_, **__: _unique(x, dim),
})  # fmt: skip
