"""Automatic layout: data flows left to right, in columns, with few crossings and straight wires."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from runtime.diagram.layering import Layering, Line, layered
from runtime.diagram.model import PageView, Point, PortName, own_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCK_WIDTH = 150.0
"""Width of a block in px."""
HEADER_HEIGHT = 56.0
"""Height of a block without ports in px."""
PORT_HEIGHT = 18.0
"""Height that each port adds in px; ports on both sides share it."""
COLUMN_GAP = 80.0
"""Px between columns."""
ROW_GAP = 36.0
"""Px between blocks of one column, at least."""

_SWEEPS = 6
"""Passes that straighten wires, left to right and back by turns; the last two look both ways."""
_STAY_WEIGHT = 0.2
"""Weight of a node without wires on the side looked at, which wishes to stay where it is."""
_DUMMY_WEIGHT = 2.0
"""Weight of a dummy; a block has 1."""


def block_height(inputs: int, outputs: int) -> float:
    """Height in px of a block with that many ports."""
    return HEADER_HEIGHT + PORT_HEIGHT * max(inputs, outputs)


def arrange(page: PageView) -> dict[str, Point]:
    """A place for each block of the page; the same page gives the same places.

    Parts that no wire joins stand one below the other, blocks without wires in rows under them.
    """
    graph = _Graph.of(page)
    places: dict[int, Point] = {}
    top = 0.0
    alone: list[int] = []
    for part in graph.parts():
        if len(part.nodes) == 1:
            alone += part.nodes
            continue
        below = top
        for node, at in _arrange_part(graph.heights, part):
            places[node] = Point(at.x, at.y + top)
            below = max(below, at.y + top + graph.heights[node])
        top = below + 2 * ROW_GAP
    places |= _rows(graph.heights, alone, top)
    return {name: places[i] for i, name in enumerate(page.blocks)}


@dataclass
class _Graph:
    """Blocks as numbers, with heights, and wires as lines from port to port."""

    heights: list[float]
    lines: list[Line]

    @classmethod
    def of(cls, page: PageView) -> _Graph:
        number = {name: i for i, name in enumerate(page.blocks)}
        heights = []
        offset: dict[PortName, float] = {}
        for name in page.blocks:
            ports = own_ports(page, name)
            inputs = (*ports.inputs, *ports.free)
            heights.append(block_height(len(inputs), len(ports.outputs)))
            for side in (inputs, ports.outputs):
                for i, port in enumerate(side):
                    offset[PortName(name, port)] = HEADER_HEIGHT + PORT_HEIGHT * (i + 0.5)
        lines = [
            Line(number[s.block], number[t.block], offset.get(s, 0.0), offset.get(t, 0.0))
            for t, s in page.wires.items()
            if s.block in number and t.block in number and s.block != t.block
        ]
        return cls(heights, lines)

    def parts(self) -> list[_Part]:
        """What lines join, in order of the first node."""
        leader = list(range(len(self.heights)))

        def find(node: int) -> int:
            while leader[node] != node:
                leader[node] = node = leader[leader[node]]
            return node

        for line in self.lines:
            first, second = sorted((find(line.tail), find(line.head)))
            leader[second] = first
        grouped: dict[int, _Part] = {}
        for node in range(len(leader)):
            grouped.setdefault(find(node), _Part([], [])).nodes.append(node)
        for line in self.lines:
            grouped[find(line.tail)].lines.append(line)
        return list(grouped.values())


class _Part(NamedTuple):
    nodes: list[int]
    lines: list[Line]


def _arrange_part(heights: Sequence[float], part: _Part) -> Iterator[tuple[int, Point]]:
    number = {node: i for i, node in enumerate(part.nodes)}
    own = [heights[node] for node in part.nodes]
    lines = [line._replace(tail=number[line.tail], head=number[line.head]) for line in part.lines]
    graph = layered(len(own), lines, own)
    tops = _tops(graph, own)
    for column, layer in enumerate(graph.layers):
        x = column * (BLOCK_WIDTH + COLUMN_GAP)
        for node in layer:
            if node < len(own):
                yield part.nodes[node], Point(x, float(round(tops[node])))


def _rows(heights: Sequence[float], nodes: Sequence[int], top: float) -> dict[int, Point]:
    """Nodes in about as many rows as columns."""
    columns = math.ceil(math.sqrt(len(nodes)))
    places = {}
    for start in range(0, len(nodes), columns or 1):
        row = nodes[start : start + columns]
        for column, node in enumerate(row):
            places[node] = Point(column * (BLOCK_WIDTH + COLUMN_GAP), top)
        top += max(heights[node] for node in row) + ROW_GAP
    return places


def _tops(graph: Layering, heights: Sequence[float]) -> list[float]:
    """The y of each node: in its layer's order, wires as straight as that allows, from 0 down."""
    dummies = len(graph.before) - len(heights)
    sizes = [*heights, *[0.0] * dummies]
    gaps = [*[ROW_GAP] * len(heights), *[ROW_GAP / 2] * dummies]
    tops = [0.0] * len(sizes)
    for layer in graph.layers:
        for above, node in pairwise(layer):
            tops[node] = tops[above] + sizes[above] + (gaps[above] + gaps[node]) / 2
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        both = sweep >= _SWEEPS - 2
        for layer in graph.layers if forward else reversed(graph.layers):
            wishes = [
                _wish(graph, node, tops, forward or both, both or not forward) for node in layer
            ]
            steps = [
                sizes[above] + (gaps[above] + gaps[node]) / 2 for above, node in pairwise(layer)
            ]
            for node, top in zip(layer, _spread(wishes, steps), strict=True):
                tops[node] = top
    highest = min(tops[: len(heights)], default=0.0)
    return [top - highest for top in tops]


def _wish(
    graph: Layering, node: int, tops: Sequence[float], backward: bool, forward: bool
) -> tuple[float, float]:
    """Where a node would stand if its wires were straight, and how much that counts."""
    wishes = [
        tops[line.tail] + line.leaves - line.enters for line in graph.before[node] if backward
    ]
    wishes += [tops[line.head] + line.enters - line.leaves for line in graph.after[node] if forward]
    if not wishes:
        return tops[node], _STAY_WEIGHT
    weight = 1.0 if node < graph.real else _DUMMY_WEIGHT
    return sum(wishes) / len(wishes), weight


def _spread(wishes: Sequence[tuple[float, float]], steps: Sequence[float]) -> list[float]:
    """Places nearest to the wishes (least weighted squares) that are ``steps`` apart at least.

    Source: pool adjacent violators, Ayer et al. 1955.
    """
    offsets = list(accumulate(steps, initial=0.0))
    pools: list[tuple[float, float, int]] = []
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        mean, total, count = wish - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            above, heavy, more = pools.pop()
            mean = (above * heavy + mean * total) / (heavy + total)
            total += heavy
            count += more
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
