"""Assigns the nodes of a directed graph to layers, and orders each layer with few crossings.

Nodes are integers; ties go to the lower number. Source: Sugiyama, Tagawa & Toda 1981, with
longest-path layers, dummy nodes on lines that span several layers, and barycentres.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_SWEEPS = 12
"""Maximum number of passes over all layers, in alternating directions."""
MAX_IDLE_SWEEPS = 3
"""Passes without improvement after which ordering stops."""


def dummy_budget(nodes: int) -> int:
    """Maximum number of dummies of a graph. Lines that would exceed it are ignored when layers are
    ordered, which keeps the work linear; nobody can follow a line through half of a large graph.
    """
    return min(4 * nodes, 8_000)


class Line(NamedTuple):
    """A line from ``tail`` to ``head``; ``leaves`` and ``enters`` are the heights in px, below the
    tops of these nodes, at which it does so.
    """

    tail: int
    head: int
    leaves: float = 0.0
    enters: float = 0.0


@dataclass
class Layering:
    """Nodes and dummies by layer, in order, and the lines between adjacent layers.

    Nodes numbered ``real`` or higher are dummies.
    """

    real: int
    layers: list[list[int]]
    lines: list[Line]
    before: list[list[Line]] = field(init=False)
    after: list[list[Line]] = field(init=False)

    def __post_init__(self) -> None:
        count = sum(map(len, self.layers))
        self.before = [[] for _ in range(count)]
        self.after = [[] for _ in range(count)]
        for line in self.lines:
            self.after[line.tail].append(line)
            self.before[line.head].append(line)


def layered(count: int, lines: Sequence[Line], heights: Sequence[float]) -> Layering:
    """Layers for nodes 0 … count - 1 with these heights, without the lines that close cycles."""
    order, kept = without_cycles(count, lines)
    layer = _longest_paths(order, kept)
    found = _with_dummies(layer, kept)
    _order(found, [*heights, *[0.0] * (len(found.before) - count)])
    return found


def without_cycles(count: int, lines: Sequence[Line]) -> tuple[list[int], list[Line]]:
    """A topological order from depth-first search, and the lines that agree with it."""
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
    finished.reverse()
    rank = {node: i for i, node in enumerate(finished)}
    return finished, [line for line in lines if rank[line.tail] < rank[line.head]]


def _longest_paths(order: Sequence[int], lines: Sequence[Line]) -> list[int]:
    """The layer of each node: one after its last input. A node with more outputs than inputs then
    moves to the layer before its first reader.
    """
    tails: list[set[int]] = [set() for _ in order]
    heads: list[set[int]] = [set() for _ in order]
    for line in lines:
        tails[line.head].add(line.tail)
        heads[line.tail].add(line.head)
    layer = [0] * len(order)
    for node in order:
        layer[node] = max((layer[tail] + 1 for tail in tails[node]), default=0)
    for node in reversed(order):
        if len(heads[node]) > len(tails[node]):
            layer[node] = min(layer[head] for head in heads[node]) - 1
    first = min(layer, default=0)
    return [place - first for place in layer]


def _with_dummies(layer: Sequence[int], lines: Sequence[Line]) -> Layering:
    """Route long lines through one dummy per layer, which the lines of one output share."""
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node, place in enumerate(layer):
        layers[place].append(node)
    budget = dummy_budget(len(layer))
    chains: dict[tuple[int, float], list[int]] = {}
    short: dict[Line, None] = {}
    count = len(layer)
    for line in sorted(lines, key=lambda line: layer[line.head] - layer[line.tail]):
        chain = chains.setdefault((line.tail, line.leaves), [])
        missing = layer[line.head] - layer[line.tail] - 1 - len(chain)
        if missing > budget:
            continue
        for _ in range(missing):
            last = Line(chain[-1], count) if chain else Line(line.tail, count, line.leaves)
            short[last] = None
            chain.append(count)
            layers[layer[line.tail] + len(chain)].append(count)
            count += 1
            budget -= 1
        through = layer[line.head] - layer[line.tail] - 2
        short[line if through < 0 else Line(chain[through], line.head, 0.0, line.enters)] = None
    return Layering(len(layer), layers, list(short))


def _order(graph: Layering, heights: Sequence[float]) -> None:
    """Sort the layers so that few lines cross; keeps the best order of all sweeps."""
    place = [0.0] * len(graph.before)
    for layer in graph.layers:
        _number(layer, place)
    best, fewest = [list(layer) for layer in graph.layers], _crossings(graph, place)
    idle = 0
    for sweep in range(MAX_SWEEPS):
        if not fewest or idle == MAX_IDLE_SWEEPS:
            break
        forward = sweep % 2 == 0
        for layer in graph.layers if forward else reversed(graph.layers):
            wanted = {node: _barycentre(graph, node, forward, place, heights) for node in layer}
            layer.sort(key=wanted.__getitem__)
            _number(layer, place)
        crossings = _crossings(graph, place)
        idle = 0 if crossings < fewest else idle + 1
        if crossings < fewest:
            best, fewest = [list(layer) for layer in graph.layers], crossings
    graph.layers = best
    for layer in graph.layers:
        _number(layer, place)
    for _ in range(max(1, min(40, 20_000 // len(place))) if fewest else 0):
        if not any([_swap_neighbours(graph, layer, place) for layer in graph.layers]):
            break


def _swap_neighbours(graph: Layering, layer: list[int], place: list[float]) -> bool:
    """Swap adjacent nodes of a layer if that saves crossings; returns whether any did."""
    swapped = False
    for i in range(len(layer) - 1):
        above, below = layer[i], layer[i + 1]
        crossed, uncrossed = 0, 0
        for one, other in (
            (_ends(graph.before[above], place, 0), _ends(graph.before[below], place, 0)),
            (_ends(graph.after[above], place, 1), _ends(graph.after[below], place, 1)),
        ):
            crossed += sum(a > b for a in one for b in other)
            uncrossed += sum(a < b for a in one for b in other)
        if uncrossed < crossed:
            layer[i], layer[i + 1] = below, above
            place[above], place[below] = place[below], place[above]
            swapped = True
    return swapped


def _ends(lines: Sequence[Line], place: Sequence[float], side: int) -> list[tuple[float, float]]:
    """The other ends of lines: position in the layer, and height of the port."""
    if side:
        return [(place[line.head], line.enters) for line in lines]
    return [(place[line.tail], line.leaves) for line in lines]


def _number(layer: Sequence[int], place: list[float]) -> None:
    for i, node in enumerate(layer):
        place[node] = float(i)


def _barycentre(
    graph: Layering, node: int, forward: bool, place: Sequence[float], heights: Sequence[float]
) -> float:
    """Mean position of the neighbours in the adjacent layer, refined by the heights of ports."""
    lines = graph.before[node] if forward else graph.after[node]
    if not lines:
        return place[node]
    total = 0.0
    for line in lines:
        other, port = (line.tail, line.leaves) if forward else (line.head, line.enters)
        total += place[other] + 0.9 * port / (heights[other] or 1.0)
    return total / len(lines)


def _crossings(graph: Layering, place: Sequence[float]) -> int:
    """Number of crossings: for each line, the lines that start above it and end below it."""
    total = 0
    for layer in graph.layers:
        ends: list[tuple[float, float]] = []
        for *_, head, enters in sorted(
            (place[node], line.leaves, place[line.head], line.enters)
            for node in layer
            for line in graph.after[node]
        ):
            total += len(ends) - bisect_right(ends, (head, enters))
            insort(ends, (head, enters))
    return total
