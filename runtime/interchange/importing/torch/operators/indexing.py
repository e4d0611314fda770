"""Elements picked by indices, masks and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.indexing import inside, one_hot, take_along
from gradwire.runtime.interchange.importing.meanings.reductions import norm
from gradwire.runtime.interchange.importing.meanings.shapes import band, flatten
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Operand,
    enter,
    like,
    operator,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def spelled(indices: Sequence[Staged | None]) -> list[Staged | None]:
    """Indices without masks: each mask is the places where it is true, known at import."""
    found: list[Staged | None] = []
    for mask in indices:
        if mask is None or mask.dtype not in ("bool", "uint8"):
            found.append(mask)
        else:
            places = np.nonzero(mask.stage.numbers(mask, "an index by a mask"))
            found += [mask.stage.constant(place) for place in places]
    return found


@operator("index", "_unsafe_index")
def index(x: Staged, indices: Sequence[Staged | None]) -> Staged:
    """``x[i, :, j]``: the indexed axes together give one set of axes, that of the indices."""
    given = spelled(indices)
    along = [axis for axis, i in enumerate(given) if i is not None]
    first = along[0] if along == list(range(along[0], along[-1] + 1)) else 0
    x, flat = merged(x, given, along, first)
    return x.stage.take(x, flat, first)


def merged(
    x: Staged, given: Sequence[Staged | None], along: list[int], first: int
) -> tuple[Staged, Staged]:
    """``x`` with the indexed axes as one, at ``first``, and the indices into that."""
    rest = [axis for axis in range(x.ndim) if axis not in along]
    order = (*rest[:first], *along, *rest[first:])
    lengths = [x.shape[axis] for axis in along]
    places = [place for place in given if place is not None]
    each = [inside(place, length) for place, length in zip(places, lengths, strict=True)]
    flat = each[0]
    for at, length in zip(each[1:], lengths[1:], strict=True):
        flat = flat * length + at
    x = x.stage.transpose(x, order)
    behind = x.shape[first + len(along) :]
    return x.stage.reshape(x, (*x.shape[:first], math.prod(lengths), *behind)), flat


@operator("take_along_dim")
def take_along_dim(x: Staged, indices: Staged, dim: int | None = None) -> Staged:
    """As gather, with shapes that are repeated to fit."""
    if dim is None:
        return take_along(flatten(x), flatten(indices), 0)
    dim %= x.ndim
    shape = list(np.broadcast_shapes(
        x.shape[:dim] + x.shape[dim + 1 :], indices.shape[:dim] + indices.shape[dim + 1 :]
    ))  # fmt: skip
    x = x.stage.broadcast(x, (*shape[:dim], x.shape[dim], *shape[dim:]))
    indices = x.stage.broadcast(indices, (*shape[:dim], indices.shape[dim], *shape[dim:]))
    return take_along(x, indices, dim)


def _one_hot(indices: Staged, num_classes: int = -1) -> Staged:
    if num_classes < 0:
        known = indices.stage.numbers(indices, "the number of classes of one_hot")
        num_classes = int(known.max()) + 1
    return one_hot(indices, num_classes, "int64")


enter({
    "index_select": lambda x, dim, indices: x.stage.take(x, flatten(indices), dim),
    "take": lambda x, indices: x.stage.take(flatten(x), inside(indices, x.size), 0),
    "tril": lambda x, diagonal=0: band(x, None, diagonal),
    "triu": lambda x, diagonal=0: band(x, -diagonal, None),
    "gather": lambda x, dim, indices, sparse_grad=False: take_along(x, indices, dim),
    "one_hot": _one_hot,
    "nonzero": lambda x: x.stage.constant(np.argwhere(x.stage.numbers(x, "nonzero"))),
    "nonzero_numpy": lambda x: [
        x.stage.constant(i) for i in np.nonzero(x.stage.numbers(x, "nonzero"))
    ],
})  # fmt: skip


@operator("embedding")
def embedding(
    weight: Staged,
    indices: Staged,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Staged:
    """Rows of a table; the padding row gets no gradient."""
    _require_gradient_in_full(scale_grad_by_freq)
    padding = int(padding_idx) if padding_idx >= 0 else None
    return put("Embedding", indices, weight, padding=padding)


def _require_gradient_in_full(scale_grad_by_freq: bool) -> None:
    if scale_grad_by_freq:
        raise UnsupportedError("embedding", "gradient is divided by how often a row is looked up")


@operator("embedding_bag", "_embedding_bag")
def embedding_bag(
    weight: Staged,
    indices: Staged,
    offsets: Staged,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Staged | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> list[Staged | None]:
    """Sums (mode 0), means (1) or maxima (2) of rows of a table, over bags that begin at offsets.

    Rows of padding are in no bag, and an empty bag is 0.
    """
    _require_gradient_in_full(scale_grad_by_freq)
    stage = weight.stage
    starts = stage.numbers(offsets, "the bags of embedding_bag")
    ends = np.append(starts[1:], [] if include_last_offset else indices.size).astype(np.int64)
    lengths = ends - starts[: ends.size]
    place = np.arange(lengths.max(initial=0))
    there = place < lengths[:, None]
    places = np.where(there, starts[: ends.size, None] + place, 0)

    def bagged(x: Staged) -> Staged:
        if there.all() and places.size == x.size:
            return stage.reshape(x, places.shape)
        return stage.take(x, places, 0)

    picked = bagged(indices)
    inside = stage.constant(there)
    if padding_idx is not None and padding_idx >= 0:
        inside = put("And", inside, put("NotEqual", picked, picked.like(padding_idx)))
    whole = inside.array is not None and bool(inside.array.all())
    each = stage.reshape(inside, (*places.shape, 1))
    rows = put("Embedding", picked, weight)
    if per_sample_weights is not None:
        rows = rows * stage.reshape(bagged(per_sample_weights), (*places.shape, 1))
    if mode == 2:
        return [_largest_rows(rows, each, whole), None, None, None]
    total = rows if whole else put("Where", each, rows, rows.like(0))
    total = put("Sum", total, axis=(1,))
    if mode == 1:
        count = put("Sum", stage.cast(each, rows.dtype), axis=(1,))
        total = total / put("Maximum", count, count.like(1))
    return [total, None, None, None]


def _largest_rows(rows: Staged, inside: Staged, whole: bool) -> Staged:
    """The largest of each column of a bag, the first one of equals; 0 for an empty bag."""
    if not rows.shape[1]:
        return rows.stage.constant(np.zeros((rows.shape[0], rows.shape[2]), rows.dtype))
    found = rows if whole else put("Where", inside, rows, rows.like(-np.inf))
    place = put("ArgMax", found, axis=1)
    largest = put("PickAlong", rows, place, axis=1)
    if whole:
        return largest
    some = put("AnyTrue", inside, axis=(1,))
    return put("Where", some, largest, largest.like(0))


@operator("embedding_renorm")
def embedding_renorm(weight: Staged, indices: Staged, max_norm: float, norm_type: float) -> Staged:
    """A table whose rows that are looked up are no longer than a norm."""
    stage = weight.stage
    rows = stage.constant(np.zeros(weight.shape[0], np.int64))
    one = rows.like(1)
    looked_up = put("ScatterRows", rows, flatten(indices), one, mode="set", axis=0)
    shortened = renorm(weight, norm_type, 0, max_norm)
    there = stage.reshape(looked_up, (weight.shape[0], 1)) > 0
    return put("Where", there, shortened, weight)


@operator("renorm")
def renorm(x: Staged, p: float, dim: int, maxnorm: float) -> Staged:
    """``x`` whose parts along an axis are no longer than a norm."""
    rest = [axis for axis in range(x.ndim) if axis != dim % x.ndim]
    length = norm(x, p, rest, keepdims=True)
    factor = float(maxnorm) / (length + 1e-7)
    return x * put("Where", length > float(maxnorm), factor, factor.like(1))


@operator("masked_select")
def masked_select(x: Staged, mask: Staged) -> Staged:
    """The elements where a mask is true, known at import."""
    shape = np.broadcast_shapes(x.shape, mask.shape)
    places = np.flatnonzero(np.broadcast_to(x.stage.numbers(mask, "masked_select"), shape))
    return x.stage.take(flatten(x.stage.broadcast(x, shape)), places, 0)


@operator("nonzero_static")
def nonzero_static(x: Staged, *, size: int, fill_value: int = -1) -> Staged:
    """The first places of numbers other than 0, known at import, and ``fill_value`` after them."""
    found = np.stack(np.nonzero(x.stage.numbers(x, "nonzero_static")), axis=-1)[:size]
    return x.stage.constant(
        np.pad(found, ((0, size - len(found)), (0, 0)), constant_values=fill_value)
    )


@operator("fill_diagonal")
def fill_diagonal(x: Staged, fill_value: Operand, wrap: bool = False) -> Staged:
    """``x`` with one number where all indices are equal; wrap goes on in tall matrices."""
    there = np.zeros(x.shape, bool)
    np.fill_diagonal(there, val=True, wrap=wrap)
    filled = x.stage.cast(like(fill_value, x), x.dtype)
    return put("Where", x.stage.constant(there), filled, x)
