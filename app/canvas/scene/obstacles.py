"""Obstacles: whether a wire would pass behind a block, and ways around for those that would.

A way is a route of one or three stretches; see :data:`gradwire.runtime.diagram.model.Route`. Among
those on lines beside the edges of blocks near by, the shortest one is taken. Where there is none, a
search finds longer ones if there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import crossing, distinct, repeated, runs
from gradwire.app.canvas.scene.curves import flatten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes
    from gradwire.runtime.diagram import Route

CLEAR = np.array([12.0, 19.0, 26.0])
"""Distances of ways from the blocks that they go around, by the group of the source block, so that
wires of several sources around the same block are told apart; scene units.
"""
USUAL = float(CLEAR[0])
"""The first of them."""
_TIGHT = 7.0
"""Distance where there is no other way, scene units."""
REACH = 260.0
"""How far from the straight line between its ports a way may lead, scene units."""
_STUB = 16.0
"""Least distance of a port from the first turn, scene units."""
INSET = 2.0
"""How far a wire may run inside the edge of a block, scene units."""
LONGEST = 11
"""Most stretches of a way."""
_UNREACHED, _APART = 1e7, 3e7
"""Length of a path to a point that none leads to, and of stretches that are hit, scene units."""
_MOST_POINTS = 400_000
"""Points of the grid of a search, at most."""
_TURN_COST = 30.0
"""Length that a search adds for each turn, scene units."""
_LINES = 12
"""Number of lines that are considered in each direction."""
_CELL = 160.0
_STEP = 20.0
"""Largest distance of the points of a wire that are looked at, scene units."""
_STEPS = 24
_MOST_PIECES = 64
_MOST_COLUMNS = 64
"""Columns of cells that blocks are looked up in."""
_FARTHEST = 1e9


class Obstacles:
    """The blocks ``rects`` (n, 4: left, top, width, height) of a page, sorted into cells.

    Only those ``among`` them count, all by default.
    """

    def __init__(self, rects: Floats, among: Indices | None = None) -> None:
        self._numbers = np.arange(len(rects)) if among is None else among
        rects = rects[self._numbers]
        corners = np.clip(rects[:, :2], -_FARTHEST, _FARTHEST)
        self._sides = np.concatenate([corners, corners + rects[:, 2:]], axis=1)
        first, last = np.split(np.floor(self._sides / _CELL).astype(np.int64), 2, axis=1)
        columns, rows = (last - first + 1).T
        block, number = repeated(columns * rows)
        cells = first[block] + np.column_stack([number // rows[block], number % rows[block]])
        keys = _keys(cells)
        order = np.argsort(keys, kind="stable")
        self._keys, self._blocks = keys[order], block[order]

    def move(self, blocks: Indices, rects: Floats) -> None:
        """Put ``blocks`` (k,), which all count, at ``rects`` (k, 4)."""
        moved = Obstacles(rects)
        self._sides[blocks] = moved._sides
        is_moved = np.zeros(len(self._sides), bool)
        is_moved[blocks] = True
        kept = ~is_moved[self._blocks]
        keys, others = self._keys[kept], self._blocks[kept]
        at = np.searchsorted(keys, moved._keys)
        self._keys = np.insert(keys, at, moved._keys)
        self._blocks = np.insert(others, at, blocks[moved._blocks])

    def renumber(self, blocks: Changes) -> None:
        """Follow blocks, which all count, to their numbers now; new ones are nowhere yet."""
        self._numbers = np.arange(len(blocks.before))
        self._sides = blocks.rows(self._sides, np.nan)
        numbers = blocks.now[self._blocks]
        self._keys, self._blocks = self._keys[numbers >= 0], numbers[numbers >= 0]

    def blocked(self, ends: Floats, own: Ints) -> Flags:
        """Which curves from port to port (m, 4: x0, y0, x1, y1) run behind a block that is not one
        of their ``own`` (m, 2).
        """
        wire, points = _points_along(flatten(np.clip(ends, -_FARTHEST, _FARTHEST), _STEPS))
        keys = _keys(np.floor(points / _CELL).astype(np.int64))
        is_first = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
        run, keys = np.cumsum(is_first) - 1, keys[is_first]
        begin = np.searchsorted(self._keys, keys)
        count = np.searchsorted(self._keys, keys, side="right") - begin
        at, number = repeated(count[run])
        block = self._blocks[begin[run[at]] + number]
        left, top, right, bottom = self._sides[block].T
        (x, y), wire = points[at].T, wire[at]
        inside = (x > left + INSET) & (x < right - INSET)
        inside &= (y > top + INSET) & (y < bottom - INSET)
        block = self._numbers[block]
        inside &= (block != own[wire, 0]) & (block != own[wire, 1])
        found = np.zeros(len(ends), bool)
        found[wire[inside]] = True
        return found

    def topmost(self, points: Floats, own: Ints) -> Ints:
        """The block (p,) over each of ``points`` (p, 2) with the highest number above ``own`` (p,);
        -1 without one.
        """
        keys = _keys(np.floor(np.clip(points, -_FARTHEST, _FARTHEST) / _CELL).astype(np.int64))
        begin = np.searchsorted(self._keys, keys)
        at, number = repeated(np.searchsorted(self._keys, keys, side="right") - begin)
        block = self._blocks[begin[at] + number]
        low, high = np.split(self._sides[block], 2, axis=1)
        inside = ((points[at] > low + INSET) & (points[at] < high - INSET)).all(axis=1)
        block = self._numbers[block]
        inside &= block > own[at]
        found = np.full(len(points), -1, np.int32)
        np.maximum.at(found, at[inside], block[inside].astype(np.int32))
        return found

    def way(self, ends: Floats, own: Ints, clear: float = USUAL) -> Route:
        """A route from port to port (4,) around all blocks; empty if none was found.

        ``own`` (2,) are the blocks of the ports, which the wire may touch there. It is ``clear`` of
        others if there is room.
        """
        return next(filter(None, (near.best() for near in self._near(ends, own, clear))), ())

    def long_way(self, ends: Floats, own: Ints, clear: float = USUAL) -> Route:
        """As :meth:`way`, of any shape: takes longer, but finds one near by if there is one."""
        return next(filter(None, (near.shortest() for near in self._near(ends, own, clear))), ())

    def _near(self, ends: Floats, own: Ints, clear: float) -> Iterator[_Search]:
        """Searches among the blocks near by, at the wanted distance and at the least."""
        x0, y0, x1, y1 = ends.tolist()
        (left, right), (top, bottom) = sorted([x0, x1]), sorted([y0, y1])
        near = self._in(np.array([left - REACH, top - REACH, right + REACH, bottom + REACH]))
        begins, arrives = (self._numbers[near] == end for end in own.tolist())
        outwards = np.array([-1.0, -1.0, 1.0, 1.0])
        for distance in (clear, _TIGHT):
            yield _Search(self._sides[near] + distance * outwards, begins, arrives, ends)

    def _in(self, area: Floats) -> Indices:
        """The blocks that touch an area (left, top, right, bottom), in order."""
        cells = np.floor(np.clip(area, -_FARTHEST, _FARTHEST) / _CELL).astype(np.int64)
        left, top, right, bottom = cells.tolist()
        if right - left > _MOST_COLUMNS:
            return crossing(self._sides, area)
        columns = _keys(np.column_stack([np.arange(left, right + 1), [top] * (right - left + 1)]))
        begin = np.searchsorted(self._keys, columns)
        end = np.searchsorted(self._keys, columns + (bottom - top), side="right")
        some = distinct(self._blocks[runs(begin, end - begin)])
        return some[crossing(self._sides[some], area)]


def clearance(groups: Ints) -> Floats:
    """The distances (k,) that ways from blocks of these ``groups`` (k,) keep; see CLEAR."""
    return np.asarray(CLEAR[groups % len(CLEAR)])


class _Search:
    """The search for one way between blocks with these sides (k, 4), grown by the clearance."""

    def __init__(self, sides: Floats, begins: Flags, ends: Flags, ports: Floats) -> None:
        self._left, self._top, self._right, self._bottom = sides.T
        self._begins, self._ends = begins, ends
        x0, y0, x1, y1 = self._ports = ports.tolist()
        ahead = np.concatenate([self._left, self._right, [x0 + _STUB, x1 - _STUB, (x0 + x1) / 2]])
        ahead = _within(ahead, x0, x1)
        # The stretches at the ports end before the first block in their way.
        level = (self._top < y0) & (self._bottom > y0) & ~begins & (self._right > x0)
        self._wall = np.where(level, self._left, np.inf).min(initial=np.inf)
        level = (self._top < y1) & (self._bottom > y1) & ~ends & (self._left < x1)
        self._fence = np.where(level, self._right, -np.inf).max(initial=-np.inf)
        outs = ahead[(ahead >= x0 + _STUB) & (ahead <= self._wall)]
        ins = ahead[(ahead <= x1 - _STUB) & (ahead >= self._fence)]
        self._outs = _nearest(outs, x0 + _STUB, x0 + _STUB)
        self._ins = _nearest(ins, x1 - _STUB, x1 - _STUB)
        levels = np.concatenate([self._top, self._bottom, [y0, y1, (y0 + y1) / 2]])
        self._levels = _nearest(_within(levels, y0, y1), min(y0, y1), max(y0, y1))

    def best(self) -> Route:
        if not (len(self._outs) and len(self._ins)):
            return ()
        return self._three_pieces() or self._five_pieces()

    def _three_pieces(self) -> Route:
        """Along, across, along: as short as can be."""
        x0, y0, x1, y1 = self._ports
        xs = distinct(np.concatenate([self._outs, self._ins]))
        xs = xs[(xs >= max(x0 + _STUB, self._fence)) & (xs <= min(x1 - _STUB, self._wall))]
        xs = xs[~self._across(xs, np.array([y0]), y1)[0]]
        return (float(xs[np.abs(xs - (x0 + x1) / 2).argmin()]),) if len(xs) else ()

    def _five_pieces(self) -> Route:
        """Along, across, along, across, along: the shortest."""
        x0, y0, x1, y1 = self._ports
        outs, ins, levels = self._outs, self._ins, self._levels
        low, high = np.minimum(outs[:, None], ins), np.maximum(outs[:, None], ins)
        over = (self._left < high[..., None]) & (self._right > low[..., None])
        level = (levels[:, None] > self._top) & (levels[:, None] < self._bottom)
        met = level.astype(np.float32) @ over.reshape(-1, len(self._left)).T.astype(np.float32)
        taken = met.reshape(len(levels), len(outs), len(ins)) > 0.5
        taken |= self._across(outs, levels, y0)[:, :, None]
        taken |= self._across(ins, levels, y1)[:, None, :]
        if taken.all():
            return ()
        length = (np.abs(levels - y0) + np.abs(levels - y1))[:, None, None]
        length = length + ((outs - x0)[:, None] + (high - low) + (x1 - ins))[None]
        best = np.where(taken, np.inf, length).argmin()
        level_at, out, into = np.unravel_index(best, taken.shape)
        return float(outs[out]), float(levels[level_at]), float(ins[into])

    def shortest(self) -> Route:
        """The shortest way on the lines beside the edges of all blocks; turns count as length."""
        x0, y0, x1, y1 = self._ports
        stubs = (x0, x0 + _STUB, x1 - _STUB, x1)
        xs = np.unique(_within(np.concatenate([self._left, self._right, stubs]), x0, x1))
        ys = np.unique(_within(np.concatenate([self._top, self._bottom, (y0, y1)]), y0, y1))
        if len(xs) * len(ys) > _MOST_POINTS:
            return ()
        start = int(xs.searchsorted(x0)), int(ys.searchsorted(y0))
        end = int(xs.searchsorted(x1)), int(ys.searchsorted(y1))
        turns = _Grid(xs, ys, *self._hit_stretches(xs, ys)).path(start, end)[1:-1]
        return tuple(float(ys[y] if i % 2 else xs[x]) for i, (x, y) in enumerate(turns[:-1]))

    def _hit_stretches(self, xs: Floats, ys: Floats) -> tuple[Flags, Flags]:
        """Which stretches of a grid hit a block: from each of ``xs`` to the next (nx - 1, ny), and
        from each of ``ys`` to the next (nx, ny - 1).
        """
        x0, y0, x1, y1 = self._ports
        over = (self._left < xs[1:, None]) & (self._right > xs[:-1, None])
        level = (self._top < ys[:, None]) & (self._bottom > ys[:, None])
        along = _hits(over, level)
        # The blocks of the ports are in the way of others, not of the stretches at the ports.
        out, into = ys == y0, ys == y1
        ahead, behind = xs[:-1] >= x0, xs[1:] <= x1
        along[np.ix_(ahead, out)] = _hits(over[ahead], level[out] & ~self._begins)
        along[np.ix_(behind, into)] = _hits(over[behind], level[into] & ~self._ends)
        on = (self._left < xs[:, None]) & (self._right > xs[:, None])
        beside = (self._top < ys[1:, None]) & (self._bottom > ys[:-1, None])
        across = _hits(on, beside)
        for near, y in (((xs >= x0) & (xs < x0 + _STUB), y0), ((xs <= x1) & (xs > x1 - _STUB), y1)):
            across[np.ix_(near, (ys[1:] == y) | (ys[:-1] == y))] = True
        return along, across

    def _across(self, xs: Floats, levels: Floats, y: float) -> Flags:
        """Whether a stretch at each of ``xs`` (k,) from each level (l,) to ``y`` hits a block."""
        low, high = np.minimum(levels, y)[:, None], np.maximum(levels, y)[:, None]
        beside = (self._top < high) & (self._bottom > low)
        on = (xs[:, None] > self._left) & (xs[:, None] < self._right)
        return np.asarray(beside.astype(np.float32) @ on.T.astype(np.float32) > 0.5)


def _hits(one: Flags, other: Flags) -> Flags:
    """Which pairs of ``one`` (n, k) and ``other`` (m, k) have a block in common (n, m)."""
    return np.asarray(one.astype(np.float32) @ other.T.astype(np.float32) > 0.5)


class _Grid:
    """A grid of lines at ``xs`` and ``ys``, of whose stretches some are ``along`` (nx - 1, ny) and
    ``across`` (nx, ny - 1) hit.

    Lengths (nx, ny) of paths with one more turn follow from those with one less by a sweep along
    all lines of a direction; so the time does not depend on the way.
    """

    def __init__(self, xs: Floats, ys: Floats, along: Flags, across: Flags) -> None:
        self.xs, self.ys = xs, ys
        # Points of a line belong to different parts if a stretch between them is hit.
        self._rows = np.zeros((len(xs), len(ys)))
        self._columns = self._rows.copy()
        self._rows[1:] = along.cumsum(axis=0)
        self._columns[:, 1:] = across.cumsum(axis=1)

    def path(self, start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
        """The points at which the shortest path turns, and its ends; empty if there is none.

        It begins and ends along the x axis.
        """
        lengths = [np.full(self._rows.shape, _UNREACHED)]
        lengths[0][start] = 0.0
        best, fewest = _UNREACHED, -1
        for turns in range(LONGEST + 2):
            lengths.append(self._swept(lengths[-1], turns % 2))
            found = lengths[-1][end] + _TURN_COST * turns
            if turns % 2 == 0 and found < best:
                best, fewest = found, turns
            if lengths[-1].min() + _TURN_COST * turns > best:
                break
        points = [end]
        for turns in range(fewest, -1, -1):
            points.append(self._origin(lengths[turns], points[-1], turns % 2))
        return points[::-1] if fewest >= 0 else []

    def _swept(self, lengths: Floats, axis: int) -> Floats:
        """The lengths after moves along an axis from where paths have these."""
        at, parts = self._lines(axis)
        ahead = _APART * parts
        behind = _APART * (parts.max() - parts)
        on = np.minimum.accumulate(lengths - at - ahead, axis=axis) + at + ahead
        back = np.flip(np.minimum.accumulate(np.flip(lengths + at - behind, axis), axis), axis)
        return np.asarray(np.minimum(np.minimum(on, back - at + behind), _UNREACHED))

    def _origin(self, lengths: Floats, to: tuple[int, int], axis: int) -> tuple[int, int]:
        """From where the shortest path with these lengths comes to a point along an axis."""
        at, parts = self._lines(axis)
        line = (slice(None), to[1]) if axis == 0 else (to[0], slice(None))
        here, places = to[axis], np.broadcast_to(at, parts.shape)[line]
        far = np.abs(places - places[here]) + _APART * (parts[line] != parts[to])
        found = int((lengths[line] + far).argmin())
        return (found, to[1]) if axis == 0 else (to[0], found)

    def _lines(self, axis: int) -> tuple[Floats, Floats]:
        """The places of points along an axis, and the parts of their lines."""
        return (self.xs[:, None], self._rows) if axis == 0 else (self.ys, self._columns)


def _within(values: Floats, begin: float, end: float) -> Floats:
    """Those values that are so near to the ports at ``begin`` and ``end`` that all blocks are known
    there.
    """
    low, high = min(begin, end) - REACH, max(begin, end) + REACH
    return values[(values >= low) & (values <= high)]


def _nearest(values: Floats, low: float, high: float) -> Floats:
    """The few values that are nearest to the stretch from ``low`` to ``high``."""
    values = distinct(values)
    away = np.maximum(np.maximum(low - values, values - high), 0.0)
    return values[np.argsort(away, kind="stable")[:_LINES]]


def _points_along(curves: Floats) -> tuple[Indices, Floats]:
    """Points (p, 2) close to each other on the lines ``curves`` (m, k, 2), and their curves."""
    start, along = curves[:, :-1].reshape(-1, 2), np.diff(curves, axis=1).reshape(-1, 2)
    pieces = np.clip(np.ceil(np.hypot(*along.T) / _STEP), 1, _MOST_PIECES).astype(np.intp)
    segment, number = repeated(pieces)
    share = (number + 0.5) / pieces[segment]
    return segment // (curves.shape[1] - 1), start[segment] + share[:, None] * along[segment]


def _keys(cells: Indices) -> Indices:
    """One number for each cell (n, 2)."""
    return np.asarray(cells[:, 0] * (1 << 32) + cells[:, 1])


_FEW_PAIRS = 50_000
"""Pairs of a port and a block, up to which all are looked at."""


def covered_ports(scene: Scene, blocks: Indices) -> dict[int, int]:
    """The ports of ``blocks`` that one of these blocks hides, with the block on top of them.

    Of two blocks the one with the higher number is drawn on the other.
    """
    ports = scene.ports_of(blocks)
    points, own = scene.port_points(ports), scene.port_block[ports]
    if len(ports) * len(blocks) <= _FEW_PAIRS:
        above = _topmost(scene.rects[blocks], blocks, points, own)
    else:
        above = Obstacles(scene.rects, blocks).topmost(points, own)
    hidden = np.flatnonzero(above >= 0)
    return dict(zip(ports[hidden].tolist(), above[hidden].tolist(), strict=True))


def _topmost(rects: Floats, blocks: Indices, points: Floats, own: Ints) -> Ints:
    """As :meth:`Obstacles.topmost`, among ``blocks`` (k,) at ``rects`` (k, 4), pair by pair."""
    low, high = rects[:, :2] + INSET, rects[:, :2] + rects[:, 2:] - INSET
    at = points[:, None]
    inside = ((at > low) & (at < high)).all(axis=2) & (blocks > own[:, None])
    found: Ints = np.where(inside, blocks, -1).max(axis=1, initial=-1).astype(np.int32)
    return found


def cover_of(scene: Scene, port: int) -> str:
    """Name of the block that hides a port; empty if none does."""
    x, y = scene.port_points(np.array([port]))[0].tolist()
    own = int(scene.port_block[port])
    near = np.union1d(scene.blocks_in(np.array([x, y, x, y])), own)
    above = covered_ports(scene, near).get(port)
    return "" if above is None else scene.names[above]
