"""Where to fold a long graph into rows, like a text into lines, so that it is shown large."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.layout.measures import COLUMN_GAP, PITCH, ROW_GAP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode

CANVAS = (1600.0, 1000.0)
"""Width and height of the canvas that a layout should fill, in px."""
READABLE = 0.6
"""A graph that fits the canvas at this zoom is not folded: its text can be read."""
FOLD_GAIN = 1.25
"""How much larger a folded graph must be shown to be worth it."""
_BUSY = 0.015
"""Share of the zoom that each wire over a fold costs."""
_CANDIDATES = 3
_NUMBERS_OF_ROWS = 8
"""Numbers of rows that are looked at, those that promise the largest zoom."""
_FRAME = 0.92
"""Share of the canvas that is filled."""
_CUT_COST = 1.5
"""Cost of a wire over a fold, in rows of twice their share of the layers."""
_LONGEST, _SHORTEST = 1.2, 0.5
"""Limits of the length of a row, as shares of its equal share of the layers."""


def zoom(width: float, height: float) -> float:
    """The zoom, at most 1, at which this size fits the canvas."""
    return _FRAME * min(1.0 / _FRAME, CANVAS[0] / max(width, 1.0), CANVAS[1] / max(height, 1.0))


def busyness(crossing: int, folds: int) -> float:
    """A divisor for the zoom of a graph with so many wires over its folds together."""
    return 1.0 + _BUSY * max(0.0, crossing / folds - 1.0) if folds else 1.0


def foldings(
    layer: Sequence[int],
    lines: Sequence[LayoutLine],
    nodes: Sequence[LayoutNode],
    hosts: Mapping[int, int],
) -> list[list[int]]:
    """The first layers of the rows, for a few ways to fold a graph; unfolded first.

    Folds are where few outputs are read across them; satellites, mapped by ``hosts`` to their
    readers, stay in the rows of these.
    """
    fold = _Fold(layer, lines, nodes, hosts)
    if fold.zoom([0]) > READABLE:
        return [[0]]
    evenly = {rows: fold.zoom(_even(fold.count, rows)) for rows in range(2, fold.count // 3 + 1)}
    promising = sorted(evenly, key=lambda rows: (-evenly[rows], rows))[:_NUMBERS_OF_ROWS]
    found: dict[tuple[int, ...], float] = {}
    for rows in sorted(promising):
        starts = fold.starts(rows)
        found[tuple(starts)] = fold.zoom(starts)
    best = sorted(found, key=lambda starts: (-found[starts], starts))
    return [[0], *[list(starts) for starts in best[:_CANDIDATES] if len(starts) > 1]]


class _Fold:
    """The layers of a graph: how many wires cross into each, and how tall each is."""

    def __init__(
        self,
        layer: Sequence[int],
        lines: Sequence[LayoutLine],
        nodes: Sequence[LayoutNode],
        hosts: Mapping[int, int],
    ) -> None:
        self.count = max(layer) + 1
        last: dict[tuple[int, float], int] = {}
        for line in lines:
            if line.tail not in hosts:
                output = line.tail, line.leaves
                last[output] = max(last.get(output, 0), layer[line.head])
        self._crossing = _covered(self.count, [(layer[t], end) for (t, _), end in last.items()])
        parted = _covered(self.count, [(layer[node], layer[host]) for node, host in hosts.items()])
        self._costs = [
            _CUT_COST * (wires + 0.5 * min(satellites, 2))
            for wires, satellites in zip(self._crossing, parted, strict=True)
        ]
        self._tall = [0.5 * ROW_GAP * wires for wires in self._crossing]
        wide = [0.0] * self.count
        for node, place in zip(nodes, layer, strict=True):
            self._tall[place] += node.height + ROW_GAP
            wide[place] = max(wide[place], node.width)
        self._ahead = [*accumulate((width + COLUMN_GAP + 10.0 for width in wide), initial=0.0)]

    def zoom(self, starts: Sequence[int]) -> float:
        """About the zoom at which rows with these first layers fit the canvas."""
        ends = [*starts[1:], self.count]
        width = max(self._ahead[b] - self._ahead[a] for a, b in zip(starts, ends, strict=True))
        height = sum(max(self._tall[a:b]) for a, b in zip(starts, ends, strict=True)) * 1.15
        crossing = [self._crossing[start] for start in starts[1:]]
        height += sum(60.0 + PITCH * wires for wires in crossing)
        return zoom(width, height) / busyness(sum(crossing), len(crossing))

    def starts(self, rows: int) -> list[int]:
        """First layers of rows of about equal length, with few wires over the folds.

        By dynamic programming over the layer at which a row ends.
        """
        ideal = self.count / rows
        longest = math.ceil(ideal * _LONGEST)
        best: list[tuple[float, int]] = [(0.0, 0)]
        for end in range(1, self.count + 1):
            options = [
                (best[start][0] + self._row_cost(end, (end - start) / ideal), start)
                for start in range(max(0, end - longest), end)
                if not start or end - start >= _SHORTEST * ideal
            ]
            best.append(min(options, default=(math.inf, 0)))
        starts, at = [], self.count
        while at and best[at][0] < math.inf:
            at = best[at][1]
            starts.append(at)
        return starts[::-1] if starts and not at else [0]

    def _row_cost(self, end: int, share: float) -> float:
        """Cost of a row with this share of its ideal length; the last one may be short."""
        cost = 0.5 * max(0.0, share - 1.0)
        return cost if end == self.count else cost + self._costs[end] + abs(1.0 - share)


def _covered(count: int, spans: Sequence[tuple[int, int]]) -> list[int]:
    """How many of the (first, last) ``spans`` enter each of ``count`` + 1 layers from the left."""
    change = [0] * (count + 2)
    for first, last in spans:
        change[first + 1] += 1
        change[last + 1] -= 1
    total, found = 0, []
    for step in change[: count + 1]:
        total += step
        found.append(total)
    return found


def _even(count: int, rows: int) -> list[int]:
    return [round(count * row / rows) for row in range(rows)]
