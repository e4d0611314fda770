"""Tracks for the wires that run along a channel, in the order that crosses least.

A channel is the gap between two columns, or between two rows. Along it, a net joins places on its
near side to places on its far side, on one track of its own where it turns.
"""

from __future__ import annotations

from dataclasses import field
from heapq import heappush, heapreplace
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.ordering import sifted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradwire.runtime.diagram.layout.ordering import Costs, Order

_ENDLESS = 1e7
_MANY = 400
"""Nets of a channel that are compared pair by pair."""
_OVERLAY_COST = 50.0
"""Cost, in crossings, of two wires that lie on each other where they leave the channel."""
_SAME = 4.0
"""Ends nearer to each other than this, in px, would lie on each other."""


@dataclass(eq=False)
class Net:
    """What one output joins in a channel: distances along it of ends on its near and far side.

    ``low`` and ``high`` tell whether it also leaves by the channel's start or end. ``track``
    counts from the near side; a net that runs straight through has none.
    """

    near: list[float] = field(default_factory=list)
    far: list[float] = field(default_factory=list)
    low: bool = False
    high: bool = False
    track: int | None = None

    def open(self, *, high: bool) -> None:
        """Let the net leave by the channel's end (``high``) or start."""
        self.high |= high
        self.low |= not high

    def span(self) -> tuple[float, float]:
        """The stretch of the channel that the net needs."""
        ends = self.near + self.far
        return -_ENDLESS if self.low else min(ends), _ENDLESS if self.high else max(ends)

    def directions(self) -> tuple[bool, bool]:
        """Whether wires run along the channel towards its end, and towards its start."""
        if self.low or self.high:
            return True, True
        return max(self.far) > min(self.near), min(self.far) < max(self.near)

    def is_straight(self) -> bool:
        """Whether the net runs straight through the channel."""
        low, high = self.span()
        return low == high


def assign_tracks(nets: Iterable[Net], apart: float) -> int:
    """Give each net that turns a track; returns the number of tracks.

    Nets on one track are at least ``apart`` px from each other.
    """
    turning = [net for net in nets if not net.is_straight()]
    if not turning:
        return 0
    if len(turning) > _MANY:
        return _stack(turning, apart)
    low, high = np.array([net.span() for net in turning]).T
    meet = (low[:, None] < high + apart) & (high[:, None] > low - apart)
    costs = _costs(turning, low, high)
    excess: Costs = np.where(meet, costs - costs.T, 0.0)
    start: Order = excess.sum(axis=1).argsort(kind="stable")
    order = sifted(start, excess).tolist()
    for at, i in enumerate(order):
        before = [turning[j].track or 0 for j in order[:at] if meet[i, j]]
        turning[i].track = max(before, default=-1) + 1
    return 1 + max(net.track or 0 for net in turning)


def _stack(nets: Sequence[Net], apart: float) -> int:
    """Give each net the first track that is free where it begins; for very many nets."""
    ends: list[tuple[float, int]] = []
    for net in sorted(nets, key=Net.span):
        low, high = net.span()
        if ends and ends[0][0] + apart <= low:
            net.track = heapreplace(ends, (high, ends[0][1]))[1]
        else:
            net.track = len(ends)
            heappush(ends, (high, net.track))
    return len(ends)


def _costs(nets: Sequence[Net], low: Costs, high: Costs) -> Costs:
    """Crossings (k, k) if net i has a track nearer than net j's.

    The far ends of net i then cross j, and the near ends of j cross i.
    """
    owner, far = _ends([net.far for net in nets])
    other, near = _ends([net.near for net in nets])
    costs, overlays = np.zeros((2, len(nets), len(nets)))
    np.add.at(costs, owner, (low < far[:, None]) & (far[:, None] < high))
    np.add.at(costs.T, other, (low < near[:, None]) & (near[:, None] < high))
    np.add.at(overlays, (owner[:, None], other), np.abs(far[:, None] - near) < _SAME)
    costs += _OVERLAY_COST * (overlays > 0)
    np.fill_diagonal(costs, 0.0)
    return costs


def _ends(ends: Sequence[Sequence[float]]) -> tuple[Order, Costs]:
    """The net of each end, and its distance along the channel."""
    owner = np.repeat(np.arange(len(ends)), [len(group) for group in ends])
    return owner, np.array([place for group in ends for place in group], np.float64)
