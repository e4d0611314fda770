"""A page that is laid out, as rectangles and lines, and the numbers that tell how good it is.

Sizes are px at 100 %. Lines are points (k, 2), straight from one to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.graph import LayoutGraph
from gradwire.runtime.diagram.layout.measures import WIDTH
from gradwire.runtime.diagram.layout.placing import encloses, node_box, note_box

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.model import Note, Page, Point, Route
    from gradwire.runtime.diagram.paths import PortName

Floats: TypeAlias = NDArray[np.float64]

CANVAS = (1600.0, 1000.0)
_INSET = 2.0
"""How far a wire may run inside the edge of a block."""
_TITLE = 24.0
"""Height of the title of a frame, on which nothing lies."""
_STEP = 4.0
"""Distance of the points at which a wire is checked."""


@dataclass
class Drawing:
    """Blocks as left, top, right and bottom (n, 4), and wires as lines.

    ``ends`` (m, 2) are the blocks of each wire, ``outputs`` (m,) number the ports they leave.
    ``notes`` and ``frames`` (k, 4) are as the blocks; ``framed`` are the blocks of each frame.
    """

    rects: Floats
    ends: NDArray[np.intp]
    outputs: NDArray[np.intp]
    lines: list[Floats]
    notes: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    frames: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    framed: list[frozenset[int]] = field(default_factory=list)

    def size(self) -> tuple[float, float]:
        """Width and height of everything."""
        points = np.concatenate([self.rects[:, :2], self.rects[:, 2:], *self.lines])
        width, height = points.max(axis=0) - points.min(axis=0)
        return float(width), float(height)

    def zoom(self) -> float:
        """Zoom at which it fits the canvas with a small margin, at most 1."""
        width, height = self.size()
        return min(1.0, 0.92 * CANVAS[0] / width, 0.92 * CANVAS[1] / height)

    def length(self) -> float:
        """Length of all wires together."""
        return float(sum(np.hypot(*np.diff(line, axis=0).T).sum() for line in self.lines))

    def bends(self) -> float:
        """Quarter turns of all wires together."""
        return sum(map(_turns, self.lines))

    def overlaps(self) -> int:
        """Pairs of blocks that overlap."""
        low, high = self.rects[:, :2], self.rects[:, 2:]
        return sum(
            int(((low[i + 1 :] < high[i]) & (high[i + 1 :] > low[i])).all(axis=1).sum())
            for i in range(len(low))
        )

    def behind(self) -> int:
        """Pairs of a wire and a block that it runs behind and that is not its end."""
        low, high = self.rects[:, :2] + _INSET, self.rects[:, 2:] - _INSET
        found = 0
        for ends, line in zip(self.ends, self.lines, strict=True):
            near = np.flatnonzero(
                ((low < line.max(axis=0)) & (high > line.min(axis=0))).all(axis=1)
            )
            near = np.setdiff1d(near, ends)
            points = _dense(line)[:, None] if len(near) else np.zeros((0, 1, 2))
            inside = ((points > low[near]) & (points < high[near])).all(axis=2)
            found += int(inside.any(axis=0).sum())
        return found

    def covered(self) -> int:
        """Pairs of a note and what lies or runs on it: a block, a wire, or another note."""
        found = 0
        for i, note in enumerate(self.notes):
            found += len(_on(note, self.rects)) + len(_on(note, self.notes[i + 1 :]))
            found += sum(_runs_through(note, line) for line in self.lines)
        return found

    def strangers(self) -> int:
        """Pairs of a frame and what should not be in it: a block or a wire of others, the border
        of another frame, a block of its own on the border or the title.
        """
        found = 0
        for i, (frame, inside) in enumerate(zip(self.frames, self.framed, strict=True)):
            room = np.add(frame, (0.0, _TITLE, 0.0, 0.0))
            own = self.rects[sorted(inside)]
            found += len(set(_on(frame, self.rects).tolist()) - inside)
            found += int(((own[:, :2] < room[:2]) | (own[:, 2:] > room[2:])).any(axis=1).sum())
            found += sum(
                _runs_through(frame, line)
                for ends, line in zip(self.ends.tolist(), self.lines, strict=True)
                if inside.isdisjoint(ends)
            )
            for j in _on(frame, self.frames).tolist():
                nested = inside <= self.framed[j] or inside >= self.framed[j]
                found += j > i and not nested
        return found

    def crossings(self) -> int:
        """Points where wires of different ports cross; once where wires of a port run together."""
        parts = [np.concatenate([line[:-1], line[1:]], axis=1) for line in self.lines]
        segments = np.concatenate([*parts, np.zeros((0, 4))])
        port = np.repeat(self.outputs, [len(part) for part in parts])
        order = np.minimum(segments[:, 0], segments[:, 2]).argsort(kind="stable")
        segments, port = segments[order], port[order]
        low = np.minimum(segments[:, :2], segments[:, 2:])
        high = np.maximum(segments[:, :2], segments[:, 2:])
        until = np.searchsorted(low[:, 0], high[:, 0], side="right")
        found: set[tuple[int, ...]] = set()
        for i, end in enumerate(until.tolist()):
            others = np.arange(i + 1, end)
            others = others[
                (low[others, 1] <= high[i, 1]) & (high[others, 1] >= low[i, 1])
                & (port[others] != port[i])
            ]  # fmt: skip
            which, points = _meeting(segments[i], segments[others])
            for j, (x, y) in zip(others[which].tolist(), points.tolist(), strict=True):
                pair = sorted((int(port[i]), int(port[j])))
                found.add((*pair, round(x / 3.0), round(y / 3.0)))
        return len(found)


def drawing(
    diagram: Diagram,
    page: str,
    places: Mapping[str, Point],
    routes: Mapping[PortName, Route],
    notes: Mapping[str, Note] = MappingProxyType({}),
) -> Drawing:
    """The drawing of a page with these positions and routes, with square corners.

    ``notes`` are those that are elsewhere now; frames have the blocks that they have on the page.
    """
    graph = LayoutGraph.of(diagram, page)
    corners = np.array([places[name] for name in graph.names], np.float64).reshape(-1, 2)
    sizes = np.column_stack([np.full(len(corners), WIDTH), [node.height for node in graph.nodes]])
    lines = []
    for target, line in zip(graph.targets, graph.lines, strict=True):
        begin = corners[line.tail] + (WIDTH, line.leaves)
        end = corners[line.head] + (0.0, line.enters)
        lines.append(np.array([begin, *_corners(begin[1], routes.get(target, ()), end[1]), end]))
    ends = np.array([line[:2] for line in graph.lines], np.intp).reshape(-1, 2)
    rects = np.concatenate([corners, corners + sizes], axis=1)
    content = diagram.pages[page]
    now, was = {**content.notes, **notes}, framed_blocks(content, graph)
    plain = [note_box(note) for note in now.values() if not note.frame]
    return Drawing(
        rects, ends, outputs_of(graph), lines,
        np.array(plain, np.float64).reshape(-1, 4),
        np.array([note_box(now[id]) for id in was], np.float64).reshape(-1, 4), list(was.values()),
    )  # fmt: skip


def framed_blocks(content: Page, graph: LayoutGraph) -> dict[str, frozenset[int]]:
    """The numbers of the blocks inside each frame that has some."""
    boxes = [
        (number, node_box(*content.layout[name], node))
        for number, (name, node) in enumerate(zip(graph.names, graph.nodes, strict=True))
        if name in content.layout
    ]
    found = {
        id: frozenset(number for number, box in boxes if encloses(note_box(note), box))
        for id, note in content.notes.items()
        if note.frame
    }
    return {id: blocks for id, blocks in found.items() if blocks}


def arranged(diagram: Diagram, page: str) -> Drawing:
    """The drawing of a page as Arrange lays it out, from scratch."""
    return drawing(diagram, page, *arrangement(diagram, page)[:3])


def outputs_of(graph: LayoutGraph) -> NDArray[np.intp]:
    """A number for the output that each wire of a graph leaves."""
    found: dict[tuple[int, float], int] = {}
    numbers = [found.setdefault((line.tail, line.leaves), len(found)) for line in graph.lines]
    return np.array(numbers, np.intp)


def _corners(y: float, route: Route, last: float) -> list[tuple[float, float]]:
    xs, ys = route[::2], [y, *route[1::2], last]
    return [(x, y) for i, x in enumerate(xs) for y in ys[i : i + 2]]


def _on(rect: Floats, others: Floats) -> NDArray[np.intp]:
    """Which of ``others`` (k, 4) overlap a rectangle (4,)."""
    return np.flatnonzero(((others[:, :2] < rect[2:]) & (others[:, 2:] > rect[:2])).all(axis=1))


def _runs_through(rect: Floats, line: Floats) -> bool:
    if not ((rect[:2] < line.max(axis=0)) & (rect[2:] > line.min(axis=0))).all():
        return False
    points = _dense(line)
    return bool(((points > rect[:2] + _INSET) & (points < rect[2:] - _INSET)).all(axis=1).any())


def _dense(line: Floats) -> Floats:
    """Points every few px along a line."""
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at = np.linspace(0.0, walked[-1], max(2, int(walked[-1] / _STEP) + 1))
    return np.column_stack([np.interp(at, walked, line[:, axis]) for axis in (0, 1)])


def _turns(line: Floats) -> float:
    way = np.diff(line, axis=0)
    way = way[np.abs(way).max(axis=1) > 1e-9]
    angles = np.unwrap(np.arctan2(way[:, 1], way[:, 0]))
    return float(np.abs(np.diff(angles)).sum() / (np.pi / 2.0))


def _meeting(one: Floats, others: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Which of ``others`` (n, 4) the segment ``one`` meets at an angle, and where."""
    start, way = one[:2], one[2:] - one[:2]
    ways = others[:, 2:] - others[:, :2]
    cross = way[0] * ways[:, 1] - way[1] * ways[:, 0]
    slanted = np.abs(cross) > 1e-9
    away, safe = others[:, :2] - start, np.where(slanted, cross, 1.0)
    share = (away[:, 0] * ways[:, 1] - away[:, 1] * ways[:, 0]) / safe
    other = (away[:, 0] * way[1] - away[:, 1] * way[0]) / safe
    met = slanted & (share >= 0.0) & (share <= 1.0) & (other >= 0.0) & (other <= 1.0)
    return met, start + share[met, None] * way
