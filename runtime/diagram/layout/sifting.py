"""Linear orderings of low cost, for the nodes of a column and the tracks of a channel."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Order: TypeAlias = NDArray[np.intp]
Costs: TypeAlias = NDArray[np.float64]

_LEAST = 1e-6
_WORK = 4_000_000
"""Limits moves times the square of the number of items."""


def sifted(order: Order, excess: Costs) -> Order:
    """``order`` (k,) improved: the item that gains most moves to where it costs least, and so on.

    ``excess`` (k, k), with zeros on its diagonal, is the cost of item i before item j, less that of
    j before i. Returns ``order`` itself if no move improves it. Source: Matuszewski, Schönfeld &
    Molitor 1999.
    """
    count = len(order)
    items = np.arange(count)
    costs = np.zeros((count + 1, count))
    for _ in range(max(1, min(4 * count, _WORK // max(count * count, 1)))):
        np.cumsum(excess[order[:, None], order], axis=0, out=costs[1:])
        gains = costs[items, items] - costs.min(axis=0)
        at = int(gains.argmax())
        if gains[at] < _LEAST:
            break
        to = int(costs[:, at].argmin())
        order = _moved(order, at, to - (to > at))
    return order


def _moved(order: Order, at: int, to: int) -> Order:
    """A copy in which the item at ``at`` stands at ``to``."""
    moved = order.copy()
    if at < to:
        moved[at:to] = order[at + 1 : to + 1]
    else:
        moved[to + 1 : at + 1] = order[to:at]
    moved[to] = order[at]
    return moved
