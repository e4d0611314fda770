"""Finds the rectangles of a page that touch an area; on a large page, by the cells of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.scene.arrays import NO_INDICES, distinct
from app.canvas.scene.members.incidence import runs
from app.canvas.scene.places import crossing, overlapping, sides_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.canvas.scene.arrays import Flags, Floats, Indices

_CELL = 512.0
"""Width and height of a cell, scene units."""
_FARTHEST = 1e9
_MOST_CELLS = 12
"""Cells that a rectangle may touch; those that touch more are looked at always."""
_MOST_COLUMNS = 32
"""Columns of an area, beyond which all rectangles are looked at."""
_LARGE = 30_000
"""Rectangles, up to which all are looked at, which takes no longer than to use a grid."""
_OFTEN = 24
"""How often areas are asked for before a grid is made."""
_LOOSE = 0.1
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
        self._cells: _Cells | None = None
        self._asked = 0

    def forget(self) -> None:
        """All rows may be others."""
        self._cells, self._asked = None, 0

    def move(self, numbers: Indices) -> None:
        """These rows (k,) are others now."""
        if self._cells is not None and not self._cells.loosen(numbers):
            self.forget()

    def of(self, rows: Floats, area: Floats) -> Indices:
        """Which of ``rows`` (n, 4) touch ``area`` (its four sides), in order."""
        self._asked += 1
        if self._cells is None and self._asked > _OFTEN and len(rows) > _LARGE:
            self._cells = _Cells(self._sides_of(rows))
        some = None if self._cells is None else self._cells.near(area)
        if some is None:
            return self._touching(rows, area)
        return np.asarray(some[self._touching(rows[some], area)])


def near_blocks() -> Nearby:
    """Finds blocks (n, 4: left, top, width, height)."""
    return Nearby(overlapping, sides_of)


def near_wires() -> Nearby:
    """Finds wires by their bounds (m, 4: left, top, right, bottom)."""
    return Nearby(crossing)


class _Cells:
    """Rectangles with these ``sides`` (n, 4), sorted into the columns and rows of a grid."""

    def __init__(self, sides: Floats) -> None:
        first, last = np.split(_cells(sides), 2, axis=1)
        columns, rows = (last - first + 1).T
        is_wide = columns * rows > _MOST_CELLS
        counts = np.where(is_wide, 0, columns * rows)
        numbers = np.repeat(np.arange(len(sides)), counts)
        places = runs(np.zeros_like(counts), counts)
        keys = (first[numbers, 0] + places // rows[numbers]) << 32
        keys += first[numbers, 1] + places % rows[numbers]
        order = np.argsort(keys, kind="stable")
        self._keys, self._numbers = keys[order], numbers[order]
        self._is_loose: Flags = is_wide
        """Rectangles (n,) that are looked at always: those that are wide, or have moved."""
        self._loose = np.flatnonzero(is_wide)
        self._most = len(self._loose) + _LOOSE * len(sides)

    def loosen(self, numbers: Indices) -> bool:
        """These rectangles (k,) have moved; False if too many have by now."""
        new = numbers[~self._is_loose[numbers]]
        self._is_loose[new] = True
        self._loose = np.concatenate([self._loose, new]) if len(new) else self._loose
        return len(self._loose) <= self._most

    def near(self, area: Floats) -> Indices | None:
        """Those that may touch an area, in order; None if all may."""
        left, top, right, bottom = _cells(area[None])[0].tolist()
        if right - left >= _MOST_COLUMNS:
            return None
        columns = np.arange(left, right + 1) << 32
        begin = np.searchsorted(self._keys, columns + top)
        end = np.searchsorted(self._keys, columns + bottom, side="right")
        found = self._numbers[runs(begin, end - begin)] if len(self._keys) else NO_INDICES
        return distinct(np.concatenate([found[~self._is_loose[found]], self._loose]))


def _cells(sides: Floats) -> Indices:
    """The cells (n, 4) in which the sides of rectangles (n, 4) lie."""
    within = np.clip(np.nan_to_num(sides, nan=_FARTHEST), -_FARTHEST, _FARTHEST)
    return np.asarray(np.floor(within / _CELL).astype(np.int64))
