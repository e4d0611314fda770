"""Adds rows at indices that repeat, in their order, many rows at a time instead of one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

LONG = 16
"""Elements of a row from which adding whole rows is faster than one element after the other."""

MANY = 64
"""Rows from which looking for those with one index is worthwhile."""

OFTEN = 32
"""Rows with one index from which they are added up on their own."""

_PASS, _INDEX, _ELEMENT = 1000, 500, 1
"""What a pass, an index that comes often, and an element added on its own cost, in relation."""


def add_rows(out: Any, indices: Any, rows: Any) -> None:
    """``out[indices[i]] += rows[i]`` for each i in order, so that repeated ones are deterministic.

    ``indices`` has one dimension and no number below 0. Each element of ``out`` gets its numbers in
    the same order as one by one: the rows of an index that comes often are added up one below the
    other; of the rest, pass k adds the rows whose index comes for the k-th time.
    """
    count = len(indices)
    if rows.size < LONG * max(count, MANY):
        np.add.at(out, indices, rows)
        return
    order = np.argsort(indices, kind="stable")
    along = indices[order]
    starts = np.flatnonzero(np.concatenate(([True], along[1:] != along[:-1])))
    lengths = np.diff(starts, append=count)
    often = lengths >= OFTEN
    passes = int(lengths[~often].max(initial=0))
    if _ELEMENT * rows.size < _PASS * passes + _INDEX * int(often.sum()):
        np.add.at(out, indices, rows)
        return
    for start, length in zip(starts[often].tolist(), lengths[often].tolist(), strict=True):
        _add_below(out, along[start], rows[order[start : start + length]])
    starts, lengths = starts[~often], lengths[~often]
    for time in range(passes):
        chosen = order[starts[lengths > time] + time]
        out[indices[chosen]] += rows[chosen]


def _add_below(out: Any, index: Any, rows: Any) -> None:
    """Add rows to one of ``out``, one after the other."""
    first = out[index]
    below = np.concatenate((first.reshape(1, -1), rows.reshape(len(rows), -1)))
    out[index] = np.add.reduce(below, axis=0, dtype=out.dtype).reshape(first.shape)
