"""Lays out what is in a frame, or on the page, with each frame inside as one node.

Frames are laid out from the inside out. A wire passes the border of a frame on its left if it
enters, and on its right if it leaves, there as one for each output; so no other wire and no foreign
block comes to lie in a frame.
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.drawn import DrawnPart
from gradwire.runtime.diagram.layout.folding import CANVAS, FOLD_GAIN, READABLE, busyness, zoom
from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode, parts_of
from gradwire.runtime.diagram.layout.layers import rough_layers
from gradwire.runtime.diagram.layout.measures import (
    COLUMN_GAP,
    FRAME_PAD,
    MARGIN,
    PART_GAP,
    PITCH,
    ROW_GAP,
    TITLE_LETTER,
    TITLE_LINE,
    TITLE_PAD,
    TITLE_WIDTH,
)
from gradwire.runtime.diagram.layout.placing import note_box
from gradwire.runtime.diagram.layout.routes import XY, Drawing, Output, draw_routes
from gradwire.runtime.diagram.layout.rows import PartLayout, Placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradwire.runtime.diagram.layout.drawn import DrawnGraph
    from gradwire.runtime.diagram.layout.frames.notes import FrameGroup
    from gradwire.runtime.diagram.layout.graph import GraphPart, LayoutGraph
    from gradwire.runtime.diagram.layout.placing import Box
    from gradwire.runtime.diagram.model import Note, Point


# Lays out large connected graphs in time about proportional to their size.
#
# Columns by longest paths, folded evenly into rows; in each column the nodes in the order of the
# mean place of what they read, then of what reads them. Wires from a row to the next run through
# the gap between them; the others get no routes.

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


@dataclass
class Sketch:
    """What is laid out of a group, in px from its top left.

    Corners of blocks and points of wires are by their numbers, boxes of frames and notes by id; a
    wire ends where it passes the border. ``enters`` and ``leaves`` are how far below the top the
    wires of outputs do so.
    """

    width: float = 0.0
    height: float = 0.0
    corners: dict[int, XY] = field(default_factory=dict)
    boxes: dict[str, Box] = field(default_factory=dict)
    paths: dict[int, list[XY]] = field(default_factory=dict)
    enters: dict[Output, float] = field(default_factory=dict)
    leaves: dict[Output, float] = field(default_factory=dict)


def sketch(group: FrameGroup, graph: LayoutGraph, drawn: DrawnGraph) -> Sketch:
    """Lay out a group, from the inside out, in the order in which it is drawn now."""
    inner = [sketch(child, graph, drawn) for child in group.groups]
    return _Level(group, graph, drawn, inner).sketch()


_NOTES = (0, 3)
"""Ranks of the notes in a frame that are above all blocks, and of the others."""


class _Item(NamedTuple):
    """A node of a level; ``holds`` is the block or group that it stands for, or a note's id."""

    node: LayoutNode
    place: Point | None
    holds: int | Sketch | str | None = None


class _Level:
    """The nodes and lines of one group, and which wires these lines belong to."""

    def __init__(
        self, group: FrameGroup, graph: LayoutGraph, drawn: DrawnGraph, inner: Sequence[Sketch]
    ) -> None:
        self._group, self._graph, self._drawn = group, graph, drawn
        self._frame = drawn.note(group.frame) if group.frame else None
        self._items: list[_Item] = []
        self._item_of: dict[int, int] = {}
        self._borders: dict[tuple[Output, bool], int] = {}
        self._lines: dict[LayoutLine, int] = {}
        self._line_of: dict[int, int] = {}
        self._wires: list[int] = []
        self._add_items(inner)
        for wire in range(len(graph.lines)):
            self._add_wire(wire)

    def sketch(self) -> Sketch:
        """Lay out the parts, one beside or below the other, and the frame around them."""
        lines = list(self._lines)
        parts = parts_of(len(self._items), lines)
        drawings = [self._draw_part(part, lines) for part in parts]
        begins = self._packed(parts, drawings)
        corners: list[XY] = [(0.0, 0.0)] * len(self._items)
        paths: list[list[XY]] = [[] for _ in lines]
        for part, drawing, (x, y) in zip(parts, drawings, begins, strict=True):
            for node, (dx, dy) in zip(part.nodes, drawing.corners, strict=True):
                corners[node] = x + dx, y + dy
            for i, path in zip(part.lines, drawing.paths, strict=True):
                paths[i] = [(x + dx, y + dy) for dx, dy in path]
        spans = list(zip(drawings, begins, strict=True))
        width = max((x + drawing.width for drawing, (x, _) in spans), default=0.0)
        height = max((y + drawing.height for drawing, (_, y) in spans), default=0.0)
        return self._framed(corners, paths, width, height)

    def _add_items(self, inner: Sequence[Sketch]) -> None:
        nodes, places = self._graph.nodes, self._drawn.places
        found = [(i, _Item(nodes[i], places[i], i)) for i in self._group.blocks]
        for group, child in zip(self._group.groups, inner, strict=True):
            at = self._drawn.note(group.frame).at
            lanes = {y: self._lanes_of(output) for output, y in child.leaves.items()}
            node = LayoutNode(child.width, child.height, lanes=lanes)
            found.append((min(child.corners), _Item(node, at, child)))
        for _, item in sorted(found, key=lambda pair: pair[0]):
            held = item.holds.corners if isinstance(item.holds, Sketch) else (item.holds,)
            self._item_of |= {i: len(self._items) for i in held if isinstance(i, int)}
            self._items.append(item)
        for id in self._group.notes:
            note = self._drawn.note(id)
            self._items.append(_Item(LayoutNode(note.width, note.height), note.at, id))

    def _add_wire(self, wire: int) -> None:
        """Add the line of a wire that has an end in this group, not both in one inside it."""
        line = self._graph.lines[wire]
        tail, head = self._item_of.get(line.tail), self._item_of.get(line.head)
        if tail == head:
            return
        output = line.tail, line.leaves
        leaves, enters = line.leaves, line.enters
        if tail is None:
            tail, leaves = self._border(output, wire, is_exit=False), 0.0
        elif isinstance(child := self._items[tail].holds, Sketch):
            leaves = child.leaves[output]
        if head is None:
            head, enters = self._border(output, wire, is_exit=True), 0.0
        elif isinstance(child := self._items[head].holds, Sketch):
            enters = child.enters[output]
        number = self._lines.setdefault(LayoutLine(tail, head, leaves, enters), len(self._lines))
        self._line_of[wire] = number
        if number == len(self._wires):
            self._wires.append(wire)

    def _border(self, output: Output, wire: int, *, is_exit: bool) -> int:
        """The node in which the wires of an output pass the frame, made on first use."""
        found = self._borders.setdefault((output, is_exit), len(self._items))
        if found == len(self._items):
            frame = self._frame
            assert frame is not None
            x = frame.at.x + (frame.width if is_exit else 0.0)
            place = self._drawn.crossing(wire, x, last=not is_exit)
            lanes = {0.0: self._lanes_of(output)}
            self._items.append(_Item(LayoutNode(0.0, 0.0, not is_exit, is_exit, lanes), place))
        return found

    def _lanes_of(self, output: Output) -> int:
        """The number of lanes beside the wires of a block's output."""
        block, leaves = output
        return self._graph.nodes[block].lanes.get(leaves, 1)

    def _draw_part(self, part: GraphPart, lines: Sequence[LayoutLine]) -> Drawing:
        nodes = [self._items[node].node for node in part.nodes]
        if len(nodes) == 1:
            return Drawing([(0.0, 0.0)], [], nodes[0].width, nodes[0].height)
        number = {node: i for i, node in enumerate(part.nodes)}
        local = [
            lines[i]._replace(tail=number[lines[i].tail], head=number[lines[i].head])
            for i in part.lines
        ]
        places = [at for node in part.nodes if (at := self._items[node].place) is not None]
        known, is_drawn = None, len(places) == len(nodes)
        if len(nodes) > LARGE or len(local) > MANY_WIRES:
            return draw_coarsely(nodes, local, places if is_drawn else ())
        if is_drawn:
            wires = [self._wires[i] for i in part.lines]
            known = DrawnPart(self._drawn, nodes, places, local, wires)
        layout = PartLayout(nodes, local)
        return draw_routes(layout.placed(_best_folding(layout), known), nodes, local)

    def _packed(self, parts: Sequence[GraphPart], drawings: Sequence[Drawing]) -> list[XY]:
        """Where each drawing begins: side by side on shelves, those of lone nodes last.

        In a frame, parts with wires to others have shelves of their own, and notes do.
        """
        widest = max((drawing.width for drawing in drawings), default=0.0)
        area = sum((d.width + PART_GAP) * (d.height + PART_GAP) for d in drawings)
        limit = max(widest, math.sqrt(area * CANVAS[0] / CANVAS[1]))
        begins: list[XY] = [(0.0, 0.0)] * len(drawings)
        x = y = shelf = 0.0
        before: tuple[int | None, bool] | None = None
        for i in sorted(range(len(drawings)), key=lambda i: self._rank(parts[i])):
            width, height = drawings[i].width, drawings[i].height
            kind = i if self._is_wide(parts[i]) else None, self._rank(parts[i]) in _NOTES
            if x and (x + width > limit + 1.0 or kind != before):
                x, y, shelf = 0.0, y + shelf + PART_GAP, 0.0
            begins[i], before = (x, y), kind
            x += width + (PART_GAP if len(parts[i].nodes) > 1 else COLUMN_GAP)
            shelf = max(shelf, height)
        return begins

    def _is_wide(self, part: GraphPart) -> bool:
        """Whether a part has the whole width of the frame: wires run from it to the border."""
        nodes = [self._items[i].node for i in part.nodes]
        return any(node.first or node.last for node in nodes)

    def _rank(self, part: GraphPart) -> int:
        """Notes above all blocks of a frame come first, then what has wires, then lone blocks."""
        holds = self._items[part.nodes[0]].holds
        if not isinstance(holds, str):
            return 1 if len(part.nodes) > 1 else 2
        bottom = note_box(self._drawn.note(holds))[3]
        tops = [item.place.y for item in self._items
                if item.place and isinstance(item.holds, int | Sketch)]  # fmt: skip
        return min(_NOTES) if bottom <= min(tops, default=-math.inf) else max(_NOTES)

    def _framed(
        self, corners: Sequence[XY], paths: Sequence[Sequence[XY]], width: float, height: float
    ) -> Sketch:
        """The sketch of these nodes and lines, within the border and below the title."""
        left = top = 0.0
        if self._frame is not None:
            left = FRAME_PAD
            width = max(width + 2.0 * FRAME_PAD, _title_width(self._frame))
            top = _title_height(self._frame, width)
            height += top + FRAME_PAD
        made = Sketch(width, height)
        if self._frame is not None:
            made.boxes[self._group.frame] = 0.0, 0.0, width, height
        at = moved(corners, left, top)
        for item, corner in zip(self._items, at, strict=True):
            _put(made, item, corner)
        for (output, is_exit), node in self._borders.items():
            (made.leaves if is_exit else made.enters)[output] = at[node][1]
        for wire, number in self._line_of.items():
            path = moved(paths[number], left, top)
            line = self._graph.lines[wire]
            begin = self._ending(line.tail, wire, at, (0.0, path[0][1]))
            end = self._ending(line.head, wire, at, (width, path[-1][1]))
            made.paths[wire] = [*begin, *path, *end]
        return made

    def _ending(self, block: int, wire: int, corners: Sequence[XY], border: XY) -> list[XY]:
        """What a path of this level lacks at one end of its wire: the way inside a group that has
        the block there, or to the border.
        """
        at = self._item_of.get(block)
        if at is None:
            return [border]
        held = self._items[at].holds
        return moved(held.paths[wire], *corners[at]) if isinstance(held, Sketch) else []


def moved(points: Sequence[XY], x: float, y: float) -> list[XY]:
    """The points, moved by (x, y)."""
    return [(x + dx, y + dy) for dx, dy in points]


def _put(made: Sketch, item: _Item, corner: XY) -> None:
    """Put what a node stands for at this corner."""
    x, y = corner
    match item.holds:
        case Sketch() as inner:
            numbers, corners = list(inner.corners), list(inner.corners.values())
            made.corners |= zip(numbers, moved(corners, x, y), strict=True)
            made.paths |= {i: moved(path, x, y) for i, path in inner.paths.items()}
            for id, (left, top, right, bottom) in inner.boxes.items():
                made.boxes[id] = x + left, y + top, x + right, y + bottom
        case str(id):
            made.boxes[id] = x, y, x + item.node.width, y + item.node.height
        case int(block):
            made.corners[block] = corner


def _title_width(frame: Note) -> float:
    """The width at which the longest line of a frame's title is not broken, if not too large."""
    longest = max(map(len, frame.text.splitlines()), default=0)
    return min(math.ceil(longest * TITLE_LETTER + 2.0 * TITLE_PAD), TITLE_WIDTH)


def _title_height(frame: Note, width: float) -> float:
    """From the top of a frame of this width to what is below its title."""
    letters = (width - 2.0 * TITLE_PAD) / TITLE_LETTER
    lines = sum(max(1, math.ceil(len(line) / letters)) for line in frame.text.splitlines())
    return FRAME_PAD + TITLE_LINE * lines


def _best_folding(layout: PartLayout) -> list[int]:
    """Of some foldings the one that is shown largest; none if the unfolded graph can be read."""
    candidates = layout.foldings()
    if len(candidates) == 1:
        return candidates[0]
    shown = []
    for starts in candidates:
        placement = layout.placed(starts, rough=True)
        drawing = draw_routes(placement, layout.nodes, layout.lines)
        found = zoom(drawing.width, drawing.height)
        if len(starts) == 1 and found > READABLE:
            return starts
        if len(starts) > 1:
            crossing = _folds_crossed(placement, layout.lines)
            found /= FOLD_GAIN * busyness(crossing, len(starts) - 1)
        shown.append((-found, starts))
    return min(shown)[1]


def _folds_crossed(placement: Placement, lines: Sequence[LayoutLine]) -> int:
    """How often outputs are read over folds, all folds together."""
    row_of = placement.row_of
    return len(
        {
            (lines[i].tail, lines[i].leaves, row)
            for i in placement.outer
            for row in range(row_of[lines[i].tail], row_of[lines[i].head])
        }
    )
