"""Where the blocks and wires of a scene are, kept while a few of them move; on a large page, by the
cells of a grid.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import (
    NO_INDICES,
    around_sides,
    crossing,
    distinct,
    overlapping,
    repeated,
    runs,
    sides_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members import Changes, MembersEdit
    from gradwire.runtime.diagram import Page

_CELL = 512.0
"""Width and height of a cell, scene units."""
_FARTHEST = 1e9
_MOST_CELLS = 64
"""Cells that a rectangle may touch; those that touch more are looked at always."""
_MOST_COLUMNS = 32
"""Columns of an area, beyond which all rectangles are looked at."""
_LARGE = 30_000
"""Rectangles, up to which all are looked at, which takes no longer than to use a grid."""
_OFTEN = 24
"""How often areas are asked for before a grid is made."""
_MOVED = 0.1
"""Share of rectangles that may have moved before a new grid is made."""


class Nearby:
    """The rectangles that touch an area, as ``touching`` finds among rows (n, 4).

    ``sides_of`` gives their left, top, right and bottom (n, 4).
    """

    def __init__(
        self,
        touching: Callable[[Floats, Floats], Indices],
        sides_of: Callable[[Floats], Floats] = np.asarray,
    ) -> None:
        self._touching, self._sides_of = touching, sides_of
        self._grid: _Grid | None = None
        self._asked = 0

    def forget(self) -> None:
        """All rows may be others."""
        self._grid, self._asked = None, 0

    def move(self, numbers: Indices, rows: Floats) -> None:
        """Those with these numbers (k,) are ``rows`` (k, 4) now."""
        if self._grid is not None and not self._grid.move(numbers, self._sides_of(rows)):
            self.forget()

    def renumber(self, changes: Changes) -> None:
        """Follow all to their numbers now; new ones are nowhere until they move."""
        if self._grid is not None:
            self._grid.renumber(changes)

    def of(self, rows: Floats, area: Floats) -> Indices:
        """Which of ``rows`` (n, 4) touch ``area`` (its four sides), in order."""
        self._asked += 1
        if self._grid is None and self._asked > _OFTEN and len(rows) > _LARGE:
            self._grid = _Grid(self._sides_of(rows))
        some = None if self._grid is None else self._grid.near(area)
        if some is None:
            return self._touching(rows, area)
        return np.asarray(some[self._touching(rows[some], area)])


def near_blocks() -> Nearby:
    """Finds blocks (n, 4: left, top, width, height)."""
    return Nearby(overlapping, sides_of)


def near_wires() -> Nearby:
    """Finds wires by their bounds (m, 4: left, top, right, bottom)."""
    return Nearby(crossing)


class _Grid:
    """Rectangles with these ``sides`` (n, 4), sorted by the columns and rows of cells.

    Those that have moved since are kept by cell apart from the others.
    """

    def __init__(self, sides: Floats) -> None:
        first, last = np.split(_cells(sides), 2, axis=1)
        columns, rows = (last - first + 1).T
        self._is_wide: Flags = columns * rows > _MOST_CELLS
        """Rectangles (n,) that are looked at always."""
        self._wide = np.flatnonzero(self._is_wide)
        numbers, places = repeated(np.where(self._is_wide, 0, columns * rows))
        keys = (first[numbers, 0] + places // rows[numbers]) << 32
        keys += first[numbers, 1] + places % rows[numbers]
        order = np.argsort(keys, kind="stable")
        self._keys, self._numbers = keys[order], numbers[order]
        self._is_sorted: Flags = np.ones(len(sides), bool)
        """Rectangles (n,) that have not moved."""
        self._moved: dict[int, list[int]] = {}
        """The cells of those that have, by number."""
        self._by_cell: dict[int, set[int]] = {}
        """Their numbers by cell."""

    def move(self, numbers: Indices, sides: Floats) -> bool:
        """Move these (k,) to ``sides`` (k, 4); False if too many have moved by now."""
        if len(self._moved) + len(numbers) > _MOVED * len(self._is_sorted):
            return False
        self._is_sorted[numbers] = False
        was_wide = self._is_wide[numbers]
        for number, (left, top, right, bottom) in zip(
            numbers.tolist(), _cells(sides).tolist(), strict=True
        ):
            is_wide = (right - left + 1) * (bottom - top + 1) > _MOST_CELLS
            self._is_wide[number] = is_wide
            cells = () if is_wide else _keys_in(left, top, right, bottom)
            self._put(number, list(cells))
        if (was_wide | self._is_wide[numbers]).any():
            self._wide = np.flatnonzero(self._is_wide)
        return True

    def _put(self, number: int, cells: list[int]) -> None:
        for cell in self._moved.get(number, ()):
            self._by_cell[cell].discard(number)
        for cell in cells:
            self._by_cell.setdefault(cell, set()).add(number)
        self._moved[number] = cells

    def renumber(self, changes: Changes) -> None:
        numbers = changes.now[self._numbers]
        self._keys, self._numbers = self._keys[numbers >= 0], numbers[numbers >= 0]
        self._is_sorted = changes.rows(self._is_sorted)
        self._is_wide = changes.rows(self._is_wide)
        self._wide = np.flatnonzero(self._is_wide)
        moved = [(int(changes.now[number]), cells) for number, cells in self._moved.items()]
        self._moved, self._by_cell = {}, {}
        for number, cells in moved:
            if number >= 0:
                self._put(number, cells)

    def near(self, area: Floats) -> Indices | None:
        """Those that may touch an area, in order; None if all may."""
        left, top, right, bottom = map(_cell, area.tolist())
        if right - left >= _MOST_COLUMNS:
            return None
        columns = np.arange(left, right + 1) << 32
        begin = np.searchsorted(self._keys, columns + top)
        end = np.searchsorted(self._keys, columns + bottom, side="right")
        found = self._numbers[runs(begin, end - begin)] if len(self._keys) else NO_INDICES
        moved = self._moved_in(left, top, right, bottom)
        return distinct(np.concatenate([found[self._is_sorted[found]], moved, self._wide]))

    def _moved_in(self, left: int, top: int, right: int, bottom: int) -> Indices:
        if (right - left + 1) * (bottom - top + 1) > len(self._by_cell):
            return np.fromiter(self._moved, np.intp, len(self._moved))
        cells = map(self._by_cell.get, _keys_in(left, top, right, bottom))
        found: set[int] = set().union(*filter(None, cells))
        return np.fromiter(found, np.intp, len(found))


def _keys_in(left: int, top: int, right: int, bottom: int) -> Iterable[int]:
    """The keys of the cells from one to another."""
    cells = product(range(left, right + 1), range(top, bottom + 1))
    return ((column << 32) + row for column, row in cells)


def _cell(at: float) -> int:
    """The column or row in which a coordinate lies."""
    within = _FARTHEST if math.isnan(at) else min(max(at, -_FARTHEST), _FARTHEST)
    return math.floor(within / _CELL)


def _cells(sides: Floats) -> Indices:
    """The cells (n, 4) in which the sides of rectangles (n, 4) lie."""
    within = np.clip(np.nan_to_num(sides, nan=_FARTHEST), -_FARTHEST, _FARTHEST)
    return np.asarray(np.floor(within / _CELL).astype(np.int64))


_PIECE = 1024
"""Rectangles of a piece, whose bounds are known together."""


class Extent:
    """The bounds around numbered rectangles, found piece by piece: after some have moved only
    theirs are found anew.

    ``sides_of`` gives the left, top, right and bottom (k, 4) of those that count in a slice.
    """

    def __init__(self, sides_of: Callable[[slice], Floats]) -> None:
        self._sides_of = sides_of
        self._pieces: Floats = np.zeros((0, 4))
        self._stale: set[int] = set()

    def forget(self) -> None:
        """All may be others."""
        self._pieces, self._stale = self._pieces[:0], set()

    def move(self, numbers: Indices) -> None:
        """Those with these numbers (k,) are elsewhere, or don't count as before."""
        self._stale.update(distinct(numbers // _PIECE).tolist())

    def of(self, count: int) -> Floats:
        """Left, top, right and bottom (1, 4) of so many; none (0, 4) if none counts."""
        pieces = -(-count // _PIECE)
        if len(self._pieces) != pieces:
            self._pieces, self._stale = np.empty((pieces, 4)), set(range(pieces))
        for piece in self._stale:
            sides = self._sides_of(slice(piece * _PIECE, min((piece + 1) * _PIECE, count)))
            bounds = around_sides(sides)
            self._pieces[piece] = np.nan if bounds is None else bounds
        self._stale = set()
        found = around_sides(self._pieces[~np.isnan(self._pieces[:, 0])])
        return self._pieces[:0] if found is None else found[None]


class SpatialIndex:
    """What lies in an area of a scene, and the bounds around all of it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._near_blocks, self._near_wires = near_blocks(), near_wires()
        self._blocks = Extent(lambda some: sides_of(scene.rects[some]))
        self._squares = Extent(scene.squares_in)
        self._bounds: tuple[Page, Floats | None] | None = None

    def forget(self) -> None:
        """All may be elsewhere."""
        for known in (self._near_blocks, self._near_wires, self._blocks, self._squares):
            known.forget()
        self._bounds = None

    def renumber(self, edit: MembersEdit) -> None:
        """Follow blocks and wires to their numbers now; new ones are nowhere until they move."""
        self._near_blocks.renumber(edit.blocks)
        self._near_wires.renumber(edit.wires)
        self._blocks.forget()
        self._squares.forget()
        self._bounds = None

    def move_blocks(self, blocks: Indices) -> None:
        """These (k,) have moved, or have another size."""
        self._near_blocks.move(blocks, self._scene.rects[blocks])
        self._blocks.move(blocks)
        self._bounds = None

    def move_wires(self, wires: Indices) -> None:
        """These (k,) have moved."""
        self._near_wires.move(wires, self._scene.wire_bounds[wires])
        self._squares.move(wires)
        self._bounds = None

    def blocks_in(self, area: Floats) -> Indices:
        """The blocks that touch an area (its four sides), in order."""
        return self._near_blocks.of(self._scene.rects, area)

    def wires_in(self, area: Floats) -> Indices:
        """The wires whose bounds touch an area (its four sides), in order."""
        return self._near_wires.of(self._scene.wire_bounds, area)

    def bounds(self) -> Floats | None:
        """Left, top, right, bottom of the whole page; None if it is empty."""
        scene = self._scene
        if self._bounds is None or self._bounds[0] is not scene.page:
            parts = [
                self._blocks.of(len(scene.rects)),
                self._squares.of(len(scene.wire_keys)),
                sides_of(scene.note_rects()),
                np.tile(scene.bends, 2),
            ]
            self._bounds = scene.page, around_sides(np.concatenate(parts))
        return self._bounds[1]
