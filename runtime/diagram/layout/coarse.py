"""Lays out large connected graphs in time about proportional to their size.

Columns by longest paths, folded evenly into rows; in each column the nodes in the order of the mean
place of what they read, then of what reads them. Wires from a row to the next run through the gap
between them; the others get no routes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.layout.folding import zoom
from gradwire.runtime.diagram.layout.layers import rough_layers
from gradwire.runtime.diagram.layout.measures import (
    COLUMN_GAP,
    MARGIN,
    PART_GAP,
    PITCH,
    ROW_GAP,
)
from gradwire.runtime.diagram.layout.routes import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode
    from gradwire.runtime.diagram.layout.routes import XY
    from gradwire.runtime.diagram.model import Point

LARGE = 2_000
"""Nodes of a part from which on it is laid out coarsely."""
MANY_WIRES = 3 * LARGE
"""Wires of a part from which on it is, too."""
_TRACKS = 3
"""Wires that run apart in a gap; further ones run over these."""
_GROWTH = 1.05
"""From one number of rows that is tried to the next."""


def draw_coarsely(
    nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine], places: Sequence[Point] = ()
) -> Drawing:
    """Draw one part; nodes that nothing else orders keep the order of their ``places`` now."""
    columns: list[list[int]] = []
    for node, layer in enumerate(rough_layers(nodes, lines)):
        while len(columns) <= layer:
            columns.append([])
        columns[layer].append(node)
    if places:
        for column in columns:
            column.sort(key=lambda node: places[node].y)
    _order(columns, lines)
    widths = [max(nodes[node].width for node in column) + COLUMN_GAP for column in columns]
    heights = [sum(nodes[node].height + ROW_GAP for node in column) - ROW_GAP for column in columns]
    columns_of_row = math.ceil(len(columns) / _rows(widths, heights))
    corners: list[XY] = [(0.0, 0.0)] * len(nodes)
    row_of = [0] * len(nodes)
    bottoms: list[float] = []
    width = bottom = 0.0
    for first in range(0, len(columns), columns_of_row):
        row = range(first, min(first + columns_of_row, len(columns)))
        tallest, top, x = max(heights[at] for at in row), bottom, 0.0
        for at in row:
            y = top + (tallest - heights[at]) // 2.0
            for node in columns[at]:
                corners[node] = x, y
                row_of[node] = len(bottoms)
                y += nodes[node].height + ROW_GAP
            x += widths[at]
        bottoms.append(top + tallest)
        width, bottom = max(width, x - COLUMN_GAP), top + tallest + PART_GAP
    paths: list[list[XY]] = []
    for tail, head, leaves, enters in lines:
        (x, y), (to_x, to_y) = corners[tail], corners[head]
        begin, end = (x + nodes[tail].width, y + leaves), (to_x, to_y + enters)
        is_next = row_of[head] == row_of[tail] + 1
        gap = bottoms[row_of[tail]]
        paths.append(_through_gap(begin, end, gap, tail) if is_next else [begin, end])
    return Drawing(corners, paths, width, bottom - PART_GAP)


def _through_gap(begin: XY, end: XY, gap: float, tail: int) -> list[XY]:
    """The path of a wire that turns below its row and beside its target; wires from different
    nodes run apart.
    """
    apart = PITCH * (tail % _TRACKS)
    down, up, y = begin[0] + MARGIN + apart, end[0] - MARGIN - apart, gap + MARGIN / 2.0 + apart
    return [begin, (down, begin[1]), (down, y), (up, y), (up, end[1]), end]


def _order(columns: Sequence[list[int]], lines: Sequence[LayoutLine]) -> None:
    """Sort each column by the mean places of neighbours: forwards, backwards, and forwards again.

    Places are shares of the height of a column, so that columns of any length compare.
    """
    count = sum(map(len, columns))
    tails: list[list[int]] = [[] for _ in range(count)]
    heads: list[list[int]] = [[] for _ in range(count)]
    for tail, head, _, _ in lines:
        tails[head].append(tail)
        heads[tail].append(head)
    place = [0.0] * count

    def put(column: Sequence[int]) -> None:
        for i, node in enumerate(column):
            place[node] = (i + 0.5) / len(column)

    def sort(order: Iterable[list[int]], beside: Sequence[Sequence[int]]) -> None:
        for column in order:
            if len(column) > 1:
                for node in column:
                    if ends := beside[node]:
                        place[node] = sum([place[end] for end in ends]) / len(ends)
                column.sort(key=place.__getitem__)
            put(column)

    for column in columns:
        put(column)
    sort(columns, tails)
    sort(reversed(columns), heads)
    sort(columns, tails)


def _rows(widths: Sequence[float], heights: Sequence[float]) -> int:
    """About the number of rows of columns of these sizes that is shown largest on the canvas."""
    total = sum(widths)
    best, found, rows = 1, 0.0, 1
    while rows <= len(widths):
        length = math.ceil(len(widths) / rows)
        height = sum(
            max(heights[at : at + length]) + PART_GAP for at in range(0, len(heights), length)
        )
        shown = zoom(total / rows, height)
        if shown > found:
            best, found = rows, shown
        elif shown < 0.5 * found:
            break
        rows = max(rows + 1, math.floor(rows * _GROWTH))
    return best
