"""The scene: where blocks, ports and wires of a page lie, as numpy arrays; culling and moving.

Scene units are px at 100 %, y downwards. The layout places the top left corner of a block.
Blocks, ports and wires are numbered from 0 in the order of the page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.app.canvas.scene.arrays import (
    NO_INDICES,
    NO_POINTS,
    Flags,
    Floats,
    Indices,
    Ints,
    around,
    corners_of,
    distinct,
    note_rect,
    sides_of,
)
from gradwire.app.canvas.scene.curves import CORNER, Courses
from gradwire.app.canvas.scene.detours import Detours, RouteArrays, shrunk
from gradwire.app.canvas.scene.lane_paths import ForkPoints, LanePaths
from gradwire.app.canvas.scene.members import (
    FEW,
    NO_PAGE,
    Members,
    Renumbered,
    block_sizes,
    changed_parameters,
    is_collapsed,
    port_offsets,
)
from gradwire.app.canvas.scene.moves import (
    LastCourses,
    MovedItems,
    MovedWires,
    have_others_changed,
    moves_of,
)
from gradwire.app.canvas.scene.spatial_index import SpatialIndex

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.members import MembersEdit
    from gradwire.runtime.diagram import Diagram

PORT_RADIUS = 4.0
OVERHANG = 12.0
"""How far ports and badges extend beyond a block, scene units."""
_AROUND = np.array([-OVERHANG, -OVERHANG, OVERHANG, OVERHANG])
LANE_MARGIN = 42.0
"""How far a wire's lanes (at most four) and their labels are from its curve, scene units."""


class Bend(NamedTuple):
    """A point that a wire passes through: the wire's key, and the bend's number from its source."""

    wire: str
    number: int


class Scene(Members):
    """One page as arrays. ``update`` follows edits, ``place`` a drag; both raise ``version``."""

    def __init__(self, diagram: Diagram, page: str) -> None:
        super().__init__(diagram, page)
        self.lane_paths = LanePaths(self)
        self._detours = Detours()
        self.moved = MovedWires()
        self._places = SpatialIndex(self)
        self.rows: Ints = self.least_rows
        """Number of text lines on each face (n,)."""
        self.are_counted: Flags = np.zeros(len(self.names), bool)
        """Blocks (n,) whose lines were counted, and that have not changed since."""
        self.renumbered: Renumbered | None = None
        self._read_layout()

    def update(self, diagram: Diagram) -> bool:
        """Follow an edit of the same page; False if what blocks show may have changed."""
        was, page = self.page, diagram.pages.get(self.page_name, NO_PAGE)
        rebuilt = not (page.blocks is was.blocks and page.wires is was.wires)
        rebuilt |= self.has_pages and have_others_changed(self.diagram, diagram, self.page_name)
        restyled = page.styles is not was.styles
        moves = None if restyled or not self._is_placed else moves_of(was, page)
        if (self.bends != self._placed_bends).any():
            moves = None
        if rebuilt and not (moves is not None and self._follow_members(diagram, moves)):
            known = dict(zip(self.names, self.rows.tolist(), strict=True))
            self.diagram, self.page = diagram, page
            self._read_blocks()
            self.moved.forget()
            self.renumbered = None
            rows = map(known.get, self.names, self.least_rows.tolist())
            self.rows = np.fromiter(rows, np.int32, len(self.names))
            self.are_counted = np.zeros(len(self.names), bool)
            self._read_layout()
        elif not rebuilt:
            self.diagram, self.page = diagram, page
            if moves is None:
                self._read_layout()
            elif moves.blocks or moves.routes:
                self._follow(moves)
        return not (rebuilt or restyled)

    def _follow_members(self, diagram: Diagram, moves: MovedItems) -> bool:
        """Follow an edit of a few blocks and wires; False, and nothing is done, if it is none."""
        keys, slots = self.wire_keys, self.slots
        has_others = have_others_changed(self.diagram, diagram, self.page_name)
        edit = None if self.has_pages and has_others else self._follow_edit(diagram)
        if edit is None:
            return False
        self.renumbered = Renumbered(keys, slots, edit)
        self._renumber(edit)
        self._follow(moves, edit.touched)
        return True

    def follow_numbers(self, diagram: Diagram) -> list[int] | None:
        """Follow an edit that changed nothing but parameters; the blocks that have others now.

        None, and nothing is done, if more has changed that is seen on this page.
        """
        page = diagram.pages.get(self.page_name, NO_PAGE)
        changed = changed_parameters(self.diagram, diagram, self.page_name)
        if changed is not None:
            self.diagram, self.page = diagram, page
            self.blocks[:] = page.blocks.values()
        return changed

    def set_rows(self, rows: Ints) -> bool:
        """Make room for ``rows`` (n,) lines of text; True if the height of a block changed."""
        self.are_counted[:] = True
        changed = np.flatnonzero(rows != self.rows)
        if not len(changed):
            return False
        self.rows = rows
        if len(changed) > FEW:
            self._measure()
        else:
            self._measure_blocks(changed)
            self._follow_blocks(changed)
        return True

    def face_lines(self) -> dict[str, int]:
        """Number of text lines on the face of each block, by name."""
        return dict(zip(self.names, self.rows.tolist(), strict=True))

    def place(
        self,
        blocks: Indices,
        corners: Floats,
        bends: Indices = NO_INDICES,
        points: Floats = NO_POINTS,
    ) -> None:
        """Put ``blocks`` (k,) at ``corners`` (k, 2) and ``bends`` (b,) at ``points`` (b, 2).

        Their wires follow.
        """
        self.bends[bends] = points
        self._move(blocks, corners)
        touched = self.wires_of(blocks)
        ends = self._ports[self.wire_ports[touched]].reshape(-1, 4)
        free = (self.bend_counts[touched] == 0) & ~self._routes.followed(
            touched, self.wire_blocks[touched], self.rects[:, :2]
        )
        self._detours.recheck(self.rects, touched, ends, free, self._places.blocks_in)
        self._update_wires(np.union1d(touched, self.bend_wire[bends]))

    def _move(self, blocks: Indices, corners: Floats) -> None:
        self.rects[blocks, :2] = corners
        self._places.move_blocks(blocks)
        ports = self.ports_of(blocks)
        self._ports[ports] = self.rects[self.port_block[ports], :2] + self._port_offset[ports]

    def _follow(self, moves: MovedItems, touched: Indices = NO_INDICES) -> None:
        """Follow an edit that has moved a few blocks and changed a few routes; the blocks
        ``touched`` are new, or may have other ports, wires or sizes.
        """
        known = np.array([self.index[name] for name in moves.blocks], np.intp)
        self._placed[known] = np.array([*moves.blocks.values()], np.float64).reshape(-1, 2)
        (x, y), (left, top) = self.rects.T[:2], self._placed.T
        dragged = np.flatnonzero((x != left) | (y != top))
        blocks = np.union1d(known, dragged)  # a drag may have put some where they are now
        corners = self._placed[blocks]
        keys = [key for key in moves.routes if key in self.wire_index]
        routed = np.array([self.wire_index[key] for key in keys], np.intp)
        self._move(blocks, corners)
        self._routes.follow(routed, [moves.routes[key] for key in keys], blocks, corners)
        self._follow_blocks(np.union1d(blocks, touched), routed)

    def _follow_blocks(self, blocks: Indices, routed: Indices = NO_INDICES) -> None:
        """Follow blocks that are elsewhere or have another size now, and ``routed`` wires."""
        wires = np.union1d(self.wires_of(blocks), routed)
        ends = self.wire_ends
        ends[wires] = self._ports[self.wire_ports[wires]].reshape(-1, 4)
        free = (self.bend_counts == 0) & (self._routes.sizes == 0)
        rects, near = self.rects[blocks], self.wires_in
        others = self._detours.follow(blocks, rects, wires, ends, free, near)
        self._update_wires(np.union1d(wires, others))

    def refine(self, most: int | None = None, area: Floats | None = None) -> bool:
        """Look for detours of the next wires, at most so many, of those in an ``area`` if it is
        given; True if one was found or lost.
        """
        found = self._detours.refine(most, None if area is None else self.wires_in(area))
        if len(found):
            self._update_wires(found)
        return len(found) > 0

    def is_refined(self, area: Floats | None = None) -> bool:
        """Whether it is known of all wires, or those in an ``area``, if they need a detour."""
        return self._detours.is_complete(None if area is None else self.wires_in(area))

    def blocks_in(self, area: Floats) -> Indices:
        """Blocks that touch ``area`` (left, top, right, bottom), ports included."""
        return self._places.blocks_in(area + _AROUND)

    def wires_in(self, area: Floats) -> Indices:
        """Wires whose bounds touch ``area`` (left, top, right, bottom)."""
        return self._places.wires_in(area)

    def courses(self, wires: Indices) -> Iterator[tuple[Indices, Courses]]:
        """``wires`` grouped by kind and by number of waypoints, each group with its courses."""
        routed, around = self._is_routed[wires], self._detour_sizes[wires]
        if not (len(self.bends) or routed.any() or around.any()):
            yield wires, Courses(self.wire_ends[wires])
            return
        sizes = np.where(routed, self._routes.sizes[wires], 0)
        yield from self._curves(wires[(sizes == 0) & (around == 0)])
        for size in distinct(sizes[sizes > 0]).tolist():
            alike = wires[sizes == size]
            ends, tails = self.wire_ends[alike], self.wire_blocks[alike, 0]
            waypoints = self._routes.waypoints(alike, size, tails, self.rects[:, :2], ends)
            yield alike, Courses(waypoints, CORNER)
        for size in distinct(around[around > 0]).tolist():
            alike = wires[around == size]
            waypoints = self._detours.waypoints(alike, size, self.wire_ends[alike])
            yield alike, Courses(waypoints, CORNER)

    def course_of(self, key: str) -> Courses:
        """The course of one wire."""
        return next(self.courses(np.array([self.wire_index[key]])))[1]

    def fork_points(self, wires: Indices) -> Floats:
        """How far each of ``wires`` (k,) runs with another one of its port (k,)."""
        return self._fork_points.of(wires)

    def changed_forks(self) -> Indices:
        """The wires that run with others of their ports in another way than when this was last
        asked.
        """
        return self._fork_points.changed()

    def _curves(self, wires: Indices) -> Iterator[tuple[Indices, Courses]]:
        counts = self.bend_counts[wires]
        for bends in distinct(counts).tolist():
            alike = wires[counts == bends]
            between = self.bends[self._first_bend[alike, None] + np.arange(bends)]
            ends = self.wire_ends[alike]
            middle = between.reshape(len(alike), -1)
            yield alike, Courses(np.concatenate([ends[:, :2], middle, ends[:, 2:]], axis=1))

    def bend(self, bend: Bend) -> int | None:
        """Number of a bend among all bends of the page; None if it does not exist."""
        wire = self.wire_index.get(bend.wire)
        if wire is None or not 0 <= bend.number < self.bend_counts[wire]:
            return None
        return int(self._first_bend[wire]) + bend.number

    def bend_name(self, bend: int) -> Bend:
        """The wire of a bend, and its number on that wire."""
        wire = int(self.bend_wire[bend])
        return Bend(self.wire_keys[wire], bend - int(self._first_bend[wire]))

    def bounds(self, blocks: Indices | None = None) -> Floats | None:
        """Left, top, right, bottom of ``blocks``, or of the whole page; None if that is empty."""
        if blocks is not None:
            return around(self.rects[blocks])
        return self._places.bounds()

    def squares_in(self, some: slice) -> Floats:
        """Left, top, right, bottom of the square wires among some (k, 4), without lanes."""
        is_square = self._is_routed[some] | (self._detour_sizes[some] > 0)
        return sides_of(shrunk(self.wire_bounds[some][is_square], LANE_MARGIN))

    def bounds_of(self, blocks: Collection[str], notes: Collection[str] = ()) -> Floats | None:
        """Left, top, right, bottom of blocks and notes by name; None if there are none."""
        chosen = np.array([self.index[name] for name in blocks if name in self.index], np.intp)
        texts = [note_rect(note) for name, note in self.page.notes.items() if name in notes]
        return around(np.concatenate([self.rects[chosen], np.array(texts).reshape(-1, 4)]))

    def note_rects(self) -> Floats:
        """Left, top, width, height of each note (k, 4)."""
        return np.array([note_rect(note) for note in self.page.notes.values()]).reshape(-1, 4)

    def note_is_frame(self) -> Flags:
        """Which of the notes are frames (k,)."""
        return np.array([note.frame for note in self.page.notes.values()], bool)

    def port_points(self, ports: Indices | None = None) -> Floats:
        """Centres (k, 2) of ``ports``, or of all."""
        return self._ports if ports is None else self._ports[ports]

    def _read_layout(self) -> None:
        layout = self.page.layout
        known = list(map(layout.get, self.names))
        self._is_placed = None not in known
        corners = corners_of(known)
        self.rects: Floats = np.empty((len(corners), 4))
        """Left, top, width, height of each block (n, 4)."""
        flat = np.fromiter(chain.from_iterable(corners), float, 2 * len(corners))
        self.rects[:, :2] = self._placed = flat.reshape(-1, 2)
        self.is_collapsed: Flags = is_collapsed(self.page, self.names)
        self.wire_ends: Floats = np.empty((len(self.wire_keys), 4))
        """Ends of each wire: x0, y0, x1, y1 (m, 4)."""
        self.wire_bounds: Floats = np.empty((len(self.wire_keys), 4))
        """Left, top, right, bottom of each wire with its lanes (m, 4)."""
        self._fork_points = ForkPoints(self, self._is_forked)
        self._forget_places()
        self._read_bends()
        self._routes = RouteArrays(self.page, self.wire_index, self._placed.copy())
        self._is_routed: Flags = np.zeros(len(self.wire_keys), bool)
        """Wires (m,) that follow their routes."""
        self._detours = self._detours.for_wires(self.wire_keys)
        self._detour_sizes: Ints = np.zeros(len(self.wire_keys), np.int32)
        """Numbers of stretches (m,) of the detours that wires follow, 0 for the others."""
        self._measure()

    def _read_bends(self) -> None:
        given = [(self.wire_index.get(str(target)), b) for target, b in self.page.bends.items()]
        known = sorted((wire, bends) for wire, bends in given if wire is not None)
        self.bend_counts: Ints = np.zeros(len(self.wire_keys), np.int32)
        """Number of bends of each wire (m,)."""
        self.bend_counts[[wire for wire, _ in known]] = [len(bends) for _, bends in known]
        self._first_bend: Ints = np.cumsum(self.bend_counts, dtype=np.int32) - self.bend_counts
        self.bend_wire: Indices = np.repeat(np.arange(len(self.wire_keys)), self.bend_counts)
        """The wire of each bend (b,)."""
        points = [bend for _, bends in known for bend in bends]
        self.bends: Floats = np.array(points, np.float64).reshape(-1, 2)
        """Position of each bend, wire by wire (b, 2)."""
        self._placed_bends = self.bends.copy()

    def _measure(self) -> None:
        self._measure_blocks(np.arange(len(self.names)))
        self._read_offsets()
        ends = self._ports[self.wire_ports].reshape(-1, 4)
        free = (self.bend_counts == 0) & (self._routes.sizes == 0)
        self._detours.follow_all(self.rects, ends, self.wire_blocks, self.clearance(), free)
        self._update_wires(np.arange(len(self.wire_keys)))

    def _measure_blocks(self, blocks: Indices) -> None:
        """Measure ``blocks`` (k,) anew."""
        names = [self.names[i] for i in blocks.tolist()]
        parts = self.port_rows[blocks], self.rows[blocks], self.is_collapsed[blocks]
        self.rects[blocks, 2:] = block_sizes(self.page, names, *parts)
        self._places.move_blocks(blocks)

    def _read_offsets(self) -> None:
        collapsed = self.is_collapsed[self.port_block]
        self._port_offset = port_offsets(self.port_is_input, self._ports_by_block.places, collapsed)
        self._ports: Floats = self.rects[self.port_block, :2] + self._port_offset

    def _forget_places(self) -> None:
        self._last_courses = LastCourses()
        self._places.forget()

    def _renumber(self, edit: MembersEdit) -> None:
        """Keep what is known of the blocks and wires that are still there, by their numbers now."""
        blocks, wires = edit.blocks, edit.wires
        self._last_courses = LastCourses()
        self._places.renumber(edit)
        self.moved.renumber(wires.now, self.wire_bounds[wires.gone])
        self.rows = blocks.rows(self.rows)
        new = np.flatnonzero(blocks.before < 0)
        self.rows[new] = self.least_rows[new]
        self.are_counted = blocks.rows(self.are_counted)
        self.are_counted[edit.touched] = False
        self.is_collapsed = blocks.rows(self.is_collapsed)
        self.is_collapsed[new] = is_collapsed(self.page, [self.names[i] for i in new.tolist()])
        self.rects = blocks.rows(self.rects, np.nan)
        self._placed = blocks.rows(self._placed, np.nan)
        self._measure_blocks(edit.touched)
        self._read_offsets()
        self.wire_ends = wires.rows(self.wire_ends, np.nan)
        self.wire_bounds = wires.rows(self.wire_bounds, np.nan)
        self._is_routed = wires.rows(self._is_routed)
        self._detour_sizes = wires.rows(self._detour_sizes)
        self._read_bends()
        self._routes.renumber(blocks, wires)
        self._detours.renumber(blocks, wires, self.wire_keys, self.wire_blocks, self.clearance())
        self._fork_points.renumber(wires, self._is_forked)

    def _update_wires(self, wires: Indices) -> None:
        before, ends = self.wire_bounds[wires], self._ports[self.wire_ports[wires]].reshape(-1, 4)
        self.wire_ends[wires] = ends
        routed = self._routes.followed(wires, self.wire_blocks[wires], self.rects[:, :2])
        self._is_routed[wires] = routed
        self._detour_sizes[wires] = np.where(routed, 0, self._detours.followed(wires, ends))
        groups = list(self.courses(wires))
        for group, courses in groups:
            hull = courses.hull()
            self.wire_bounds[group, :2] = hull.min(axis=1) - LANE_MARGIN
            self.wire_bounds[group, 2:] = hull.max(axis=1) + LANE_MARGIN
        self._places.move_wires(wires)
        moved = self._last_courses.moved(wires, groups)
        self.version = self.moved.add(wires[moved], before[moved])
        self._fork_points.forget(wires[moved])
