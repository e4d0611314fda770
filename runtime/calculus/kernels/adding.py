"""Adds rows at indices that repeat, in their order, many rows at a time instead of one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

LONG = 64
"""Elements of a row from which adding whole rows is faster than one element after the other."""

FLAT = 1 << 8
"""Elements from which adding to those of a flat array is faster than adding rows."""

MANY = 64
"""Rows from which looking for those with one index is worthwhile."""

OFTEN = 32
"""Rows with one index from which they are added up on their own."""

_PASS, _INDEX, _ELEMENT = 1000, 500, 1
"""What a pass, an index that comes often, and an element added on its own cost, in relation."""


def add_rows(out: Array, indices: Array, rows: Array) -> None:
    """``out[indices[i]] += rows[i]`` for each i in order, so that repeated ones are deterministic.

    ``indices`` has one dimension and no number below 0. Each element of ``out`` gets its numbers in
    the same order as one by one: the rows of an index that comes often are added up one below the
    other; of the rest, pass k adds the rows whose index comes for the k-th time.
    """
    count = len(indices)
    if rows.size < LONG * max(count, MANY):
        _add_at(out, indices, rows)
        return
    order, distinct, starts, lengths = _grouped(indices)
    often = lengths >= OFTEN
    passes = int(lengths[~often].max(initial=0))
    if _ELEMENT * rows.size < _PASS * passes + _INDEX * int(often.sum()):
        _add_at(out, indices, rows)
        return
    found = zip(distinct[often], starts[often].tolist(), lengths[often].tolist(), strict=True)
    for index, start, length in found:
        _add_below(out, index, rows[order[start : start + length]])
    starts, lengths = starts[~often], lengths[~often]
    for time in range(passes):
        chosen = order[starts[lengths > time] + time]
        out[indices[chosen]] += rows[chosen]


def _add_at(out: Array, indices: Array, rows: Array) -> None:
    """``np.add.at`` in the same order; to elements of a flat array numpy adds far faster."""
    width = math.prod(out.shape[1:])
    if not out.flags.c_contiguous or (width > 1 and rows.size < FLAT):
        np.add.at(out, indices, rows)
        return
    places = indices if width == 1 else indices[:, None] * width + np.arange(width)
    np.add.at(out.reshape(-1), places.reshape(-1), rows.reshape(-1))


def sum_rows(indices: Array, rows: Array) -> tuple[Array, Array]:
    """The distinct indices in ascending order, and the sum of the rows of each.

    ``indices`` and ``rows`` are as in ``add_rows``; the sums have the bits that it would leave in
    zeros.
    """
    groups = _grouped(indices)
    count, width = len(groups.distinct), math.prod(rows.shape[1:])
    shape, rows = (count, *rows.shape[1:]), rows.reshape(len(indices), width)
    if width < LONG:
        places = np.empty(len(indices), np.intp)
        places[groups.order] = np.repeat(np.arange(count), groups.lengths)
        sums = np.zeros((count, width), rows.dtype)
        _add_at(sums, places, rows)
        return groups.distinct, sums.reshape(shape)
    ranks = np.argsort(-groups.lengths, kind="stable")
    ranked = np.empty((count, width), rows.dtype)
    _sum_groups(ranked, groups.order, groups.starts[ranks], groups.lengths[ranks], rows)
    sums = np.empty_like(ranked)
    sums[ranks] = ranked
    sums += 0  # the first row was not added to 0, and may be −0
    return groups.distinct, sums.reshape(shape)


def sum_rows_by(
    add: Callable[[Array, Array, Array], object], indices: Array, rows: Array, scratch: Array
) -> tuple[Array, Array]:
    """As ``sum_rows``, where ``add`` does what ``np.add.at`` does with rows of one dimension.

    ``scratch`` has room for an index in place of each row of the whole array.
    """
    count, width = len(indices), math.prod(rows.shape[1:])
    every = np.arange(count)
    scratch[indices] = every
    distinct = np.sort(indices[scratch[indices] == every])
    scratch[distinct] = every[: len(distinct)]
    sums = np.zeros((len(distinct), width), rows.dtype)
    add(sums, scratch[indices], rows.reshape(count, width))
    return distinct, sums.reshape(len(distinct), *rows.shape[1:])


def _sum_groups(out: Array, order: Array, starts: Array, lengths: Array, rows: Array) -> None:
    """Write the sums of groups of rows, which get shorter: the first ones one by one, of the rest
    all rows with one place in their group together.
    """
    often = int(np.searchsorted(-lengths, -OFTEN, side="right"))
    for i, (start, length) in enumerate(zip(starts[:often].tolist(), lengths[:often].tolist(),
                                            strict=True)):  # fmt: skip
        chosen = order[start : start + length]
        np.add.reduce(rows[chosen], axis=0, dtype=out.dtype, out=out[i])
    rest, starts, lengths = out[often:], starts[often:], lengths[often:]
    if not len(rest):
        return
    longer = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left").tolist()
    places = [order[starts[:many] + time] for time, many in enumerate(longer)]
    chosen = rows[np.concatenate(places)]
    np.copyto(rest, chosen[: len(rest)])
    at = len(rest)
    for many in longer[1:]:
        np.add(rest[:many], chosen[at : at + many], out=rest[:many])
        at += many


@by_identity
class _Groups(NamedTuple):
    """Places in indices, those of one index side by side, and in the order they had."""

    order: Array
    distinct: Array
    """The indices, each once, in ascending order."""
    starts: Array
    """Where the group of each begins in ``order``."""
    lengths: Array


def _grouped(indices: Array) -> _Groups:
    order = np.argsort(indices, kind="stable")
    along = indices[order]
    is_first = np.empty(len(along), bool)
    is_first[:1] = True
    np.not_equal(along[1:], along[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    return _Groups(order, along[starts], starts, np.diff(starts, append=len(along)))


def _add_below(out: Array, index: Array, rows: Array) -> None:
    """Add rows to one of ``out``, one after the other."""
    first = out[index]
    below = np.concatenate((first.reshape(1, -1), rows.reshape(len(rows), -1)))
    out[index] = np.add.reduce(below, axis=0, dtype=out.dtype).reshape(first.shape)
