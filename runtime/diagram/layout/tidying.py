"""Tidies a page with small moves: aligned columns, even gaps and straight wires.

Blocks keep their relative positions as far as the wires allow. Tidying is idempotent: a tidy page
does not change.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from runtime.diagram.layout.arranging import COLUMN_GAP, ROW_GAP, SNAP, Graph, arrange, spread
from runtime.diagram.layout.layering import Line, without_cycles
from runtime.diagram.layout.measures import WIDTH
from runtime.diagram.model import PageView, Point

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_PITCH = WIDTH + COLUMN_GAP / 2.0
"""Minimum distance between columns, with half the gap of an automatic layout."""
_GAP = ROW_GAP / 2.0
"""Minimum gap between the blocks of a column."""
_STRAY_WEIGHT = 0.01
"""Weight of the position of a column all of whose blocks were pushed there by wires."""


def tidied(
    page: PageView, layout: Mapping[str, Point], names: Collection[str] = ()
) -> dict[str, Point]:
    """Positions for the blocks called ``names``, or all if it is empty, near their current ones.

    Inputs come from the left; the blocks of a column keep their order and don't overlap. If no
    block has a position, the page is arranged from scratch.
    """
    if not layout.keys() & page.blocks.keys():
        return {name: at for name, at in arrange(page).items() if not names or name in names}
    graph, start = Graph.of(page), _start(page, layout)
    chosen = [i for i, name in enumerate(page.blocks) if not names or name in names]
    number = {node: i for i, node in enumerate(chosen)}
    lines = [
        line._replace(tail=number[line.tail], head=number[line.head])
        for line in graph.lines
        if line.tail in number and line.head in number
    ]
    blocks = list(page.blocks)
    places = [start[blocks[node]] for node in chosen]
    order, kept = without_cycles(len(chosen), lines)
    columns, lefts = _columns([at.x for at in places], order, kept)
    tops = _tops([at.y for at in places], columns, [graph.heights[node] for node in chosen], kept)
    return {
        blocks[node]: Point(left, top) for node, left, top in zip(chosen, lefts, tops, strict=True)
    }


def _start(page: PageView, layout: Mapping[str, Point]) -> Mapping[str, Point]:
    """The position of each block; without one, that of an automatic layout moved near the rest."""
    if layout.keys() >= page.blocks.keys():
        return layout
    scratch = arrange(page)
    placed = [name for name in page.blocks if name in layout]
    right, down = (
        sum(layout[name][axis] - scratch[name][axis] for name in placed) / len(placed)
        for axis in (0, 1)
    )
    moved = {name: Point(at.x + right, at.y + down) for name, at in scratch.items()}
    return moved | {name: layout[name] for name in placed}


def _columns(
    xs: Sequence[float], order: Sequence[int], lines: Sequence[Line]
) -> tuple[list[list[int]], list[float]]:
    """Nodes by column, from left to right, and the left edge of each node.

    A node stays in the column where it was placed unless it must move to the right of its inputs.
    """
    found, first = [0] * len(xs), 0.0
    column = -1
    for node in sorted(range(len(xs)), key=xs.__getitem__):
        if column < 0 or xs[node] - first > _PITCH / 2.0:
            column, first = column + 1, xs[node]
        found[node] = column
    wanted = list(found)
    _enforce_direction(found, order, lines)
    by_column: dict[int, list[int]] = {column: [] for column in sorted(set(found))}
    for node, column in enumerate(found):
        by_column[column].append(node)
    columns = list(by_column.values())
    desired = []
    for nodes in columns:
        stayed = [node for node in nodes if found[node] == wanted[node]]
        mean = sum(xs[node] for node in stayed or nodes) / len(stayed or nodes)
        desired.append((mean, float(len(stayed)) or _STRAY_WEIGHT))
    edges = _spread_rounded(desired, [_PITCH] * (len(columns) - 1))
    lefts = [0.0] * len(xs)
    for nodes, edge in zip(columns, edges, strict=True):
        for node in nodes:
            lefts[node] = edge
    return columns, lefts


def _enforce_direction(columns: list[int], order: Sequence[int], lines: Sequence[Line]) -> None:
    """Modify ``columns`` so that every line leads to a later column.

    If several readers are left of a node, the node moves before them; otherwise its readers move.
    """
    heads: list[list[int]] = [[] for _ in columns]
    tails: list[list[int]] = [[] for _ in columns]
    for line in lines:
        heads[line.tail].append(line.head)
        tails[line.head].append(line.tail)
    for node in reversed(order):
        last = min((columns[head] for head in heads[node]), default=columns[node] + 1) - 1
        behind = [head for head in heads[node] if columns[head] <= columns[node]]
        others = sum(1 + bool(heads[head]) for head in behind)
        if others > 1 and all(columns[tail] < last for tail in tails[node]):
            columns[node] = last
    for node in order:
        for head in heads[node]:
            columns[head] = max(columns[head], columns[node] + 1)


def _tops(
    ys: Sequence[float],
    columns: Sequence[list[int]],
    heights: Sequence[float],
    lines: Sequence[Line],
) -> list[float]:
    """The top of each node, as near to ``ys`` as its column has room, with small bends removed."""
    before: list[list[Line]] = [[] for _ in ys]
    for line in lines:
        before[line.head].append(line)
    tops = [0.0] * len(ys)
    for nodes in columns:
        nodes.sort(key=ys.__getitem__)
        steps = [heights[above] + _GAP for above, _ in pairwise(nodes)]
        spaced = _spread_rounded([(ys[node], 1.0) for node in nodes], steps)
        for node, top in zip(nodes, spaced, strict=True):
            tops[node] = top
        while _straighten(nodes, steps, tops, before):
            pass
    return tops


def _straighten(
    nodes: Sequence[int], steps: Sequence[float], tops: list[float], before: Sequence[list[Line]]
) -> bool:
    """Straighten the wire with the smallest bend of each node that has room; returns whether any
    moved.

    A node with a straight wire stays, so repeating this terminates.
    """
    moved = False
    for i, node in enumerate(nodes):
        straight = [tops[line.tail] + line.leaves - line.enters for line in before[node]]
        best = min(straight, key=lambda top: abs(top - tops[node]), default=tops[node])
        above = tops[nodes[i - 1]] + steps[i - 1] if i else best
        below = tops[nodes[i + 1]] - steps[i] if i + 1 < len(nodes) else best
        if 0.0 < abs(best - tops[node]) < SNAP and above <= best <= below:
            tops[node], moved = best, True
    return moved


def _spread_rounded(desired: Sequence[tuple[float, float]], steps: Sequence[float]) -> list[float]:
    """As ``spread``, rounded to whole px, which makes it idempotent."""
    offsets = list(accumulate(steps, initial=0.0))
    places = spread(desired, steps)
    return [round(place - by) + by for place, by in zip(places, offsets, strict=False)]
