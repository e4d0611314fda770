"""Routes of wires: square, through the channels between columns and the gaps between rows.

Wires turn only in channels and gaps, on tracks of their own, so they pass behind no block. Wires of
one output share a track until they part. A wire between rows leaves its channel into the gap beside
its row; if it goes further it runs down the margin on the left, and enters from another gap.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.runtime.diagram.layout.measures import (
    COLUMN_GAP,
    MARGIN,
    PART_GAP,
    PITCH,
    ROW_GAP,
)
from gradwire.runtime.diagram.layout.tracks import Net, assign_tracks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutLine, LayoutNode
    from gradwire.runtime.diagram.layout.rows import LayoutRow, Placement
    from gradwire.runtime.diagram.model import Route

Output: TypeAlias = tuple[int, float]
"""A node, and the distance of one of its outputs from its top."""
XY: TypeAlias = tuple[float, float]

_CHANNEL_APART = 12.0
"""Least distance between nets on one track of a channel, px."""
_GAP_APART = 24.0
"""Least distance between nets on one track of a gap between rows, px."""
_FEW_ROWS = 2
"""An output that is read in more rows enters them all from above, or all from below."""


class Drawing(NamedTuple):
    """The corner of each node, the points of each line with both ends, and the size, in px."""

    corners: list[XY]
    paths: list[list[XY]]
    width: float
    height: float


class _Doors(NamedTuple):
    """How a line runs between rows: row, channel and gap where it leaves and where it enters."""

    row: int
    channel: int
    leaves: int
    into_row: int
    into_channel: int
    enters: int


def draw_routes(
    placement: Placement, nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine]
) -> Drawing:
    """Draw one part: its columns as far apart as the wires between them need, then the rows."""
    router = _Router(placement, nodes, lines)
    router.route_inside_rows()
    router.route_between_rows()
    router.set_columns()
    router.set_rows()
    return router.drawing()


def route_of(path: Sequence[XY]) -> Route:
    """The route along the points of a square path, without turns that lead nowhere.

    Empty if it is straight.
    """
    points = [path[0]]
    for x, y in path[1:]:
        while len(points) > 1 and (
            points[-2][0] == points[-1][0] == x or points[-2][1] == points[-1][1] == y
        ):
            points.pop()
        if (x, y) != points[-1]:
            points.append((x, y))
    return tuple(y if i % 2 else x for i, (x, y) in enumerate(points[1:-2]))


class _Channel:
    """The nets of one channel or gap, by output; from :meth:`settle` on also where it is."""

    def __init__(self) -> None:
        self.nets: dict[Output, Net] = {}
        self.tracks = 0
        self.first = 0.0
        self._room = 0.0
        self._places: list[float] = []

    def net(self, output: Output) -> Net:
        """The net of an output, made on first use."""
        return self.nets.setdefault(output, Net())

    def join(self, output: Output, near: float | None = None, far: float | None = None) -> None:
        """Join ends on the near and far side to a net."""
        net = self.net(output)
        if near is not None and near not in net.near:
            net.near.append(near)
        if far is not None and far not in net.far:
            net.far.append(far)

    def settle(self, apart: float, nodes: Sequence[LayoutNode], *, is_column: bool = False) -> None:
        """Assign the tracks, with room for the lanes of their wires.

        Lanes are on the right of wires: in the channel beside a column it is known on which side of
        the track that is.
        """
        self.tracks = assign_tracks(self.nets.values(), apart)
        before, after = [0.0] * self.tracks, [0.0] * self.tracks
        for (node, leaves), net in self.nets.items():
            room = nodes[node].lanes_room(leaves)
            if room and net.track is not None:
                falls, rises = net.directions() if is_column else (True, True)
                before[net.track] = max(before[net.track], room * falls)
                after[net.track] = max(after[net.track], room * rises)
        rooms = [PITCH + one + other for one, other in zip(after, before[1:], strict=False)]
        self._places = list(accumulate(rooms, initial=before[0])) if before else []
        self._room = self._places[-1] + after[-1] if before else 0.0

    def room(self) -> float:
        """From the first track to the last, and their lanes."""
        return self._room

    def track(self, output: Output) -> float:
        """Where the track of an output is, across the channel; the first if it has none."""
        return self.first + (self._places[self.nets[output].track or 0] if self._places else 0.0)


class _Router:
    def __init__(
        self, placement: Placement, nodes: Sequence[LayoutNode], lines: Sequence[LayoutLine]
    ) -> None:
        self._rows, self._nodes = placement.rows, nodes
        self._row_of, self._column_of = placement.row_of, placement.column_of
        self._outer, self._lines = placement.outer, lines
        self._column_widths = [self._widths(row) for row in self._rows]
        self._read = {line.head for line in lines}
        self._tops = [0.0] * len(placement.row_of)
        for row in self._rows:
            for node, top in zip(row.nodes, row.tops, strict=False):
                self._tops[node] = float(top)
        self._channels: defaultdict[tuple[int, int], _Channel] = defaultdict(_Channel)
        self._gaps: defaultdict[int, _Channel] = defaultdict(_Channel)
        self._steps: dict[int, list[XY]] = {}
        self._doors: dict[int, _Doors] = {}
        self._margin = _Channel()
        self._lefts: list[list[float]] = []
        self._row_tops: list[float] = []
        self._height = 0.0

    def route_inside_rows(self) -> None:
        """Lead the wires inside a row through its channels, from dummy to dummy."""
        for r, row in enumerate(self._rows):
            for i, dummies in row.passes.items():
                line = self._lines[i]
                heights = [self._leaves(line), *[float(row.tops[d]) for d in dummies]]
                heights.append(self._enters(line))
                self._steps[i] = list(pairwise(heights))
                first = self._column_of[line.tail] + 1
                for c, (near, far) in enumerate(self._steps[i], first):
                    self._channels[r, c].join(_output(line), near, far)

    def route_between_rows(self) -> None:
        """Lead the other wires out of channels into gaps, and from gaps into channels."""
        readers: defaultdict[Output, list[LayoutLine]] = defaultdict(list)
        for i in self._outer:
            readers[_output(self._lines[i])].append(self._lines[i])
        for i in self._outer:
            line = self._lines[i]
            output = _output(line)
            doors = self._doors[i] = self._doors_of(line, readers[output])
            begin = self._channels[doors.row, doors.channel]
            begin.join(output, near=self._leaves(line))
            begin.net(output).open(high=doors.leaves > doors.row)
            end = self._channels[doors.into_row, doors.into_channel]
            end.join(output, far=self._enters(line))
            end.net(output).open(high=doors.enters > doors.into_row)

    def _doors_of(self, line: LayoutLine, siblings: Sequence[LayoutLine]) -> _Doors:
        """The doors of a line, one of several from its output that run between rows.

        Those to many rows all use the gaps above these rows, or all those below: whichever are
        nearer to most of their heads.
        """
        row, into = self._row_of[line.tail], self._row_of[line.head]
        rows = {self._row_of[other.head] for other in siblings}
        if len(rows) > _FEW_ROWS:
            below = self._enters_low(siblings)
            leaves, enters = row + below, into + below
        else:
            leaves = row + (max(rows) > row)
            enters = leaves if row == into else into if into > row else into + 1
        channels = self._column_of[line.tail] + 1, self._column_of[line.head]
        return _Doors(row, channels[0], leaves, into, channels[1], enters)

    def _enters_low(self, lines: Sequence[LayoutLine]) -> bool:
        """Whether most of the lines end in the lower half of a row."""
        low = sum(
            self._enters(line) > self._rows[self._row_of[line.head]].height / 2.0 for line in lines
        )
        return 2 * low > len(lines)

    def set_columns(self) -> None:
        """Set the tracks of channels, and the left edges of the columns of each row."""
        for r, row in enumerate(self._rows):
            x, lefts, widths = 0.0, [], self._column_widths[r]
            for c in range(row.columns + 1):
                channel = self._channels[r, c]
                channel.settle(_CHANNEL_APART, self._nodes, is_column=True)
                before, after = (bool(width) for width in [0.0, *widths, 0.0][c : c + 2])
                sides = before + after if 0 < c < row.columns else 2
                room = sides * MARGIN + channel.room() if channel.tracks else 0.0
                width = max(COLUMN_GAP, room) if before and after else room
                spare = (width - channel.room()) / 2.0
                channel.first = round(x + (spare if sides == 2 else MARGIN if before else 0.0))
                x += width
                lefts.append(x)
                x += widths[c] if c < row.columns else 0.0
            self._lefts.append(lefts)
        first = max(lefts[0] for lefts in self._lefts)
        for r, lefts in enumerate(self._lefts):
            shift = first - lefts[0]
            self._lefts[r] = [left + shift for left in lefts]
            for c in range(len(lefts)):
                self._channels[r, c].first += shift

    def set_rows(self) -> None:
        """Set the tracks of gaps and of the margin, and the tops of the rows."""
        for i, doors in self._doors.items():
            self._join_gaps(_output(self._lines[i]), doors)
        for gap in self._gaps.values():
            gap.settle(_GAP_APART, self._nodes)
        y = 0.0
        for r in range(len(self._rows) + 1):
            inside = 0 < r < len(self._rows)
            gap = self._gaps[r]
            if gap.tracks:
                space = (ROW_GAP if inside else 0.0) + gap.room() + PITCH + 0.8 * MARGIN
                gap.first = round(y + (space - gap.room()) / 2.0)
            else:
                space = PART_GAP if inside else 0.0
            y += space
            if r < len(self._rows):
                self._row_tops.append(y)
                y += self._rows[r].height
        self._height = y
        self._set_margin()

    def drawing(self) -> Drawing:
        """Corners and paths, moved right as far as the margin needs."""
        margin = -self._margin.first
        corners = [
            (margin + self._left(node), self._row_tops[r] + top)
            for node, (r, top) in enumerate(zip(self._row_of, self._tops, strict=True))
        ]
        paths = []
        for i, line in enumerate(self._lines):
            turns = self._turns_between(i) if i in self._doors else self._turns_inside(i)
            begin = (
                corners[line.tail][0] + self._nodes[line.tail].width,
                corners[line.tail][1] + line.leaves,
            )
            end = corners[line.head][0], corners[line.head][1] + line.enters
            paths.append([begin, *[(margin + x, y) for x, y in turns], end])
        rights = [x + node.width for (x, _), node in zip(corners, self._nodes, strict=True)]
        right = max(rights + [x for path in paths for x, _ in path])
        return Drawing(corners, paths, right, self._height)

    def _widths(self, row: LayoutRow) -> list[float]:
        """The widths of the columns of a row."""
        widths = [0.0] * row.columns
        for node in row.nodes:
            column = self._column_of[node]
            widths[column] = max(widths[column], self._nodes[node].width)
        return widths

    def _left(self, node: int) -> float:
        """The left edge of a node: with its column; a source is at the right edge of that."""
        r, c = self._row_of[node], self._column_of[node]
        left = self._lefts[r][c]
        if node in self._read:
            return left
        return left + self._column_widths[r][c] - self._nodes[node].width

    def _leaves(self, line: LayoutLine) -> float:
        return self._tops[line.tail] + line.leaves

    def _enters(self, line: LayoutLine) -> float:
        return self._tops[line.head] + line.enters

    def _join_gaps(self, output: Output, doors: _Doors) -> None:
        """Join the channels of a wire between rows, and the margin, to the nets of its gaps."""
        out = self._channels[doors.row, doors.channel].track(output)
        into = self._channels[doors.into_row, doors.into_channel].track(output)
        for gap, row, x in (
            (doors.leaves, doors.row, out), (doors.enters, doors.into_row, into),
        ):  # fmt: skip
            above = row < gap
            self._gaps[gap].join(output, x if above else None, None if above else x)
            if doors.leaves != doors.enters:
                self._gaps[gap].net(output).open(high=False)

    def _set_margin(self) -> None:
        """Set the tracks of the margin, left of all columns."""
        for i, doors in self._doors.items():
            if doors.leaves != doors.enters:
                output = _output(self._lines[i])
                for gap in (doors.leaves, doors.enters):
                    self._margin.join(output, far=self._gaps[gap].track(output))
        self._margin.settle(_GAP_APART, self._nodes)
        if self._margin.nets:
            self._margin.first = -MARGIN - self._margin.room()

    def _turns_inside(self, i: int) -> list[XY]:
        line = self._lines[i]
        r, first = self._row_of[line.tail], self._column_of[line.tail] + 1
        turns, top = [], self._row_tops[r]
        for c, (near, far) in enumerate(self._steps[i], first):
            if near != far:
                x = self._channels[r, c].track(_output(line))
                turns += [(x, top + near), (x, top + far)]
        return turns

    def _turns_between(self, i: int) -> list[XY]:
        line, doors = self._lines[i], self._doors[i]
        output = _output(line)
        x0 = self._channels[doors.row, doors.channel].track(output)
        x1 = self._channels[doors.into_row, doors.into_channel].track(output)
        y0 = self._row_tops[doors.row] + self._leaves(line)
        y1 = self._row_tops[doors.into_row] + self._enters(line)
        out, into = self._gaps[doors.leaves].track(output), self._gaps[doors.enters].track(output)
        turns = [(x0, y0), (x0, out)]
        if doors.leaves != doors.enters:
            x = self._margin.track(output)
            turns += [(x, out), (x, into)]
        return [*turns, (x1, into), (x1, y1)]


def _output(line: LayoutLine) -> Output:
    return line.tail, line.leaves
