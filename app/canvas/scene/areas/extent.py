"""The bounds around all rectangles of a large page, where only a few of them move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.places import around_sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.canvas.scene.arrays import Floats, Indices

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
