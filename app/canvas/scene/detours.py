"""The routes of a page's wires: those that are stored, and detours, found little by little.

A wire without bends or route that would pass behind a block is drawn along a way around it. The
ways depend only on the positions and sizes of blocks, so that the same page always looks the same.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import NO_INDICES
from gradwire.app.canvas.scene.obstacles import LONGEST, REACH, Obstacles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.members import Changes
    from gradwire.runtime.diagram import Page, Route

ALIKE = 1e-6
"""Difference of the shifts of two blocks, scene units, that have moved alike."""


class RouteArrays:
    """The routes of a page's wires; a wire with bends has none.

    ``corners`` (n, 2) are those of the blocks to which the routes belong. ``sizes`` (m,) are the
    numbers of stretches of the wires' routes, 0 without one.
    """

    def __init__(self, page: Page, wire_index: Mapping[str, int], corners: Floats) -> None:
        given = [
            (wire_index.get(str(target)), route)
            for target, route in page.routes.items()
            if len(route) % 2 and target not in page.bends
        ]
        known = sorted((wire, route) for wire, route in given if wire is not None)
        self._corners = corners
        self.sizes: Ints = np.zeros(len(wire_index), np.int32)
        self.sizes[[wire for wire, _ in known]] = [len(route) for _, route in known]
        self._first: Ints = np.cumsum(self.sizes, dtype=np.int32) - self.sizes
        self._stretches: Floats = np.array([at for _, route in known for at in route], np.float64)

    def followed(self, wires: Indices, ends: Ints, corners: Floats) -> Flags:
        """Which of ``wires`` (k,) between blocks ``ends`` (k, 2) follow a route.

        Both ends have moved alike, or not at all; ``corners`` (n, 2) are those of blocks now.
        """
        shifts = corners[ends] - self._corners[ends]
        alike = (np.abs(shifts[:, 0] - shifts[:, 1]) < ALIKE).all(axis=1)
        return np.asarray(alike & (self.sizes[wires] > 0))

    def waypoints(
        self, wires: Indices, size: int, tails: Ints, corners: Floats, ends: Floats
    ) -> Floats:
        """The waypoints (k, 2 (size + 3)) of wires with routes of one size.

        ``tails`` (k,) are the blocks that they leave, ``corners`` (n, 2) those of blocks now, and
        ``ends`` (k, 4) the ports.
        """
        route = self._stretches[self._first[wires, None] + np.arange(size)]
        return square(route, corners[tails] - self._corners[tails], ends)

    def follow(
        self, wires: Indices, routes: Sequence[Route], blocks: Indices, corners: Floats
    ) -> None:
        """Take other ``routes`` for ``wires`` (k,), an empty one for none; ``blocks`` (b,) that the
        routes belong to are now at ``corners`` (b, 2).
        """
        self._corners[blocks] = corners
        self.sizes[wires] = [len(route) if len(route) % 2 else 0 for route in routes]
        self._first[wires] = len(self._stretches) + np.cumsum(self.sizes[wires]) - self.sizes[wires]
        added = [at for route in routes if len(route) % 2 for at in route]
        self._stretches = np.append(self._stretches, added)

    def renumber(self, blocks: Changes, wires: Changes) -> None:
        """Follow blocks and wires to their numbers now; new wires have no routes yet."""
        self._corners = blocks.rows(self._corners, np.nan)
        self.sizes, self._first = wires.rows(self.sizes), wires.rows(self._first)


def square(route: Floats, shift: Floats, ends: Floats) -> Floats:
    """The waypoints (k, 2 (s + 3)) of square wires.

    Their routes (k, s) have moved by ``shift`` (k, 2); their ports are at ``ends`` (k, 4).
    """
    xs = np.repeat(route[:, ::2] + shift[:, :1], 2, axis=1)
    ys = np.repeat(route[:, 1::2] + shift[:, 1:], 2, axis=1)
    ys = np.concatenate([ends[:, 1:2], ys, ends[:, 3:]], axis=1)
    turns = np.stack([xs, ys], axis=2).reshape(len(route), -1)
    return np.concatenate([ends[:, :2], turns, ends[:, 2:]], axis=1)


def shrunk(sides: Floats, margin: float) -> Floats:
    """Rectangles (k, 4: left, top, width, height) within sides (k, 4: left, top, right, bottom)."""
    corners, sizes = sides[:, :2] + margin, sides[:, 2:] - sides[:, :2] - 2.0 * margin
    return np.concatenate([corners, sizes], axis=1)


AT_ONCE = 256
"""Wires that are checked at once when a page is shown or changed; the others follow when idle."""
SEARCHED = 1
"""Wires for which a long way is searched for in each step while idle."""
LIVE = 24
"""Wires of moved blocks that are checked again in each step of a drag, at most."""
_BY_WIRE = ("_sizes", "_stretches", "_ends", "_pending", "_stuck", "_dragged", "_own", "_clear")
_FEW = 64
"""Blocks that may have changed for the wires near them alone to be checked again."""


class Detours:
    """The detours of wires with these ``keys`` (m,)."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._keys = keys
        self._sizes: Ints = np.zeros(len(keys), np.int32)
        """Numbers of stretches (m,) of the detours, 0 for wires that need none."""
        self._stretches: Floats = np.zeros((len(keys), LONGEST))
        self._ends: Floats = np.full((len(keys), 4), np.nan)
        """Ends of the wires (m, 4) when they were checked."""
        self._pending: Flags = np.ones(len(keys), bool)
        self._stuck: Flags = np.zeros(len(keys), bool)
        """Wires (m,) without a short way, for which a long one has not been searched for yet."""
        self._dragged: Flags = np.zeros(len(keys), bool)
        """Wires (m,) checked in a drag only: for short ways, among blocks that were elsewhere."""
        self._own: Ints = np.zeros((len(keys), 2), np.int32)
        self._clear: Floats = np.zeros(len(keys))
        """The distance that each way keeps from blocks (m,)."""
        self._rects: Floats = np.zeros((0, 4))
        self._gone: Floats = self._rects
        """Where blocks were (k, 4) that are gone, until the wires near them are checked."""
        self._obstacles: Obstacles | None = None

    def for_wires(self, keys: Sequence[str]) -> Detours:
        """The detours of a page after its wires have become these."""
        if keys is self._keys:
            return self
        new, known = Detours(keys), dict(zip(self._keys, range(len(self._keys)), strict=True))
        before = np.fromiter(map(known.get, keys, repeat(-1)), np.intp, len(keys))
        here = np.flatnonzero(before >= 0)
        there = before[here]
        for name in _BY_WIRE:
            getattr(new, name)[here] = getattr(self, name)[there]
        new._rects = self._rects
        return new

    def renumber(
        self, blocks: Changes, wires: Changes, keys: Sequence[str], own: Ints, clear: Floats
    ) -> None:
        """Follow blocks and wires to their numbers now, before new ones have a place.

        The wires have these ``keys`` (m,), lie between ``own`` (m, 2), and keep ``clear`` (m,) of
        others.
        """
        new = Detours(keys)
        for name in _BY_WIRE:
            setattr(self, name, wires.rows(getattr(self, name), getattr(new, name)[:1]))
        self._keys, self._own = keys, own
        self._pending |= clear != self._clear
        self._clear = clear
        self._gone = self._rects[blocks.gone]
        self._rects = blocks.rows(self._rects, np.nan)
        if self._obstacles is not None:
            self._obstacles.renumber(blocks)

    def follow_all(
        self, rects: Floats, ends: Floats, own: Ints, clear: Floats, free: Flags
    ) -> None:
        """Follow the blocks ``rects`` (n, 4) and the ``ends`` (m, 4) of wires between ``own`` (m,
        2) that keep ``clear`` (m,) of others; only the ``free`` (m,) have detours, not those with
        bends or a route.
        """
        shift = _common_shift(self._rects, rects)
        if shift is None:
            self._pending |= _near(_changed(self._rects, rects), ends)
        else:
            self._ends += np.tile(shift, 2)
            self._stretches += shift[np.arange(LONGEST) % 2]
        moved = ~(np.abs(ends - self._ends) < ALIKE).all(axis=1)
        self._pending |= moved | self._dragged | (clear != self._clear)
        self._dragged[:] = False
        self._ends[moved] = ends[moved]
        self._sizes[moved | ~free] = 0
        self._pending &= free
        self._stuck &= free & ~moved
        self._ends[~free] = np.nan
        self._rects, self._own, self._clear = rects.copy(), own, clear
        self._obstacles = None
        self._check(np.flatnonzero(self._pending)[:AT_ONCE])

    def follow(
        self, blocks: Indices, rects: Floats, wires: Indices, ends: Floats, free: Flags,
        wires_in: Callable[[Floats], Indices],
    ) -> Indices:  # fmt: skip
        """Follow a few ``blocks`` (k,) to ``rects`` (k, 4), and ``wires`` (w,), which are all of
        theirs, where wires have the ``ends`` (m, 4) now; otherwise as :meth:`follow_all`.

        ``wires_in`` finds the others in an area by its sides. Returns the wires that have another
        detour now, or none.
        """
        changed = np.concatenate([_changed(self._rects[blocks], rects), self._gone])
        self._gone = self._gone[:0]
        changed = changed[~np.isnan(changed[:, 0])]
        near = self._dragged & free
        some = wires_in(_around(changed)) if 0 < len(changed) <= 2 * _FEW else np.arange(len(ends))
        near[some] |= _near(changed, ends[some]) & free[some]
        self._dragged[:] = False
        self._rects[blocks] = rects
        if self._obstacles is not None:
            self._obstacles.move(blocks, rects)
        moved = wires[~(np.abs(ends[wires] - self._ends[wires]) < ALIKE).all(axis=1)]
        near[moved] = free[moved]
        self._ends[moved] = ends[moved]
        anew = np.union1d(moved, wires[~free[wires]])
        self._sizes[anew], self._stuck[anew], self._pending[anew] = 0, False, False
        self._ends[anew[~free[anew]]] = np.nan
        self._pending |= near
        fresh = np.flatnonzero(near)[:AT_ONCE]
        before = self._sizes[fresh], self._stretches[fresh]
        self._check(fresh)
        stays = self._stuck[fresh] & (before[0] > 0)  # until a long way is searched for
        self._sizes[fresh[stays]] = before[0][stays]
        return np.union1d(fresh[self._differ(fresh, *before)], anew)

    def refine(self, most: int | None = None, among: Indices | None = None) -> Indices:
        """Check the next wires, at most so many; returns those that have found or lost a detour.

        When all are checked, those without a short way are searched for a long one. Others than
        those ``among`` which are left for later, if any are given.
        """
        pending = _chosen(self._pending, among)
        found = self._check(pending[:most])
        if most is not None and len(pending) > most:
            return found
        stuck = _chosen(self._stuck, among)[: None if most is None else SEARCHED]
        return np.concatenate([found, self._search(stuck)])

    def is_complete(self, among: Indices | None = None) -> bool:
        """Whether all wires, or those ``among`` them, are checked, and ways searched for."""
        some = slice(None) if among is None else among
        return not (self._pending[some].any() or self._stuck[some].any())

    def recheck(
        self, rects: Floats, wires: Indices, ends: Floats, free: Flags,
        blocks_in: Callable[[Floats], Indices],
    ) -> None:  # fmt: skip
        """Check ``wires`` (k,) again, whose blocks have moved, unless there are many.

        ``blocks_in`` finds the blocks ``rects`` (n, 4) in an area by its sides.
        """
        if len(wires) <= LIVE:
            wires, ends = wires[free], ends[free]
            self._ends[wires] = ends
            self._check(wires, Obstacles(rects, _near_ends(ends, blocks_in)))
            self._stuck[wires], self._dragged[wires] = False, True

    def followed(self, wires: Indices, ends: Floats) -> Ints:
        """Numbers of stretches (k,) of the detours that ``wires`` follow: 0 if their ends (k, 4)
        have not moved alike since.
        """
        shift = ends - self._ends[wires]
        alike = (np.abs(shift[:, :2] - shift[:, 2:]) < ALIKE).all(axis=1)
        return np.where(alike, self._sizes[wires], 0).astype(np.int32)

    def waypoints(self, wires: Indices, size: int, ends: Floats) -> Floats:
        """The waypoints (k, 2 (size + 3)) of wires with detours of one size."""
        return square(self._stretches[wires, :size], (ends - self._ends[wires])[:, :2], ends)

    def _check(self, wires: Indices, obstacles: Obstacles | None = None) -> Indices:
        if not len(wires):
            return wires
        obstacles = obstacles or self._all_obstacles()
        had = self._sizes[wires] > 0
        self._pending[wires], self._stuck[wires], self._sizes[wires] = False, False, 0
        blocked = wires[obstacles.blocked(self._ends[wires], self._own[wires])]
        for wire in blocked.tolist():
            self._lead(wire, obstacles.way(*self._trip(wire)))
        self._stuck[blocked] = self._sizes[blocked] == 0
        return wires[had | (self._sizes[wires] > 0)]

    def _search(self, wires: Indices) -> Indices:
        """Search for long ways of ``wires`` (k,), among all blocks."""
        if not len(wires):
            return wires
        self._stuck[wires] = False
        before = self._sizes[wires], self._stretches[wires]
        for wire in wires.tolist():
            self._lead(wire, self._all_obstacles().long_way(*self._trip(wire)))
        return wires[self._differ(wires, *before)]

    def _differ(self, wires: Indices, sizes: Ints, stretches: Floats) -> Flags:
        """Which of ``wires`` (k,) have another detour than that of these stretches (k, LONGEST), of
        which they had as many as ``sizes`` (k,) says.
        """
        others = self._stretches[wires] != stretches
        return np.asarray((self._sizes[wires] != sizes) | others.any(axis=1))

    def _all_obstacles(self) -> Obstacles:
        if self._obstacles is None:
            self._obstacles = Obstacles(self._rects)
        return self._obstacles

    def _trip(self, wire: int) -> tuple[Floats, Ints, float]:
        return self._ends[wire], self._own[wire], float(self._clear[wire])

    def _lead(self, wire: int, way: Route) -> None:
        self._sizes[wire] = len(way)
        self._stretches[wire, : len(way)] = way


def _common_shift(before: Floats, after: Floats) -> Floats | None:
    """By how much all blocks (n, 4) have moved (2,); None if they have not moved alike."""
    if before.shape != after.shape or not len(after):
        return None
    shift = after - before
    alike = (np.abs(shift - shift[0]) < ALIKE).all() and (before[:, 2:] == after[:, 2:]).all()
    return shift[0, :2] if alike else None


def _chosen(flags: Flags, among: Indices | None) -> Indices:
    """The wires with a flag (m,), or those ``among`` these, in order."""
    found: Indices = np.flatnonzero(flags) if among is None else among[flags[among]]
    return found


def _near_ends(ends: Floats, blocks_in: Callable[[Floats], Indices]) -> Indices:
    """The blocks near the wires with these ends (k, 4)."""
    if not len(ends):
        return NO_INDICES
    low, high = ends.reshape(-1, 2).min(axis=0) - REACH, ends.reshape(-1, 2).max(axis=0) + REACH
    return blocks_in(np.concatenate([low, high]))


def _changed(before: Floats, after: Floats) -> Floats:
    """The blocks (k, 4) that are only in one of two pages."""
    if abs(len(before) - len(after)) > 2 * _FEW:
        return np.concatenate([before, after])
    if before.shape == after.shape:
        differ = (before != after).any(axis=1)
        return np.concatenate([before[differ], after[differ]])
    first, last = _first_change(before, after), _first_change(before[::-1], after[::-1])
    last = min(last, min(len(before), len(after)) - first)
    middles = (rects[first : len(rects) - last].tolist() for rects in (before, after))
    old, new = (set(map(tuple, middle)) for middle in middles)
    return np.array(sorted(old ^ new), np.float64).reshape(-1, 4)


def _first_change(before: Floats, after: Floats) -> int:
    """How many rows two arrays (·, 4) have in common at the beginning."""
    both = min(len(before), len(after))
    differ = (before[:both] != after[:both]).any(axis=1)
    return int(differ.argmax()) if differ.any() else both


def _around(rects: Floats) -> Floats:
    """Left, top, right, bottom of what is near ``rects`` (k, 4)."""
    low, high = rects[:, :2].min(axis=0), (rects[:, :2] + rects[:, 2:]).max(axis=0)
    return np.concatenate([low - REACH, high + REACH])


def _near(rects: Floats, ends: Floats) -> Flags:
    """Wires (m,) that one of ``rects`` (k, 4) may be in the way of, or in that of their detour."""
    found = np.full(len(ends), len(rects) > 2 * _FEW)
    if not len(rects) or found.all():
        return found
    x0, _, x1, _ = ends.T
    begin, end = rects[:, 0].min() - REACH, (rects[:, 0] + rects[:, 2]).max() + REACH
    some = np.flatnonzero(((x0 < end) | (x1 < end)) & ((x0 > begin) | (x1 > begin)))
    x0, y0, x1, y1 = ends[some].T
    left, right = np.minimum(x0, x1) - REACH, np.maximum(x0, x1) + REACH
    top, bottom = np.minimum(y0, y1) - REACH, np.maximum(y0, y1) + REACH
    for x, y, w, h in rects.tolist():
        found[some] |= (x < right) & (y < bottom) & (x + w > left) & (y + h > top)
    return found
