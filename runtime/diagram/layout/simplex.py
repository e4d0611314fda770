"""Layers with the least total length of lines, by network simplex.

Every line leads at least one layer ahead. A spanning tree of lines of length one fixes all layers;
a tree line with a negative cut value is exchanged for the tightest line that leads back across its
cut. The cut value of a tree line is the sum, over the nodes on its tail's side, of lines out less
lines in. Source: Gansner, Koutsofios, North & Vo 1993.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Numbers: TypeAlias = NDArray[np.intp]


def shortest_layers(layer: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node, from a valid ``layer``, for a connected graph of (tail, head)."""
    if len(layer) < 3 or not pairs:
        return list(layer)
    simplex = _Simplex(layer, Counter(pairs))
    for _ in range(_most_exchanges(len(layer))):
        if not simplex.exchange():
            break
    ranks = simplex.ranks - simplex.ranks.min()
    return [int(rank) for rank in ranks]


def _most_exchanges(nodes: int) -> int:
    """Limits the work for large graphs, for which nearly optimal layers are good enough."""
    return min(400, 120_000 // nodes)


class _Simplex:
    def __init__(self, layer: Sequence[int], weights: Counter[tuple[int, int]]) -> None:
        self.ranks: _Numbers = np.array(layer, np.intp)
        self._count = len(layer)
        self._tails, self._heads = np.array(list(weights), np.intp).T
        weight = np.array(list(weights.values()), np.intp)
        self._net = np.zeros(self._count, np.intp)
        np.add.at(self._net, self._tails, weight)
        np.add.at(self._net, self._heads, -weight)
        self._joined: list[dict[int, int]] = [{} for _ in layer]
        self._span()

    def exchange(self) -> bool:
        """Exchange the tree line with the least cut value; returns whether any is negative."""
        order, parent, line_to = self._rooted()
        total, size = self._net.tolist(), [1] * self._count
        for node in reversed(order[1:]):
            total[parent[node]] += total[node]
            size[parent[node]] += size[node]
        nodes: _Numbers = np.array(order[1:])
        lines: _Numbers = np.array([line_to[node] for node in order[1:]])
        sums = np.array(total)[nodes]
        leads_up = self._tails[lines] == nodes
        values = np.where(leads_up, sums, -sums)
        worst = int(values.argmin())
        if values[worst] >= 0:
            return False
        inside = np.zeros(self._count, bool)
        inside[order[worst + 1 : worst + 1 + size[order[worst + 1]]]] = True
        behind = inside if leads_up[worst] else ~inside
        entering = np.flatnonzero(~behind[self._tails] & behind[self._heads])
        if not len(entering):
            return False
        slack = self._slack(entering)
        self.ranks[behind] -= slack.min()
        self._leave(int(lines[worst]))
        self._enter(int(entering[slack.argmin()]))
        return True

    def _span(self) -> None:
        """Grow a tree of tight lines, moving it as a whole to the nearest node outside."""
        inside = np.zeros(self._count, bool)
        inside[0] = True
        while not inside.all():
            border = np.flatnonzero(inside[self._tails] != inside[self._heads])
            slack = self._slack(border)
            line = int(border[slack.argmin()])
            tail, head = int(self._tails[line]), int(self._heads[line])
            self.ranks[inside] += slack.min() if inside[tail] else -slack.min()
            self._enter(line)
            inside[tail] = inside[head] = True

    def _slack(self, lines: _Numbers) -> _Numbers:
        ahead: _Numbers = self.ranks[self._heads[lines]] - self.ranks[self._tails[lines]]
        return ahead - 1

    def _enter(self, line: int) -> None:
        tail, head = int(self._tails[line]), int(self._heads[line])
        self._joined[tail][head] = self._joined[head][tail] = line

    def _leave(self, line: int) -> None:
        tail, head = int(self._tails[line]), int(self._heads[line])
        del self._joined[tail][head], self._joined[head][tail]

    def _rooted(self) -> tuple[list[int], list[int], list[int]]:
        """The tree from node 0: nodes in preorder, the parent of each, and the line to it."""
        order: list[int] = []
        parent, line_to, stack = [-1] * self._count, [-1] * self._count, [0]
        while stack:
            node = stack.pop()
            order.append(node)
            for other, line in self._joined[node].items():
                if other != parent[node]:
                    parent[other], line_to[other] = node, line
                    stack.append(other)
        return order, parent, line_to
