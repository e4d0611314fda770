"""The layer of each node, which lines lead backwards, and which nodes only serve one other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.diagram.layout.simplex import shortest_layers

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode

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
