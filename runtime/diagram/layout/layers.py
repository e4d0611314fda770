"""The layer of each node, which lines lead backwards, and which nodes only serve one other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode


# Layers with the least total length of lines, by network simplex.
#
# Every line leads at least one layer ahead. A spanning tree of lines of length one fixes all
# layers; a tree line with a negative cut value is exchanged for the tightest line that leads back
# across its cut. The cut value of a tree line is the sum, over the nodes on its tail's side, of
# lines out less lines in. Source: Gansner, Koutsofios, North & Vo 1993.

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


_DEEP = 5
"""A side tree with so many layers stands on its own, not beside what it feeds."""


class Layers(NamedTuple):
    """``order`` is topological; ``backward`` are numbers of the lines that close cycles.

    ``hosts`` maps a satellite (a source, or the end of a tree of sources) to its only reader.
    """

    layer: list[int]
    order: list[int]
    backward: frozenset[int]
    hosts: dict[int, int]


def layers_of(nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine]) -> Layers:
    """Layers of the nodes of a connected graph; the first and the last ones have their own."""
    order = _topological(len(nodes), lines)
    rank = {node: i for i, node in enumerate(order)}
    backward = frozenset(i for i, line in enumerate(lines) if rank[line.tail] >= rank[line.head])
    forward = [line for i, line in enumerate(lines) if i not in backward]
    ends = _Neighbours(order, forward, {i for i, node in enumerate(nodes) if node.first})
    layer = shortest_layers(_longest_paths(ends), [(line.tail, line.head) for line in forward])
    return Layers(_bounded(layer, nodes), order, backward, _hosts(ends, forward))


def rough_layers(nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine]) -> list[int]:
    """The layers alone, by longest paths; lines may be longer than they need to be."""
    order = _topological(len(nodes), lines)
    rank = [0] * len(nodes)
    for i, node in enumerate(order):
        rank[node] = i
    forward = [line for line in lines if rank[line.tail] < rank[line.head]]
    ends = _Neighbours(order, forward, {i for i, node in enumerate(nodes) if node.first})
    return _bounded(_longest_paths(ends), nodes)


def _bounded(layer: Sequence[int], nodes: Sequence[LayoutNode]) -> list[int]:
    """The layers, with the first nodes before all others and the last ones behind them."""
    inner = [at for at, node in zip(layer, nodes, strict=True) if not (node.first or node.last)]
    begin = int(any(node.first for node in nodes))
    rank = {at: begin + i for i, at in enumerate(sorted(set(inner)))}
    return [
        0 if node.first else begin + len(rank) if node.last else rank[at]
        for at, node in zip(layer, nodes, strict=True)
    ]


class _Neighbours:
    """The distinct tails and heads of each node, without lines that close cycles.

    A node is ``light`` if it is a source, or is fed by light nodes that feed nothing else; the
    nodes ``firm`` are not.
    """

    def __init__(
        self, order: Sequence[int], lines: Sequence[LayoutLine], firm: Collection[int]
    ) -> None:
        self.order = order
        self.tails: list[set[int]] = [set() for _ in order]
        self.heads: list[set[int]] = [set() for _ in order]
        for line in lines:
            self.tails[line.head].add(line.tail)
            self.heads[line.tail].add(line.head)
        self.light = [False] * len(order)
        for node in order:
            self.light[node] = (
                node not in firm
                and bool(self.heads[node])
                and all(
                    self.light[tail] and len(self.heads[tail]) == 1 for tail in self.tails[node]
                )
            )

    def depths(self) -> list[int]:
        """The length of the longest path to each node."""
        depth = [0] * len(self.order)
        for node in self.order:
            depth[node] = max((depth[tail] + 1 for tail in self.tails[node]), default=0)
        return depth


def _topological(count: int, lines: Sequence[LayoutLine]) -> list[int]:
    """The nodes in topological order by depth-first search, as if lines back were not there."""
    heads: list[list[int]] = [[] for _ in range(count)]
    for line in lines:
        heads[line.tail].append(line.head)
    finished: list[int] = []
    seen = [False] * count
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = True
        work = [(root, iter(heads[root]))]
        while work:
            node, rest = work[-1]
            for head in rest:
                if not seen[head]:
                    seen[head] = True
                    work.append((head, iter(heads[head])))
                    break
            else:
                work.pop()
                finished.append(node)
    return finished[::-1]


def _longest_paths(ends: _Neighbours) -> list[int]:
    """One after the last input; side trees and nodes that feed more than they read move to their
    first reader. A good start for the simplex.
    """
    layer = ends.depths()
    for node in reversed(ends.order):
        heads = ends.heads[node]
        if heads and (ends.light[node] or len(heads) > len(ends.tails[node])):
            layer[node] = min(layer[head] for head in heads) - 1
    return layer


def _hosts(ends: _Neighbours, lines: Sequence[LayoutLine]) -> dict[int, int]:
    """The only reader of each light node, unless the node is that reader's main input.

    The main input is the one with the longest path behind it; of equals, the topmost.
    """
    depth = ends.depths()
    main: dict[int, tuple[int, float, int]] = {}
    for line in lines:
        found = (-depth[line.tail], line.enters, line.tail)
        main[line.head] = min(found, main.get(line.head, found))
    hosts: dict[int, int] = {}
    for node in reversed(ends.order):
        if ends.light[node] and len(ends.heads[node]) == 1:
            (head,) = ends.heads[node]
            if head in hosts or (main[head][2] != node and depth[node] < _DEEP):
                hosts[node] = head
    return hosts
