"""Adds rows at indices that repeat, in their order, many rows at a time instead of one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

LONG = 16
"""Elements of a row from which adding whole rows is faster than one element after the other."""

MANY = 64
"""Rows that a pass must add, on average, to be faster."""


def add_rows(out: Any, indices: Any, rows: Any) -> None:
    """``out[indices[i]] += rows[i]`` for each i in order, so that repeated ones are deterministic.

    ``indices`` has one dimension and no number below 0. Pass k adds the rows whose index comes for
    the k-th time: each element of ``out`` gets its numbers in the same order as one by one.
    """
    count = len(indices)
    long = rows.size >= LONG * max(count, MANY)
    if not long or MANY * int(np.bincount(indices).max()) > count:
        np.add.at(out, indices, rows)
        return
    order = np.argsort(indices, kind="stable")
    along = indices[order]
    first = np.concatenate(([True], along[1:] != along[:-1]))
    places = np.arange(count)
    times = places - np.maximum.accumulate(np.where(first, places, 0))
    by_time = order[np.argsort(times, kind="stable")]
    for chosen in np.split(by_time, np.cumsum(np.bincount(times))[:-1]):
        out[indices[chosen]] += rows[chosen]
