"""Orders the nodes of each layer so that few lines cross.

Lines that span several layers pass dummies, one in each layer between, which the lines of one
output share. Source: Sugiyama, Tagawa & Toda 1981, with barycentres, then sifting.
"""

from __future__ import annotations

import random
from bisect import bisect_right, insort
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.diagram.layout.graph import LayoutLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Linear orderings of low cost, for the nodes of a column and the tracks of a channel.

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


_Places: TypeAlias = NDArray[np.float64]

_SWEEPS = 12
"""Maximum number of passes that sort layers by barycentres."""
_IDLE_SWEEPS = 3
"""Passes without improvement after which they stop."""
_SIFTINGS = 8
"""Maximum number of passes that sift layers."""
STARTS = 6
"""Maximum number of orders to start from."""
START_NODES = 5_000
"""Nodes, with dummies, of all starts together: large graphs have fewer."""
_MOVED_NODES = 2_000
"""Nodes, with dummies, of all attempts to move a long wire together."""
_MANY = 800
"""Lines between two layers that are compared pair by pair; layers with more are not sifted."""
_PORT_SHARE = 0.9 / 1_000.0
"""Of a place, for each px from the top of a node to a port."""


class Layering:
    """Nodes and dummies by layer, in order, and the lines between adjacent layers.

    Nodes numbered ``real`` or higher are dummies. ``passes`` are the dummies of each given line,
    ``chains`` those of each output, by its node and its distance from the top of the node.
    """

    def __init__(self, layer: Sequence[int], lines: Sequence[LayoutLine]) -> None:
        self.real = len(layer)
        self.layers: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
        for node, place in enumerate(layer):
            self.layers[place].append(node)
        self.chains: dict[tuple[int, float], list[int]] = {}
        short: dict[LayoutLine, None] = {}
        count = self.real
        self.passes: list[list[int]] = [[] for _ in lines]
        spans = [layer[line.head] - layer[line.tail] for line in lines]
        for i in sorted(range(len(lines)), key=spans.__getitem__):
            line, between = lines[i], spans[i] - 1
            chain = self.chains.setdefault((line.tail, line.leaves), [])
            for at in range(len(chain), between):
                last = (
                    LayoutLine(chain[-1], count)
                    if chain
                    else LayoutLine(line.tail, count, line.leaves)
                )
                short[last] = None
                chain.append(count)
                self.layers[layer[line.tail] + at + 1].append(count)
                count += 1
            self.passes[i] = chain[:between]
            short[
                LayoutLine(chain[between - 1], line.head, 0.0, line.enters) if between else line
            ] = None
        self.before: list[list[LayoutLine]] = [[] for _ in range(count)]
        self.after: list[list[LayoutLine]] = [[] for _ in range(count)]
        for line in short:
            self.after[line.tail].append(line)
            self.before[line.head].append(line)

    def __len__(self) -> int:
        return len(self.before)


def order_layers(graph: Layering, drawn: Sequence[float] | None, starts: int = STARTS) -> None:
    """Sort the layers of a graph so that few lines cross.

    ``drawn`` is the y of each node and dummy on the page now: its order stays unless another has
    fewer crossings. What is found stays if it is given back as drawn.
    """
    ordering = _Ordering(graph)
    if drawn is not None:
        ordering.put([sorted(layer, key=drawn.__getitem__) for layer in graph.layers])
        ordering.keep()
    for start in _starts(graph, starts):
        ordering.put(start)
        ordering.improve()
    while starts > 1 and ordering.fewest:
        before = ordering.fewest
        ordering.recall()
        ordering.improve()
        ordering.move_chains(_MOVED_NODES // len(graph))
        if ordering.fewest == before:
            break
    graph.layers = ordering.best


def _starts(graph: Layering, most: int) -> Iterator[list[list[int]]]:
    """The layers as they are given, upside down, and shuffled, always in the same way."""
    mixed = random.Random(0)
    for attempt in range(min(most, 1 + START_NODES // max(len(graph), 1))):
        if attempt < 2:
            yield [layer[::-1] for layer in graph.layers] if attempt else graph.layers
        else:
            yield [mixed.sample(layer, len(layer)) for layer in graph.layers]


class _Side:
    """The lines between a layer and one beside it, grouped by their nodes in the layer.

    ``own`` are these nodes, by their number in the layer; ``other`` are the far ends of the lines
    and ``port`` the shares of a place by which ports are below the tops of nodes.
    """

    def __init__(
        self, layer: Sequence[int], lines: Sequence[Sequence[LayoutLine]], *, before: bool
    ) -> None:
        wired = [(i, lines[node]) for i, node in enumerate(layer) if lines[node]]
        flat = [line for _, group in wired for line in group]
        self.own: Order = np.array([i for i, _ in wired], np.intp)
        sizes = [len(group) for _, group in wired]
        self.sizes = np.array(sizes, np.float64)
        self.first: Order = np.cumsum([0, *sizes[:-1]], dtype=np.intp)
        self.near: Order = np.repeat(self.own, sizes)
        self.other: Order = np.array([line.tail if before else line.head for line in flat], np.intp)
        far = [line.leaves if before else line.enters for line in flat]
        near = [line.enters if before else line.leaves for line in flat]
        self.port = _PORT_SHARE * np.array(far, np.float64)
        self.near_port = _PORT_SHARE * np.array(near, np.float64)

    def add_means(self, wanted: _Places, places: _Places) -> None:
        """Set ``wanted`` (k,) of nodes that have lines to the mean place at their far ends."""
        if len(self.own):
            ends = places[self.other] + self.port
            wanted[self.own] = np.add.reduceat(ends, self.first) / self.sizes

    def add_costs(self, costs: Costs, places: _Places) -> None:
        """Add to ``costs`` (k, k) the crossings when node i of the layer is above node j."""
        if len(self.own) > 1:
            ends = places[self.other] + self.port
            crosses = (ends[:, None] > ends).astype(np.float64)
            pairs = np.add.reduceat(np.add.reduceat(crosses, self.first), self.first, axis=1)
            costs[self.own[:, None], self.own] += pairs

    def crossings(self, inner: _Places, places: _Places) -> int:
        """Number of crossings; ``inner`` (k,) are the places of the nodes in the layer."""
        if len(self.near) < 2:
            return 0
        near, far = inner[self.near] + self.near_port, places[self.other] + self.port
        if len(near) > _MANY:
            return _inversions(near.tolist(), far.tolist())
        return int(((near[:, None] < near) & (far[:, None] > far)).sum())


def _inversions(near: Sequence[float], far: Sequence[float]) -> int:
    """How many pairs of lines begin in one order and end in the other, without a matrix of them."""
    total, ends = 0, list[float]()
    for _, group in groupby(sorted(zip(near, far, strict=True)), key=itemgetter(0)):
        heads = [end for _, end in group]
        total += sum(len(ends) - bisect_right(ends, end) for end in heads)
        for end in heads:
            insort(ends, end)
    return total


class _Ordering:
    """The places of all nodes in their layers, improved step by step."""

    def __init__(self, graph: Layering) -> None:
        self._graph = graph
        self._nodes: list[Order] = [np.array(layer, np.intp) for layer in graph.layers]
        self._before = [_Side(layer, graph.before, before=True) for layer in graph.layers]
        self._after = [_Side(layer, graph.after, before=False) for layer in graph.layers]
        self._places: _Places = np.zeros(len(graph))
        self._best: _Places | None = None
        self.fewest = 1
        self.put(graph.layers)

    @property
    def best(self) -> list[list[int]]:
        """The layers in the best order so far."""
        self.recall()
        return self._taken()

    def put(self, layers: Sequence[Sequence[int]]) -> None:
        """Take over an order of the same nodes."""
        for layer in layers:
            self._places[list(layer)] = np.arange(len(layer))

    def keep(self) -> None:
        """Keep the present order if it is the first, or has fewer crossings than the best."""
        found = self.crossings()
        if self._best is None or found < self.fewest:
            self._best, self.fewest = self._places.copy(), found

    def recall(self) -> None:
        """Return to the best order."""
        if self._best is not None:
            self._places[:] = self._best

    def improve(self) -> None:
        """Improve the present order, unless the best one has no crossing already."""
        if self.fewest:
            self.sweep()
            self.sift()
            self.keep()

    def move_chains(self, most: int) -> None:
        """Move long wires with their tails, at most so many, above and below everything else."""
        tried = 0
        for (tail, _), chain in self._graph.chains.items():
            for edge in (-1.0, float(len(self._graph))) if len(chain) > 1 else ():
                tried += 1
                if tried > most or not self.fewest:
                    return
                self.recall()
                self._places[[tail, *chain]] = edge
                self.put(self._taken())
                self.sift()
                self.keep()

    def crossings(self) -> int:
        """Number of crossings of all lines."""
        return sum(
            side.crossings(self._places[nodes], self._places)
            for nodes, side in zip(self._nodes, self._after, strict=True)
        )

    def sweep(self) -> None:
        """Sort layers by the means of their neighbours' places, back and forth; keep the best."""
        best, fewest, idle = self._places.copy(), self.crossings(), 0
        for sweep in range(_SWEEPS):
            if not fewest or idle == _IDLE_SWEEPS:
                break
            forward = sweep % 2 == 0
            sides = self._before if forward else self._after
            for i in range(len(sides)) if forward else reversed(range(len(sides))):
                wanted = self._places[self._nodes[i]]
                sides[i].add_means(wanted, self._places)
                self._sort(i, wanted)
            found = self.crossings()
            idle = 0 if found < fewest else idle + 1
            if found < fewest:
                best, fewest = self._places.copy(), found
        self._places[:] = best

    def sift(self) -> None:
        """Sift the layers back and forth until no node can move to where it crosses less."""
        count, idle = len(self._nodes), 0
        for sweep in range(_SIFTINGS):
            for i in range(count) if sweep % 2 == 0 else reversed(range(count)):
                idle = 0 if self._sift_layer(i) else idle + 1
                if idle > count:
                    return

    def _taken(self) -> list[list[int]]:
        """The layers in their present order."""
        return [nodes[self._places[nodes].argsort(kind="stable")].tolist() for nodes in self._nodes]

    def _sort(self, i: int, wanted: _Places) -> None:
        nodes = self._nodes[i]
        now = self._places[nodes]
        order = np.lexsort((now, wanted))
        self._places[nodes[order]] = np.arange(len(nodes))

    def _sift_layer(self, i: int) -> bool:
        """Returns whether the order of the layer has changed."""
        nodes = self._nodes[i]
        if len(nodes) < 2 or max(len(self._before[i].near), len(self._after[i].near)) > _MANY:
            return False
        costs: Costs = np.zeros((len(nodes), len(nodes)))
        self._before[i].add_costs(costs, self._places)
        self._after[i].add_costs(costs, self._places)
        order = self._places[nodes].argsort(kind="stable")
        found = sifted(order, costs - costs.T)
        self._places[nodes[found]] = np.arange(len(nodes))
        return found is not order
